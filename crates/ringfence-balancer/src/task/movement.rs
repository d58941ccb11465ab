//! What moved with a new view, and who had it before.

use std::{sync::Arc, time::Instant};

use ringfence_core::{KeyShare, Ring, RingDiff, View};
use tokio::task::spawn_blocking;

use super::{Task, now};

/// What takes more steps is not measured, since updates wait meanwhile. A point of a ring is a step, of up to 80 ns where the
/// ring keeps its points in part and makes them anew.
const MAX_STEPS: usize = 500_000;

/// What takes more is measured beside the runtime.
const INLINE_STEPS: usize = 20_000;

impl Task {
    /// Keeps the view of before for those who look for an old owner.
    pub(super) fn remember_movement(&self, before: &Arc<View>, after: &View) {
        let movement = self.shared.movement.load();
        if self.shared.config.movement_window().is_zero() {
            return;
        }
        let opened = movement.opened(before, after, now());
        self.shared.movement.store(Arc::new(opened));
    }

    pub(super) fn forget_movements(&self, now: Instant) {
        let movement = self.shared.movement.load();
        if movement.deadline().is_some_and(|at| at <= now) {
            self.shared.movement.store(Arc::new(movement.at(now)));
        }
    }

    /// How much of the ring of all instances moved, also for the status; `None` where nothing can have or nobody can tell.
    pub(super) async fn measure_movement(
        &mut self,
        before: Option<&Arc<View>>,
        after: &Arc<View>,
    ) -> Option<KeyShare> {
        let (old, new) = (before?.whole_ring(), after.whole_ring());
        if old.fingerprint() == new.fingerprint() {
            return None;
        }
        self.report.moved_share = share(Arc::clone(old), Arc::clone(new)).await;
        self.report.moved_share
    }
}

async fn share(old: Arc<Ring>, new: Arc<Ring>) -> Option<KeyShare> {
    let steps = RingDiff::steps_between(&old, &new);
    if steps > MAX_STEPS {
        return None;
    }
    if steps <= INLINE_STEPS {
        return RingDiff::share_between(&old, &new);
    }
    let measured = spawn_blocking(move || RingDiff::share_between(&old, &new));
    measured.await.ok().flatten()
}
