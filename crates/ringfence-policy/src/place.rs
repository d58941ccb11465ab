use std::sync::Arc;

use ringfence_core::{PlanId, Route, TagValues, View};

/// The prepared route, or one worked out now: both give every key the same instances.
pub(crate) fn route_of<T: TagValues + ?Sized>(view: &View, plan: PlanId, tags: &T) -> Arc<Route> {
    match view.route(plan, tags) {
        Some(route) => Arc::clone(route),
        None => Arc::new(view.resolve(&view.key(plan, tags))),
    }
}
