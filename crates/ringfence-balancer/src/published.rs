//! What requests read, swapped as one.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use arc_swap::{ArcSwapOption, Guard};
use ringfence_core::View;

use crate::{CompiledPolicy, lints::Lints, node::Seat};

/// A view, the nodes of its instances, and the policy whose plans it has.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) view: Arc<View>,
    pub(crate) policy: Option<Arc<CompiledPolicy>>,
    /// As long as the policy is the same one.
    pub(crate) lints: Arc<Lints>,
    /// By place in the view's snapshot.
    pub(crate) seats: Arc<[Arc<Seat>]>,
    /// Whether the registry knows the service.
    pub(crate) service_exists: bool,
    /// Whether the owner of a key can be found [alone](crate::pick::alone).
    pub(crate) is_plain: bool,
}

/// Holds the published state.
#[derive(Debug, Default)]
pub(crate) struct ViewCell {
    current: ArcSwapOption<Published>,
    /// What was current at the close, while calls that run may go to further instances.
    last: ArcSwapOption<Published>,
    closed: AtomicBool,
    published: AtomicU64,
    discarded: AtomicU64,
}

impl ViewCell {
    pub(crate) fn load(&self) -> Guard<Option<Arc<Published>>> {
        self.current.load()
    }

    pub(crate) fn load_full(&self) -> Option<Arc<Published>> {
        self.current.load_full()
    }

    /// Publishes a state, unless the current one is as new or newer: epochs only rise. What is
    /// too late is dropped and counted.
    pub(crate) fn publish(&self, state: Published) -> bool {
        let state = Arc::new(state);
        let mut current = self.current.load();
        loop {
            let newest = current.as_ref().map(|current| current.view.epoch());
            if newest >= Some(state.view.epoch()) {
                self.discarded.fetch_add(1, Ordering::Relaxed);
                return false;
            }
            let seen = self
                .current
                .compare_and_swap(&*current, Some(Arc::clone(&state)));
            let swapped = same(&seen, &current);
            current = seen;
            if swapped {
                break;
            }
        }
        self.published.fetch_add(1, Ordering::Relaxed);
        // A close that came in between must not be undone.
        if self.is_closed() {
            self.current.store(None);
        }
        true
    }

    /// What calls that run may go by: the current state, or after a close the last one until [`forget`](Self::forget).
    pub(crate) fn load_for_running(&self) -> Guard<Option<Arc<Published>>> {
        let current = self.current.load();
        if current.is_some() {
            return current;
        }
        self.last.load()
    }

    /// Refuses all picks from now on.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        if let Some(last) = self.current.swap(None) {
            self.last.store(Some(last));
        }
    }

    /// Lets go of the instances, after a close.
    pub(crate) fn forget(&self) {
        self.last.store(None);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    pub(crate) fn published(&self) -> u64 {
        self.published.load(Ordering::Relaxed)
    }

    pub(crate) fn discarded(&self) -> u64 {
        self.discarded.load(Ordering::Relaxed)
    }
}

fn same(a: &Option<Arc<Published>>, b: &Option<Arc<Published>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use ringfence_core::{RoutePlans, Snapshot, ViewConfig};

    use super::*;

    fn state(view: View) -> Published {
        Published {
            view: Arc::new(view),
            policy: None,
            lints: Arc::default(),
            seats: Arc::new([]),
            service_exists: true,
            is_plain: false,
        }
    }

    fn epoch(cell: &ViewCell) -> Option<u64> {
        cell.load().as_ref().map(|state| state.view.epoch())
    }

    #[test]
    fn a_state_that_is_not_newer_is_dropped_and_counted() {
        let snapshot = Arc::new(Snapshot::empty());
        let plans = RoutePlans::default;
        let first = View::first(
            ViewConfig::default(),
            plans(),
            Arc::clone(&snapshot),
            |_| None,
        );
        let second = first.next(plans(), Arc::clone(&snapshot), [], |_| None);
        let late = first.next(plans(), snapshot, [], |_| None);
        let cell = ViewCell::default();
        assert!(cell.publish(state(first)));
        assert!(cell.publish(state(second)));
        assert!(!cell.publish(state(late)));
        assert_eq!((cell.published(), cell.discarded()), (2, 1));
        assert_eq!(epoch(&cell), Some(2));
    }

    #[test]
    fn a_closed_cell_stays_empty() {
        let cell = ViewCell::default();
        cell.close();
        let snapshot = Arc::new(Snapshot::empty());
        let plans = RoutePlans::default();
        cell.publish(state(View::first(
            ViewConfig::default(),
            plans,
            snapshot,
            |_| None,
        )));
        assert_eq!(epoch(&cell), None);
    }
}
