//! How the attempts of an interval ended.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(super) struct Tally {
    successes: AtomicU64,
    failures: AtomicU64,
}

impl Tally {
    pub(super) fn count(&self, success: bool) {
        let counter = if success {
            &self.successes
        } else {
            &self.failures
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Successes and failures since the last call.
    pub(super) fn take(&self) -> (u64, u64) {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        (take(&self.successes), take(&self.failures))
    }
}
