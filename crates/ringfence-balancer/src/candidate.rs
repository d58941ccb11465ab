use std::{fmt, sync::Arc};

use ringfence_core::Instance;

use crate::node::{HeldSlot, InFlight, Node, Presence, Seat};

/// An instance to try, with its node.
///
/// The first candidate of a [`Decision`](crate::Decision) that is on trial after an ejection holds one of the few slots that the
/// instance has, until its attempt is over or the candidate is dropped. Clones hold nothing.
///
/// # Examples
/// See [`Decision`](crate::Decision).
pub struct Candidate {
    seat: Arc<Seat>,
    slot: HeldSlot,
}

impl Candidate {
    pub(crate) fn new(seat: Arc<Seat>) -> Self {
        Self {
            seat,
            slot: HeldSlot::default(),
        }
    }

    /// The instance, as it was in the view of the decision.
    #[must_use]
    pub fn instance(&self) -> &Arc<Instance> {
        &self.seat.instance
    }

    /// Its runtime state.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.seat.node
    }

    /// Attempts that are running on it now.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.node().in_flight()
    }

    /// Follows whether the instance is still in the list, without keeping its node.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ringfence_balancer::{Balancer, PickRequest};
    /// use ringfence_core::Instance;
    /// use ringfence_discovery::MemoryRegistry;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let registry = MemoryRegistry::new();
    /// registry.register("order", Instance::builder("a", "10.0.0.1:80").build()?);
    /// let balancer = Balancer::builder(registry.clone(), "order").build()?;
    /// balancer.ready().await?;
    /// let decision = balancer.pick(&PickRequest::new())?;
    /// let mut presence = decision.first().presence();
    /// assert!(presence.left_at().is_none());
    ///
    /// registry.deregister("order", "a");
    /// presence.away_for(Duration::from_millis(10)).await;
    /// assert!(presence.left_at().is_some());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn presence(&self) -> Presence {
        Presence::of(&self.seat)
    }

    /// Starts an attempt, whatever the limits: even on an instance on trial that has
    /// [as many](crate::OutlierConfig::with_trial_requests) as it may, and on one that is
    /// [full](crate::ConcurrencyLimits::with_max_in_flight_per_instance).
    pub fn begin(&self) -> InFlight {
        InFlight::begin(self.handed_on())
    }

    /// Starts an attempt, unless the instance has as many as it [may have](crate::ConcurrencyLimits::with_max_in_flight_per_instance),
    /// or is on trial and has [as many](crate::OutlierConfig::with_trial_requests) as it may then: others may have taken the last
    /// place since the pick. Then the next candidate is to be tried, and nothing is to be reported.
    #[must_use]
    pub fn try_begin(&self) -> Option<InFlight> {
        let mut candidate = self.handed_on();
        if candidate.slot.is_empty() && self.node().is_on_trial() {
            candidate.slot.hold(self.node().take_slot()?);
        }
        InFlight::try_begin(candidate)
    }

    /// As [`try_begin`](Self::try_begin), but a trial is no reason not to: for the first candidate of a decision, which lacks its
    /// slot only where nobody else could serve, and for the last one, which has nobody behind it.
    #[must_use]
    pub fn try_begin_on_trial(&self) -> Option<InFlight> {
        InFlight::try_begin(self.handed_on())
    }

    /// With the slot, which is this one's no more.
    fn handed_on(&self) -> Self {
        let mut candidate = self.clone();
        if let Some(slot) = self.slot.take() {
            candidate.slot.hold(slot);
        }
        candidate
    }

    pub(crate) fn slot(&mut self) -> &mut HeldSlot {
        &mut self.slot
    }

    /// Gives its slot back, if it holds one.
    pub(crate) fn free_slot(&self) {
        if let Some(slot) = self.slot.take() {
            self.node().give_back(slot);
        }
    }

    /// With a slot if it is on trial; `None` if all are taken.
    pub(crate) fn claim(mut self) -> Option<Self> {
        if self.node().is_on_trial() {
            let slot = self.node().take_slot()?;
            self.slot.hold(slot);
        }
        Some(self)
    }
}

impl Clone for Candidate {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.seat))
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        self.free_slot();
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate")
            .field("id", self.instance().id())
            .field("address", self.instance().address())
            .field("in_flight", &self.in_flight())
            .finish()
    }
}
