use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::FailureKind;

/// Sums over all nodes of a balancer, those that are gone included.
#[derive(Debug, Default)]
pub(crate) struct NodeTotals {
    /// The most requests in flight on one node; 0: any number.
    most: u64,
    alive: AtomicUsize,
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
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn failed(&self, kind: FailureKind) {
        self.counter(kind).fetch_add(1, Ordering::Relaxed);
    }

    /// Nodes in memory.
    pub(crate) fn alive(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }

    /// Attempts that ended so.
    pub(crate) fn failures(&self, kind: FailureKind) -> u64 {
        self.counter(kind).load(Ordering::Relaxed)
    }
}
