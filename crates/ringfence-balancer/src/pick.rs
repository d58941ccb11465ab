//! From a request to its candidates, on one published state.

use std::sync::Arc;

use ringfence_core::{KeyHash, Route};

use crate::{
    MissingKey, PickError, PickRequest,
    decision::{Candidate, Candidates, Decision},
    keyless,
    published::Published,
    seating,
    shared::Shared,
};

pub(crate) fn pick(
    shared: &Shared,
    published: &Published,
    request: &PickRequest<'_>,
) -> Result<Decision, PickError> {
    with_route(shared, published, request, |route| {
        choose(shared, published, request, route)
    })
}

/// Gives the prepared route, or else one that is worked out for this request alone.
fn with_route<T>(
    shared: &Shared,
    published: &Published,
    request: &PickRequest<'_>,
    then: impl FnOnce(&Route) -> T,
) -> T {
    let tags = request.tags().unwrap_or(&shared.untagged);
    if let Some(route) = published.view.route(tags) {
        if !tags.is_empty() {
            route.mark_used();
        }
        return then(route);
    }
    shared.counters.unprepared.increment();
    shared.wishes.wish(tags);
    then(&published.view.resolve(tags))
}

fn choose(
    shared: &Shared,
    published: &Published,
    request: &PickRequest<'_>,
    route: &Route,
) -> Result<Decision, PickError> {
    let Some((stage, pool)) = route.chosen() else {
        return Err(shared.no_instances(published, route));
    };
    let limit = request.candidates(shared.config.max_attempts());
    let key = usable_key(shared, request);
    let (candidates, key_hash) = match key {
        Some(key) => {
            let hash = published.view.config().ring().hash_key(key);
            let walk = pool.walk(hash).take(limit);
            let candidates = Candidates::collect(seating::seat(published, pool, walk));
            (candidates, Some(hash))
        }
        None => {
            let missing_key = shared.config.missing_key();
            if missing_key == MissingKey::Reject {
                return Err(PickError::KeyRequired {
                    service: shared.service.clone(),
                });
            }
            shared.counters.keyless.increment();
            (keyless::choose(shared, published, pool, limit), None)
        }
    };
    let Some(candidates) = candidates else {
        return Err(shared.no_instances(published, route));
    };
    if stage > 0 {
        shared.counters.fallbacks.increment();
    }
    if pool.is_panic() {
        shared.counters.panic_picks.increment();
    }
    let spread = key_hash.map_or_else(|| fastrand::u64(..), KeyHash::get);
    Ok(Decision {
        candidates,
        key_hash,
        epoch: published.view.epoch(),
        stage,
        pool: Arc::clone(pool.selector(spread)),
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
    let hash = published.view.config().ring().hash_key(key);
    with_route(shared, published, request, |route| {
        let Some((_, pool)) = route.chosen() else {
            return Err(shared.no_instances(published, route));
        };
        Ok(seating::seat(published, pool, pool.walk(hash).take(count)).collect())
    })
}
