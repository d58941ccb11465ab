use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ringfence_core::Instance;

use super::{Era, Node, Outcome, Seat};

/// One attempt under way; counts as in flight until it is dropped.
///
/// Keep it to the end of the response body. It gives the count back to the very node that it
/// was taken from, whatever happened to the instance meanwhile. Dropped without a
/// [`report`](Self::report) it is neutral for outlier detection, which is right for a caller that
/// went away.
#[must_use = "the attempt counts as over when this is dropped"]
pub struct InFlight {
    seat: Arc<Seat>,
    era: Era,
    reported: bool,
}

impl InFlight {
    pub(super) fn begin(seat: Arc<Seat>) -> Self {
        seat.node.in_flight.fetch_add(1, Ordering::Relaxed);
        Self {
            era: seat.node.era(),
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
