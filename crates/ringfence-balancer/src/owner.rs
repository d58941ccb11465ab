//! The owner of a key alone, for requests that need nobody else as long as it answers.

use std::{fmt, sync::Arc};

use ringfence_core::{Instance, KeyHash};

use crate::{Candidate, Choice, InFlight};

/// The instance that owns a request's key, without those behind it: less work to find than a whole [`Decision`](crate::Decision), and
/// all that a request needs that does not fail. [`Current::owner`](crate::Current::owner) finds it.
///
/// # Examples
/// ```
/// use ringfence_balancer::{Balancer, PickRequest};
/// use ringfence_core::Instance;
/// use ringfence_discovery::StaticDiscovery;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let instances = [
///     Instance::builder("a", "10.0.0.1:80").build()?,
///     Instance::builder("b", "10.0.0.2:80").build()?,
/// ];
/// let source = StaticDiscovery::new().with_service("order", instances);
/// let balancer = Balancer::builder(source, "order").build()?;
/// balancer.ready().await?;
///
/// let request = PickRequest::new().with_key("user-42");
/// let owner = balancer.read(|current| current.owner(&request))?;
/// let owner = owner.expect("nothing else is to be heeded");
/// assert_eq!(owner.instance().id(), balancer.pick(&request)?.instance().id());
///
/// let behind = owner.behind();
/// let attempt = owner.begin();
/// // It failed: who comes next?
/// let decision = balancer.behind(behind, attempt.candidate()).expect("there is a view");
/// assert_eq!(decision.candidates().len(), 2);
/// assert_eq!(decision.instance().id(), attempt.instance().id());
/// # Ok(())
/// # }
/// ```
pub struct Owner {
    pub(crate) candidate: Candidate,
    pub(crate) choice: Choice,
    pub(crate) behind: Behind,
}

impl Owner {
    /// The instance as the view has it.
    #[must_use]
    pub fn instance(&self) -> &Arc<Instance> {
        self.candidate.instance()
    }

    /// The instance with its node.
    #[must_use]
    pub fn candidate(&self) -> &Candidate {
        &self.candidate
    }

    /// The record of how it was found, for [`CallRecord::decided`](crate::CallRecord::decided).
    #[must_use]
    pub fn choice(&self) -> Choice {
        self.choice
    }

    /// What [`Balancer::behind`](crate::Balancer::behind) needs to find those behind it. Take it before [`begin`](Self::begin), which
    /// uses the owner up.
    #[must_use]
    pub fn behind(&self) -> Behind {
        self.behind
    }

    /// Starts the attempt at it, as [`Candidate::begin`] does: there are no limits to be kept to where an owner is found alone.
    #[inline]
    pub fn begin(self) -> InFlight {
        InFlight::begin(self.candidate)
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner")
            .field("candidate", &self.candidate)
            .field("choice", &self.choice)
            .finish_non_exhaustive()
    }
}

/// What is known of a key whose [`Owner`] was found, to find those behind it:
/// [`Balancer::behind`](crate::Balancer::behind).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind {
    pub(crate) hash: KeyHash,
    /// The most candidates, the owner among them.
    pub(crate) most: u8,
}

impl Behind {
    /// Whether anybody else might have been asked when the owner was found: not where only one instance was usable, or one candidate asked
    /// for.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.most > 1
    }
}
