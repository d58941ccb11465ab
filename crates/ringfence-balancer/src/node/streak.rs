//! Failures in a row.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ringfence_core::{EjectionCause, OutlierConfig};

use super::FailureKind;

#[derive(Debug, Default)]
pub(super) struct Streak {
    failures: AtomicU32,
    connects: AtomicU32,
    /// Some of the failures were of an instance that could be reached.
    reached: AtomicBool,
}

impl Streak {
    pub(super) fn end(&self) {
        // Reading first keeps the line shared among threads as long as all goes well.
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
            self.connects.store(0, Ordering::Relaxed);
            self.reached.store(false, Ordering::Relaxed);
        }
    }

    /// Gives the cause to eject the instance for, if there is one.
    pub(super) fn failed(
        &self,
        kind: FailureKind,
        config: &OutlierConfig,
    ) -> Option<EjectionCause> {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed);
        let connects = match kind {
            FailureKind::Connect => self
                .connects
                .fetch_add(1, Ordering::Relaxed)
                .saturating_add(1),
            FailureKind::Status => {
                self.connects.store(0, Ordering::Relaxed);
                0
            }
            FailureKind::Timeout | FailureKind::Reset => 0,
        };
        if !kind.is_unreachable() {
            self.reached.store(true, Ordering::Relaxed);
        }
        // At or above, not equal: threads that fail at once may jump over the threshold.
        let is_over = |count: u32, threshold: u32| threshold != 0 && count >= threshold;
        if is_over(connects, config.consecutive_connect_failures()) {
            return Some(EjectionCause::ConsecutiveConnectFailures);
        }
        is_over(failures.saturating_add(1), config.consecutive_failures())
            .then_some(EjectionCause::ConsecutiveFailures)
    }

    /// Whether all its failures were refused and broken connections.
    pub(super) fn is_unreachable(&self) -> bool {
        !self.reached.load(Ordering::Relaxed)
    }
}
