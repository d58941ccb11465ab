//! From a request to its candidates, on one published state.

use std::{num::NonZeroU8, ops::Deref, sync::Arc, time::Instant};

use ringfence_core::{
    Chosen, Instance, KeyHash, MovementWindow, PlanId, PoolView, RequestTags, Route, TagValues,
    Taker,
};

use crate::{
    Candidate, MissingKey, PickError, PickRequest,
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
        note_key(shared, decision);
    }
    decision
}

/// The same, where the decision is to stay: moving it is a good part of what it costs.
pub(crate) fn pick_into(
    shared: &Shared,
    published: &Published,
    request: &PickRequest<'_>,
    into: &mut Option<Decision>,
) -> Result<(), PickError> {
    let number = shared.counters.picks.increment();
    let route = route(shared, published, request);
    let decision = into.insert(choose(shared, published, request, &route)?);
    if HotKeySampler::is_due(number) {
        note_key(shared, decision);
    }
    Ok(())
}

#[cold]
fn note_key(shared: &Shared, decision: &Decision) {
    if let (Some(hot_keys), Some(hash)) = (&shared.hot_keys, decision.key_hash) {
        hot_keys.note(hash, decision.instance().id());
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
    if let Some(key) = key
        && request.is_first_enough()
        && is_plain(shared, request, &chosen)
    {
        return first_only(shared, published, request, (route, &chosen), key, limit);
    }
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
        candidates.add_last_resorts(last_resorts.take(limit - candidates.len()));
    }
    Ok(Decision {
        candidates,
        key_hash,
        epoch: published.view.epoch(),
        stage: chosen.stage,
        spilled: chosen.is_spilled,
        overflow: overflow.is_some(),
        plan: request.plan(),
        pool: Arc::clone(pool.spec(spread)),
        panic: pool.is_panic(),
        most: None,
    })
}

/// Whether the candidates are the first ones on the ring from the key's hash on, with nothing else to be heeded.
#[inline]
fn is_plain(shared: &Shared, request: &PickRequest<'_>, chosen: &Chosen<'_>) -> bool {
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
fn first_only(
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
        most: u8::try_from(most)
            .ok()
            .filter(|most| *most > 1)
            .and_then(NonZeroU8::new),
    })
}

/// Finds the candidates behind the first one of a decision that has none yet: as this state has them.
pub(crate) fn complete(shared: &Shared, published: &Published, decision: &mut Decision) {
    let (Some(most), Some(hash)) = (decision.most.take(), decision.key_hash) else {
        return;
    };
    let most = usize::from(most.get());
    let route = published.view.route(decision.plan, &shared.untagged);
    let Some((_, pool)) = route.and_then(|route| route.chosen()) else {
        return;
    };
    let candidates = &mut decision.candidates;
    // One more, because the first of before may not be among them.
    pool.visit_first(hash, most + 1, |member| {
        if candidates.len() < most
            && let Some(candidate) = candidate(published, pool, member)
        {
            candidates.add(candidate);
        }
    });
    if !pool.ejected().is_empty() && candidates.len() < most {
        let last_resorts = seating::last_resorts(published, pool, hash.get());
        candidates.add_last_resorts(last_resorts.take(most - candidates.len()));
    }
}

fn usable_key<'a>(shared: &Shared, request: &PickRequest<'a>) -> Option<&'a [u8]> {
    let key = request.key()?;
    if key.len() > shared.config.max_key_len() {
        shared.counters.long_keys.increment();
        return None;
    }
    Some(key)
}

/// All of the first `count` instances clockwise, however many.
pub(crate) fn owners(
    shared: &Shared,
    published: &Published,
    request: &PickRequest<'_>,
    count: usize,
) -> Result<Vec<Candidate>, PickError> {
    let Some(key) = usable_key(shared, request) else {
        return Err(PickError::KeyRequired {
            service: shared.service.clone(),
        });
    };
    let route = route(shared, published, request);
    let Some(chosen) = route.choose(Some(key), || 0) else {
        return Err(shared.no_instances(published, &route));
    };
    let pool = chosen.pool;
    let owners = |who| {
        let walk = pool.walk(pool.hash_key(key, request.salt()));
        let admitted = walk.filter(move |&member| Admitted::admits(who, pool, member));
        seating::seat(published, pool, admitted)
    };
    if shared.nodes.is_any_on_trial() && !pool.is_panic() {
        // They may be kept for long, so they hold no slots.
        let with_room: Vec<_> = owners(Admitted::WithRoom(published)).take(count).collect();
        if !with_room.is_empty() {
            return Ok(with_room);
        }
    }
    Ok(owners(Admitted::All).take(count).collect())
}

/// The first instance of a key, without a trace of having been asked.
pub(crate) fn owner(
    published: &Published,
    plan: PlanId,
    tags: &impl TagValues,
    key: &[u8],
    salt: u64,
) -> Option<Arc<Instance>> {
    let view = &published.view;
    let now;
    let route = match view.route(plan, tags) {
        Some(route) => route.as_ref(),
        None => {
            now = view.resolve(&view.key(plan, tags));
            &now
        }
    };
    let pool = route.choose(Some(key), || 0)?.pool;
    let member = pool.walk(pool.hash_key(key, salt)).next()?;
    pool.pool().instance(member).cloned()
}

/// The owner of before, where that was another.
pub(crate) fn old_owner(
    movement: &MovementWindow,
    published: &Published,
    request: &PickRequest<'_>,
    key: &[u8],
    untagged: &RequestTags,
    now: Instant,
) -> Option<Arc<Instance>> {
    let (view, plan, salt) = (&published.view, request.plan(), request.salt());
    match request.tags() {
        Tags::None => movement.old_owner(view, plan, untagged, key, salt, now),
        Tags::Made(tags) => movement.old_owner(view, plan, tags, key, salt, now),
        Tags::Elsewhere(tags) => movement.old_owner(view, plan, tags, key, salt, now),
    }
}
