use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;

use super::FailureKind;

/// Sums over all nodes of a balancer, those that are gone included.
#[derive(Debug, Default)]
pub(crate) struct NodeTotals {
    /// The most requests in flight on one node; 0: any number.
    most: u64,
    alive: AtomicUsize,
    /// Told when none is left.
    none_left: Notify,
    on_trial: AtomicUsize,
    connect: AtomicU64,
    timeout: AtomicU64,
    reset: AtomicU64,
    status: AtomicU64,
}

impl NodeTotals {
    pub(crate) fn with_most(most: u64) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    pub(super) fn most(&self) -> u64 {
        self.most
    }

    fn counter(&self, kind: FailureKind) -> &AtomicU64 {
        match kind {
            FailureKind::Connect => &self.connect,
            FailureKind::Timeout => &self.timeout,
            FailureKind::Reset => &self.reset,
            FailureKind::Status => &self.status,
        }
    }

    pub(super) fn born(&self) {
        self.alive.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn died(&self) {
        if self.alive.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.none_left.notify_waiters();
        }
    }

    pub(super) fn failed(&self, kind: FailureKind) {
        self.counter(kind).fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn trial(&self, was_on: bool, is_on: bool) {
        if is_on && !was_on {
            self.on_trial.fetch_add(1, Ordering::Relaxed);
        } else if was_on && !is_on {
            self.on_trial.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether any node is on trial.
    #[inline]
    pub(crate) fn is_any_on_trial(&self) -> bool {
        self.on_trial.load(Ordering::Relaxed) != 0
    }

    /// Nodes in memory.
    pub(crate) fn alive(&self) -> usize {
        self.alive.load(Ordering::Acquire)
    }

    /// Waits until there is none.
    pub(crate) async fn none_left(&self) {
        loop {
            let told = self.none_left.notified();
            if self.alive() == 0 {
                return;
            }
            told.await;
        }
    }

    /// Attempts that ended so.
    pub(crate) fn failures(&self, kind: FailureKind) -> u64 {
        self.counter(kind).load(Ordering::Relaxed)
    }
}
