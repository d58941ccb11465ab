//! The owner of a key alone, and those behind it later.

use std::{num::NonZeroU8, sync::Arc};

use ringfence_core::{Chosen, PlanId, Route};

use crate::{
    PickError, PickRequest,
    decision::{Candidates, Decision},
    published::Published,
    request::Tags,
    seating::{self, candidate},
    shared::Shared,
    trials::Admitted,
};

/// Whether the candidates are the first ones on the ring from the key's hash on, with nothing else to be heeded.
#[inline]
pub(super) fn is_plain(shared: &Shared, request: &PickRequest<'_>, chosen: &Chosen<'_>) -> bool {
    let pool = chosen.pool;
    chosen.next.is_none()
        && !chosen.is_spilled
        && request.plan() == PlanId::ROUTING
        && matches!(request.tags(), Tags::None)
        && !shared.config.load_limits().is_any()
        && !shared.nodes.is_any_on_trial()
        && pool.ejected().is_empty()
        && pool.is_ordered_by_hash()
}

/// The owner of a key, whom others may be behind.
#[inline]
pub(super) fn first_only(
    shared: &Shared,
    published: &Published,
    request: &PickRequest<'_>,
    (route, chosen): (&Route, &Chosen<'_>),
    key: &[u8],
    limit: usize,
) -> Result<Decision, PickError> {
    let pool = chosen.pool;
    let hash = pool.hash_key(key, request.salt());
    let first = pool.first(hash);
    let Some(first) = first.and_then(|member| candidate(published, pool, member)) else {
        return Err(shared.no_instances(published, route));
    };
    if chosen.stage > 0 {
        shared.counters.fallbacks.increment();
    }
    if pool.is_panic() {
        shared.counters.panic_picks.increment();
    }
    let most = if pool.eligible().len() > 1 { limit } else { 1 };
    Ok(Decision {
        candidates: Candidates::only(first),
        key_hash: Some(hash.hash()),
        epoch: published.view.epoch(),
        stage: chosen.stage,
        spilled: false,
        overflow: false,
        plan: request.plan(),
        pool: Arc::clone(pool.spec(hash.get())),
        panic: pool.is_panic(),
        max_candidates: u8::try_from(most)
            .ok()
            .filter(|most| *most > 1)
            .and_then(NonZeroU8::new),
    })
}

/// Finds the candidates behind the first one of a decision that has none yet: as this state has them.
pub(crate) fn complete(shared: &Shared, published: &Published, decision: &mut Decision) {
    let (Some(most), Some(hash)) = (decision.max_candidates.take(), decision.key_hash) else {
        return;
    };
    let most = usize::from(most.get());
    let route = published.view.route(decision.plan, &shared.untagged);
    let Some((_, pool)) = route.and_then(|route| route.chosen()) else {
        return;
    };
    let candidates = &mut decision.candidates;
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
    // More, because the first of before may not be among them, and those above are.
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
}
