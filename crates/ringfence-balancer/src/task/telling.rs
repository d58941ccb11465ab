//! What the task tells of its work, and what it counts for those who ask.

use std::time::{Duration, Instant};

use ringfence_core::{KeyShare, View};

use super::{Task, now};
use crate::telemetry::{Applied, BalancerEvent, Change};

/// Between two looks at what requests have left to be counted.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

/// After which time an attempt counts half in the load of an instance.
const HALF_LIFE: Duration = Duration::from_secs(30);

impl Task {
    /// Counts what requests have left.
    pub(super) fn count_load(&mut self, now: Instant) {
        let past = now.saturating_duration_since(self.counted_at);
        self.counted_at = now;
        let left = (-past.as_secs_f64() / HALF_LIFE.as_secs_f64()).exp2();
        if let Some(state) = &*self.shared.cell.load() {
            for seat in &*state.seats {
                seat.node.fold_load(left);
            }
        }
        if let Some(hot_keys) = &self.shared.hot_keys {
            hot_keys.fold(now);
        }
        self.shared.calls.fold(now);
    }

    /// Remembers what a view changed, and tells whoever wants to hear of it. `heard` is when the registry told of it.
    pub(super) fn tell_of_view(
        &self,
        before: Option<&View>,
        view: &View,
        moved_share: Option<KeyShare>,
        build: Duration,
        heard: Option<Instant>,
    ) {
        let change = before.and_then(|before| {
            let same_ring = before.whole_ring().fingerprint() == view.whole_ring().fingerprint();
            let diff = before.snapshot().diff(view.snapshot());
            let delay = heard.map(|heard| now().saturating_duration_since(heard));
            let applied = Applied {
                moved_share,
                build,
                delay,
            };
            (!same_ring || !diff.is_empty()).then(|| Change::new(view, &diff, applied))
        });
        let event = BalancerEvent::ViewPublished {
            epoch: view.epoch(),
            build,
            change: change.as_ref(),
        };
        self.shared.calls.event(&event);
        if let Some(change) = change {
            self.shared.history.push(change);
        }
    }
}
