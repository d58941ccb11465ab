//! How a node tells the balancer's task that it fails, or that it has proven itself.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ringfence_core::{EjectionCause, OutlierConfig};
use tokio::sync::mpsc;

use super::NodeIdentity;

/// Each node has at most one report under way, so this bounds only how many nodes can start to
/// fail at the same moment; a report that finds no room is made again at the next failure.
const CAPACITY: usize = 1_024;

/// What a node has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// It failed often enough.
    Failing {
        cause: EjectionCause,
        /// It failed by refused and broken connections alone.
        unreachable: bool,
    },
    /// It had as many successes on trial as that takes.
    Proven,
}

#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) identity: NodeIdentity,
    pub(crate) news: News,
}

/// Sends reports of nodes.
#[derive(Debug, Clone)]
pub(crate) struct ReportSender {
    sender: mpsc::Sender<Report>,
    /// What makes a report.
    config: Arc<OutlierConfig>,
}

pub(crate) fn report_channel(config: OutlierConfig) -> (ReportSender, mpsc::Receiver<Report>) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    let config = Arc::new(config);
    (ReportSender { sender, config }, receiver)
}

#[derive(Debug)]
pub(super) struct Reporter {
    sender: ReportSender,
    under_way: AtomicBool,
}

impl Reporter {
    pub(super) fn new(sender: ReportSender) -> Self {
        Self {
            sender,
            under_way: AtomicBool::new(false),
        }
    }

    pub(super) fn config(&self) -> &OutlierConfig {
        &self.sender.config
    }

    pub(super) fn report(&self, news: News, identity: &NodeIdentity) {
        if self.under_way.swap(true, Ordering::AcqRel) {
            return;
        }
        let identity = identity.clone();
        if self
            .sender
            .sender
            .try_send(Report { identity, news })
            .is_err()
        {
            self.handled();
        }
    }

    pub(super) fn handled(&self) {
        self.under_way.store(false, Ordering::Release);
    }
}
