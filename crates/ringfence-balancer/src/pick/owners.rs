//! The owners of a key, for those who do more than send a request.

use std::{sync::Arc, time::Instant};

use ringfence_core::{Instance, MovementWindow, PlanId, RequestTags, TagValues};

use super::{route, usable_key};
use crate::{
    Candidate, PickError, PickRequest, published::Published, request::Tags, seating,
    shared::Shared, trials::Admitted,
};

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
