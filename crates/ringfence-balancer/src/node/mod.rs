//! Runtime state of an instance.

mod attachment;
mod failures;
mod in_flight;
mod outcome;
mod table;
#[cfg(test)]
mod tests;
mod totals;
mod withheld;

use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use ringfence_core::{Absence, Address, Instance, InstanceId, Scheme};

pub use self::{
    attachment::AttachmentKey,
    in_flight::InFlight,
    outcome::{FailureKind, Outcome},
};
use self::{attachment::Attachments, withheld::Withholdings};
pub(crate) use self::{
    failures::{FailureSender, failure_channel},
    table::NodeTable,
    totals::NodeTotals,
    withheld::Withheld,
};

/// What makes two records of a registry the same running server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct NodeIdentity {
    id: InstanceId,
    address: Address,
    scheme: Scheme,
}

impl NodeIdentity {
    pub(crate) fn of(instance: &Instance) -> Self {
        Self {
            id: instance.id().clone(),
            address: instance.address().clone(),
            scheme: instance.scheme(),
        }
    }

    pub(crate) fn id(&self) -> &InstanceId {
        &self.id
    }
}

/// An instance of the published snapshot together with its node; one for each, so that handing out
/// both costs one reference count, and not one that all requests share.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) instance: Arc<Instance>,
    pub(crate) node: Arc<Node>,
}

impl Seat {
    pub(crate) fn begin(self: &Arc<Self>) -> InFlight {
        InFlight::begin(Arc::clone(self))
    }
}

/// Counts the ejections and returns of a node. Odd: it is ejected now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Era(u32);

impl Era {
    fn is_ejected(self) -> bool {
        self.0 % 2 == 1
    }
}

/// The runtime state of an instance: requests in flight, failures in a row, and what other layers
/// keep with it.
///
/// It lives as long as the instance keeps its id, address and scheme (changes of tags, weight or
/// health do not touch it) and as long as an attempt on it is running.
#[derive(Debug)]
pub struct Node {
    identity: NodeIdentity,
    in_flight: AtomicU64,
    consecutive_failures: AtomicU32,
    era: AtomicU32,
    /// Successes since the last ejection; only counted while they matter.
    successes: AtomicU64,
    withheld: Withholdings,
    attachments: Attachments,
    failures: failures::FailureReporter,
    totals: Arc<NodeTotals>,
}

impl Node {
    fn new(identity: NodeIdentity, failures: FailureSender, totals: Arc<NodeTotals>) -> Self {
        totals.born();
        Self {
            identity,
            in_flight: AtomicU64::new(0),
            consecutive_failures: AtomicU32::new(0),
            era: AtomicU32::new(0),
            successes: AtomicU64::new(0),
            withheld: Withholdings::default(),
            attachments: Attachments::default(),
            failures: failures::FailureReporter::new(failures),
            totals,
        }
    }

    /// Id of the instance.
    #[must_use]
    pub fn id(&self) -> &InstanceId {
        &self.identity.id
    }

    /// Where the instance listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.identity.address
    }

    /// Plain text or TLS.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.identity.scheme
    }

    /// Attempts that are running now.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Whether outlier detection keeps the instance out now.
    #[must_use]
    pub fn is_ejected(&self) -> bool {
        self.era().is_ejected()
    }

    /// Why the instance gets no requests, if it gets none.
    pub(crate) fn absence(&self) -> Option<Absence> {
        if self.is_ejected() {
            return Some(Absence::Ejected);
        }
        self.withheld.first().map(Absence::from)
    }

    /// Withholds requests for this reason, or no longer. Returns whether that was a change. Only the balancer's task calls it.
    pub(crate) fn withhold(&self, why: Withheld, withhold: bool) -> bool {
        self.withheld.set(why, withhold)
    }

    /// Whether requests are withheld for this reason.
    pub(crate) fn is_withheld(&self, why: Withheld) -> bool {
        self.withheld.has(why)
    }

    /// What a layer keeps with this node, made by `init` at the first call for the key. It is
    /// let go with the node, so connections that are kept here close when the instance is gone
    /// and its last attempt is over; and with the last clone of the key.
    ///
    /// Concurrent first calls wait for one `init`, which must not ask for the same key. The value
    /// must not hold the key: the two would keep each other until the node goes.
    pub fn attachment<T, F>(&self, key: &AttachmentKey<T>, init: F) -> Arc<T>
    where
        T: Send + Sync + 'static,
        F: FnOnce() -> T,
    {
        self.attachments.get_or_init(key, init)
    }

    fn era(&self) -> Era {
        Era(self.era.load(Ordering::Acquire))
    }

    fn record(&self, outcome: Outcome, begun: Era) {
        if let Outcome::Failure(kind) = outcome {
            self.totals.failed(kind);
        }
        // A request that began before an ejection, or during one, says nothing about the time after it.
        if begun.is_ejected() || begun != self.era() {
            return;
        }
        match outcome {
            Outcome::Success => {
                // Reading first keeps the line shared among threads as long as all goes well.
                if self.consecutive_failures.load(Ordering::Relaxed) != 0 {
                    self.consecutive_failures.store(0, Ordering::Relaxed);
                }
                if begun != Era(0) {
                    self.successes.fetch_add(1, Ordering::Relaxed);
                }
            }
            Outcome::Failure(_) => {
                let failures = self.consecutive_failures.fetch_add(1, Ordering::Relaxed);
                self.failures
                    .failed(failures.saturating_add(1), &self.identity);
            }
            Outcome::Neutral => {}
        }
    }

    /// The task has dealt with the report that this node keeps failing.
    pub(crate) fn failure_handled(&self) {
        self.failures.handled();
    }

    /// Returns whether that was a change. Only the balancer's task calls it.
    pub(crate) fn set_ejected(&self, ejected: bool) -> bool {
        let era = self.era();
        if era.is_ejected() == ejected {
            return false;
        }
        self.era.store(era.0.wrapping_add(1), Ordering::Release);
        self.consecutive_failures.store(0, Ordering::Relaxed);
        self.successes.store(0, Ordering::Relaxed);
        true
    }

    /// Successes since the last call.
    pub(crate) fn take_successes(&self) -> u64 {
        self.successes.swap(0, Ordering::Relaxed)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.totals.died();
    }
}
