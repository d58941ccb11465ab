use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use ringfence_core::{RouteKey, RoutePlans, Snapshot, View, ViewConfig};

use crate::node::Seat;

/// A fault in one build must not end the task: membership would stay as it is for ever.
pub(super) fn guarded<T>(build: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(build)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        text.unwrap_or_else(|| "panic".to_owned())
    })
}

/// All that a view is made of.
pub(in crate::task) struct Plan {
    pub(super) before: Option<Arc<View>>,
    pub(super) config: ViewConfig,
    pub(super) plans: RoutePlans,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) routes: Vec<RouteKey>,
    pub(super) seats: Arc<[Arc<Seat>]>,
}

impl Plan {
    pub(in crate::task) fn build(self) -> View {
        let absence = |index: usize| self.seats.get(index)?.node.absence();
        match self.before {
            Some(before) => before.next_with_ring(
                self.config.ring(),
                self.plans,
                self.snapshot,
                self.routes,
                absence,
            ),
            None => View::first(self.config, self.plans, self.snapshot, absence),
        }
    }
}
