use std::{fmt, sync::Arc};

use ringfence_core::Instance;

use crate::node::{HeldSlot, InFlight, Node, Seat};

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

    /// Starts an attempt, even on an instance on trial that has [as many](crate::OutlierConfig::with_trial_requests) as it may.
    /// The first candidate of a decision has its slot already; it lacks one only where nobody else could serve.
    pub fn begin(&self) -> InFlight {
        InFlight::begin(Arc::clone(&self.seat), self.slot.take())
    }

    /// Starts an attempt, unless the instance is on trial and has [as many](crate::OutlierConfig::with_trial_requests) as it may:
    /// then the next candidate should be tried. For attempts after the first, while others are left.
    pub fn try_begin(&self) -> Option<InFlight> {
        let node = self.node();
        let slot = match self.slot.take() {
            None if node.is_on_trial() => Some(node.take_slot()?),
            slot => slot,
        };
        Some(InFlight::begin(Arc::clone(&self.seat), slot))
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
        if let Some(slot) = self.slot.take() {
            self.node().give_back(slot);
        }
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
