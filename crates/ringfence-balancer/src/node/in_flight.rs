use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
};

use ringfence_core::Instance;

use super::{Era, Node, Outcome, Seat, TrialSlot};

/// One attempt under way; counts as in flight until it is dropped.
///
/// Keep it to the end of the response body. It gives the count back to the very node that it
/// was taken from, whatever happened to the instance meanwhile. Dropped without a
/// [`report`](Self::report) it is neutral for outlier detection, which is right for a caller that
/// went away. On an instance on trial after an ejection it holds one of the few slots until it is dropped.
///
/// # Examples
/// ```
/// use ringfence_balancer::{Balancer, FailureKind, Outcome, PickRequest};
/// use ringfence_core::Instance;
/// use ringfence_discovery::StaticDiscovery;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let source = StaticDiscovery::new()
///     .with_service("order", [Instance::builder("a", "10.0.0.1:80").build()?]);
/// let balancer = Balancer::builder(source, "order").build()?;
/// balancer.ready().await?;
///
/// let mut attempt = balancer.pick(&PickRequest::new())?.first().begin();
/// assert_eq!(attempt.node().in_flight(), 1);
/// attempt.report(Outcome::Failure(FailureKind::Timeout));
/// drop(attempt);
/// assert_eq!(balancer.pick(&PickRequest::new())?.first().in_flight(), 0);
/// assert_eq!(balancer.status().counters.failures_timeout, 1);
/// # Ok(())
/// # }
/// ```
#[must_use = "the attempt counts as over when this is dropped"]
pub struct InFlight {
    seat: Arc<Seat>,
    era: Era,
    reported: bool,
    /// What it holds of an instance on trial.
    slot: Option<TrialSlot>,
}

impl InFlight {
    pub(crate) fn begin(seat: Arc<Seat>, slot: Option<TrialSlot>) -> Self {
        seat.node.in_flight.fetch_add(1, Ordering::Relaxed);
        Self::begun(seat, slot)
    }

    /// `None` where the node has as many in flight as it may; a slot is given back then.
    pub(crate) fn try_begin(seat: Arc<Seat>, slot: Option<TrialSlot>) -> Option<Self> {
        let most = match seat.node.totals.most() {
            0 => u64::MAX,
            most => most,
        };
        let one_more = |in_flight| (in_flight < most).then_some(in_flight + 1);
        let order = Ordering::Relaxed;
        if seat
            .node
            .in_flight
            .fetch_update(order, order, one_more)
            .is_ok()
        {
            return Some(Self::begun(seat, slot));
        }
        if let Some(slot) = slot {
            seat.node.give_back(slot);
        }
        None
    }

    fn begun(seat: Arc<Seat>, slot: Option<TrialSlot>) -> Self {
        let node = &seat.node;
        node.requests.fetch_add(1, Ordering::Relaxed);
        let slot = match slot {
            None if node.trial.is_on() => node.trial.take_beyond(),
            slot => slot,
        };
        Self {
            era: node.era(),
            slot,
            seat,
            reported: false,
        }
    }

    /// Says how the attempt ended. Only the first report counts, and a result that comes after the
    /// instance was ejected (or after its return) changes nothing.
    pub fn report(&mut self, outcome: Outcome) {
        if !self.reported {
            self.reported = true;
            self.seat.node.record(outcome, self.era);
        }
        if outcome == Outcome::Neutral {
            self.free_slot();
        }
    }

    fn free_slot(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.seat.node.give_back(slot);
        }
    }

    /// The instance as it was when it was picked.
    #[must_use]
    pub fn instance(&self) -> &Arc<Instance> {
        &self.seat.instance
    }

    /// Its runtime state.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.seat.node
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.seat.node.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.free_slot();
    }
}

impl fmt::Debug for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight")
            .field("instance", self.seat.instance.id())
            .field("reported", &self.reported)
            .finish()
    }
}
