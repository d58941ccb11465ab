//! How a node tells the balancer's task that it keeps failing.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;

use super::NodeIdentity;

/// Each node has at most one report under way, so this bounds only how many nodes can start to
/// fail at the same moment; a report that finds no room is made again at the next failure.
const CAPACITY: usize = 1_024;

/// Sends reports of nodes that keep failing.
#[derive(Debug, Clone)]
pub(crate) struct FailureSender {
    sender: mpsc::Sender<NodeIdentity>,
    /// Failures in a row that make a report; zero: none.
    threshold: u32,
}

pub(crate) fn failure_channel(threshold: u32) -> (FailureSender, mpsc::Receiver<NodeIdentity>) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    (FailureSender { sender, threshold }, receiver)
}

#[derive(Debug)]
pub(super) struct FailureReporter {
    sender: FailureSender,
    under_way: AtomicBool,
}

impl FailureReporter {
    pub(super) fn new(sender: FailureSender) -> Self {
        Self {
            sender,
            under_way: AtomicBool::new(false),
        }
    }

    /// At or above, not equal: threads that fail at once may jump over the threshold.
    pub(super) fn failed(&self, in_a_row: u32, identity: &NodeIdentity) {
        let FailureSender { sender, threshold } = &self.sender;
        if *threshold == 0 || in_a_row < *threshold || self.under_way.swap(true, Ordering::AcqRel) {
            return;
        }
        if sender.try_send(identity.clone()).is_err() {
            self.handled();
        }
    }

    pub(super) fn handled(&self) {
        self.under_way.store(false, Ordering::Release);
    }
}
