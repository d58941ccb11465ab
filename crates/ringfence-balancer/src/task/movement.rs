//! What moved with a new view, and who had it before.

use std::{sync::Arc, time::Instant};

use ringfence_core::{KeyShare, Ring, RingDiff, View};
use tokio::task::spawn_blocking;

use super::{Task, now};

/// Rings with more points together are not measured: it takes about 7 ns for each.
const MAX_POINTS: usize = 2 << 20;

/// Those with more points together are measured beside the runtime.
const INLINE_POINTS: usize = 100_000;

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
    let points = old.len().saturating_add(new.len());
    if points > MAX_POINTS {
        return None;
    }
    if points <= INLINE_POINTS {
        return RingDiff::share_between(&old, &new);
    }
    let measured = spawn_blocking(move || RingDiff::share_between(&old, &new));
    measured.await.ok().flatten()
}
