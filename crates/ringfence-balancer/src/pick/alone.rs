//! The owner of a key alone, and those behind it later.

use std::sync::Arc;

use ringfence_core::{PlanId, View};

use super::note_key;
use crate::{
    BalancerConfig, Behind, Candidate, Choice, Owner, PickRequest,
    decision::{Candidates, Decision},
    published::Published,
    request::Tags,
    seating::{self, candidate},
    shared::Shared,
    telemetry::HotKeySampler,
    trials::Admitted,
};

/// Whether requests without plan and tags go to the first usable instances on the ring from their key's hash on, with nothing else to
/// be heeded but who is on trial.
pub(crate) fn is_plain(config: &BalancerConfig, view: &View) -> bool {
    let pool = view.base(PlanId::ROUTING).and_then(|route| route.sole());
    let is_plain = pool.is_some_and(|pool| pool.ejected().is_empty() && pool.is_ordered_by_hash());
    is_plain && !config.load_limits().is_any()
}

/// The owner of a request's key; `None` where more than that is to be looked at, or nothing is found.
#[inline]
pub(crate) fn alone(
    shared: &Shared,
    published: &Published,
    request: &PickRequest<'_>,
) -> Option<Owner> {
    let config = &shared.config;
    let key = request
        .key()
        .filter(|key| key.len() <= config.max_key_len())?;
    if !published.is_plain
        || request.plan() != PlanId::ROUTING
        || !matches!(request.tags(), Tags::None)
        || shared.nodes.is_any_on_trial()
    {
        return None;
    }
    let (stage, pool) = published.view.base(PlanId::ROUTING)?.chosen()?;
    let key = pool.hash_key(key, request.salt());
    let candidate = candidate(published, pool, pool.first(key)?)?;
    let hash = key.hash();
    let number = shared.counters.picks.increment();
    if HotKeySampler::is_due(number) {
        note_key(shared, Some(hash), candidate.instance());
    }
    if stage > 0 {
        shared.counters.fallbacks.increment();
    }
    if pool.is_panic() {
        shared.counters.panic_picks.increment();
    }
    let most = if pool.eligible().len() > 1 {
        request.candidates(config.max_attempts())
    } else {
        1
    };
    Some(Owner {
        candidate,
        choice: Choice {
            key_hash: Some(hash),
            epoch: published.view.epoch(),
            stage,
        },
        behind: Behind {
            hash,
            most: u8::try_from(most).unwrap_or(u8::MAX),
        },
    })
}

/// The candidates behind an owner, as this state has them.
pub(crate) fn behind(
    shared: &Shared,
    published: &Published,
    behind: Behind,
    owner: Candidate,
) -> Option<Decision> {
    let Behind { hash, most } = behind;
    let most = usize::from(most);
    let (stage, pool) = published.view.base(PlanId::ROUTING)?.chosen()?;
    let mut candidates = Candidates::only(owner);
    // Those that may have one more attempt, before any that may not: as in a whole pick.
    if shared.nodes.is_any_on_trial() && !pool.is_panic() {
        let admitted = Admitted::WithRoom(published);
        let with_room = pool.walk_where(hash, |member| admitted.admits(pool, member));
        for candidate in seating::seat(published, pool, with_room) {
            if candidates.len() >= most {
                break;
            }
            candidates.add(candidate);
        }
    }
    // More, because the owner of before may not be among them, and those above are.
    pool.visit_first(hash, 2 * most, |member| {
        if candidates.len() < most
            && let Some(candidate) = candidate(published, pool, member)
        {
            candidates.add(candidate);
        }
    });
    if !pool.ejected().is_empty() && candidates.len() < most {
        let last_resorts = seating::last_resorts(published, pool, hash.get());
        candidates.add_last_resorts(most, last_resorts);
    }
    Some(Decision {
        candidates,
        choice: Choice {
            key_hash: Some(hash),
            epoch: published.view.epoch(),
            stage,
        },
        spilled: false,
        overflow: false,
        plan: PlanId::ROUTING,
        pool: Arc::clone(pool.spec(hash.get())),
        panic: pool.is_panic(),
    })
}
