//! From a request to its candidates, on one published state.

mod alone;
mod owners;

use std::{ops::Deref, sync::Arc};

use ringfence_core::{Instance, KeyHash, PoolView, Route, TagValues, Taker};

pub(crate) use self::{
    alone::{alone, behind, is_plain},
    owners::{old_owner, owner, owners},
};
use crate::{
    Choice, MissingKey, PickError, PickRequest,
    decision::{Candidates, Decision, Gathered},
    keyless,
    published::Published,
    request::Tags,
    seating::{self, candidate, load},
    shared::Shared,
    telemetry::HotKeySampler,
    trials::{self, Admitted},
};

pub(crate) fn pick(
    shared: &Shared,
    published: &Published,
    request: &PickRequest<'_>,
) -> Result<Decision, PickError> {
    let number = shared.counters.picks.increment();
    let route = route(shared, published, request);
    let decision = choose(shared, published, request, &route);
    if HotKeySampler::is_due(number)
        && let Ok(decision) = &decision
    {
        note_key(shared, decision.key_hash(), decision.instance());
    }
    decision
}

#[cold]
fn note_key(shared: &Shared, hash: Option<KeyHash>, instance: &Instance) {
    if let (Some(hot_keys), Some(hash)) = (&shared.hot_keys, hash) {
        hot_keys.note(hash, instance.id());
    }
}

/// The route of a request.
enum Found<'a> {
    Prepared(&'a Route),
    /// Worked out for this request alone. Boxed, so that the others do not carry its size around.
    Now(Box<Route>),
}

impl Deref for Found<'_> {
    type Target = Route;

    #[inline]
    fn deref(&self) -> &Route {
        match self {
            Self::Prepared(route) => route,
            Self::Now(route) => route,
        }
    }
}

#[inline]
fn route<'a>(shared: &Shared, published: &'a Published, request: &PickRequest<'_>) -> Found<'a> {
    match request.tags() {
        Tags::None => route_of(shared, published, request, &shared.untagged),
        Tags::Made(tags) => route_of(shared, published, request, tags),
        Tags::Elsewhere(tags) => route_of(shared, published, request, tags),
    }
}

#[inline]
fn route_of<'a, T: TagValues + ?Sized>(
    shared: &Shared,
    published: &'a Published,
    request: &PickRequest<'_>,
    tags: &T,
) -> Found<'a> {
    let Some(route) = published.view.route(request.plan(), tags) else {
        return unprepared(shared, published, request, tags);
    };
    if !tags.is_untagged() {
        route.mark_used();
    }
    Found::Prepared(route)
}

#[cold]
fn unprepared<'a, T: TagValues + ?Sized>(
    shared: &Shared,
    published: &Published,
    request: &PickRequest<'_>,
    tags: &T,
) -> Found<'a> {
    shared.counters.unprepared.increment();
    let view = &published.view;
    let key = view.key(request.plan(), tags);
    let route = view.resolve(&key);
    if view.plan(request.plan()).is_some() {
        shared.wishes.wish(key);
    }
    Found::Now(Box::new(route))
}

#[inline]
fn choose(
    shared: &Shared,
    published: &Published,
    request: &PickRequest<'_>,
    route: &Route,
) -> Result<Decision, PickError> {
    let key = usable_key(shared, request);
    let Some(chosen) = route.choose(key, || fastrand::u64(..)) else {
        return Err(shared.no_instances(published, route));
    };
    let pool = chosen.pool;
    let limit = request.candidates(shared.config.max_attempts());
    let limits = shared.config.load_limits();
    let mut overflow = None;
    let key_hash;
    let candidates = match key {
        Some(key) => {
            let salt = request.salt();
            let hash = pool.hash_key(key, salt);
            key_hash = Some(hash.hash());
            let seat = |(pool, member): (&PoolView, u32)| candidate(published, pool, member);
            trials::choose(shared, published, pool, |admitted| {
                let admits = move |pool: &PoolView, member| admitted.admits(pool, member);
                if !limits.is_any() {
                    return match admitted {
                        // Nearly always, and the shorter way.
                        Admitted::All if chosen.next.is_none() => {
                            let mut gathered = Gathered::default();
                            pool.visit_first(hash, limit, |member| {
                                if let Some(candidate) = candidate(published, pool, member) {
                                    gathered.push(candidate);
                                }
                            });
                            gathered.into_candidates()
                        }
                        Admitted::All => {
                            Candidates::collect(chosen.walk(key, salt, limit).filter_map(seat))
                        }
                        Admitted::WithRoom(_) => {
                            let walk = chosen.walk_where(None, key, salt, limit, admits);
                            Candidates::collect(walk.filter_map(seat))
                        }
                    };
                }
                let load = move |pool: &PoolView, member| load(published, pool, member);
                let taker = pool.taker(
                    hash,
                    limits,
                    |member| admits(pool, member),
                    |member| load(pool, member),
                );
                overflow = match taker? {
                    Taker::Other(member) => Some(member),
                    Taker::Nobody => return None,
                    _ => None,
                };
                let may_more = move |pool: &PoolView, member| {
                    admits(pool, member) && limits.is_below_most(load(pool, member))
                };
                let walk = chosen.walk_where(overflow, key, salt, limit, may_more);
                Candidates::collect(walk.filter_map(seat))
            })
        }
        None => {
            let missing_key = request.missing_key();
            let missing_key = missing_key.unwrap_or_else(|| shared.config.missing_key());
            if missing_key == MissingKey::Reject {
                return Err(PickError::KeyRequired {
                    service: shared.service.clone(),
                });
            }
            shared.counters.keyless.increment();
            key_hash = None;
            trials::choose(shared, published, pool, |admitted| {
                keyless::choose(shared, published, &chosen, missing_key, limit, admitted)
            })
        }
    };
    let Some(mut candidates) = candidates else {
        if limits.most() > 0 && !pool.eligible().is_empty() {
            return Err(shared.overloaded());
        }
        return Err(shared.no_instances(published, route));
    };
    if chosen.is_spilled {
        shared.counters.spilled.increment();
    } else if chosen.stage > 0 {
        shared.counters.fallbacks.increment();
    }
    if overflow.is_some() {
        shared.counters.overflowed.increment();
    }
    if pool.is_panic() {
        shared.counters.panic_picks.increment();
    }
    let spread = key_hash.map_or_else(|| fastrand::u64(..), KeyHash::get);
    if !pool.ejected().is_empty() && candidates.len() < limit {
        let last_resorts = seating::last_resorts(published, pool, spread);
        candidates.add_last_resorts(limit, last_resorts);
    }
    Ok(Decision {
        candidates,
        choice: Choice {
            key_hash,
            epoch: published.view.epoch(),
            stage: chosen.stage,
        },
        spilled: chosen.is_spilled,
        overflow: overflow.is_some(),
        plan: request.plan(),
        pool: Arc::clone(pool.spec(spread)),
        panic: pool.is_panic(),
    })
}

fn usable_key<'a>(shared: &Shared, request: &PickRequest<'a>) -> Option<&'a [u8]> {
    let key = request.key()?;
    if key.len() > shared.config.max_key_len() {
        shared.counters.long_keys.increment();
        return None;
    }
    Some(key)
}
