use std::{fmt, sync::Arc};

use ringfence_core::Instance;

use super::{Era, Node, Outcome};
use crate::Candidate;

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
    /// With what it holds of an instance on trial.
    candidate: Candidate,
    era: Era,
    reported: bool,
}

impl InFlight {
    pub(crate) fn begin(candidate: Candidate) -> Self {
        candidate.node().attempts.begin();
        Self::begun(candidate)
    }

    /// `None` where the node has as many in flight as it may; a slot is given back then.
    pub(crate) fn try_begin(candidate: Candidate) -> Option<Self> {
        let node = candidate.node();
        match node.totals.most() {
            0 => node.attempts.begin(),
            most if node.attempts.try_begin(most) => {}
            _ => return None,
        }
        Some(Self::begun(candidate))
    }

    fn begun(mut candidate: Candidate) -> Self {
        let node = candidate.node();
        let era = node.era();
        if node.trial.is_on()
            && candidate.slot().is_empty()
            && let Some(slot) = candidate.node().trial.take_beyond()
        {
            candidate.slot().hold(slot);
        }
        Self {
            era,
            candidate,
            reported: false,
        }
    }

    /// Says how the attempt ended. Only the first report counts, and a result that comes after the
    /// instance was ejected (or after its return) changes nothing.
    pub fn report(&mut self, outcome: Outcome) {
        if !self.reported {
            self.reported = true;
            self.node().record(outcome, self.era);
        }
        if outcome == Outcome::Neutral {
            self.candidate.free_slot();
        }
    }

    /// The instance with its node, for [`Balancer::behind`](crate::Balancer::behind). Begin another attempt on a clone of it: on an instance
    /// on trial, this very one would hand its slot over.
    #[must_use]
    pub fn candidate(&self) -> &Candidate {
        &self.candidate
    }

    /// The instance as it was when it was picked.
    #[must_use]
    pub fn instance(&self) -> &Arc<Instance> {
        self.candidate.instance()
    }

    /// Its runtime state.
    #[must_use]
    pub fn node(&self) -> &Node {
        self.candidate.node()
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.node().attempts.end();
    }
}

impl fmt::Debug for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight")
            .field("instance", self.instance().id())
            .field("reported", &self.reported)
            .finish()
    }
}
