//! Who decides a request that the policy does not decide.

use std::fmt;
use std::sync::Arc;

use http::response::Parts;

type Tell = Arc<dyn Fn(&Parts) -> Option<String> + Send + Sync>;

/// Who decides the requests that the policy leaves alone: all of them while there is none, it is switched off or it says
/// `mode: off`, those it only observes, and those that are not in the share of `enforce_percent`.
///
/// ```
/// use ringfence_tower::{Baseline, RingfenceLayer};
/// # fn layer(balancer: ringfence_balancer::Balancer) -> RingfenceLayer {
///
/// // The client goes on as it did, and the policy is compared with it.
/// let tell = |head: &http::response::Parts| {
///     let served_by = head.headers.get("x-instance")?.to_str().ok()?;
///     Some(served_by.to_owned())
/// };
/// RingfenceLayer::new(balancer).with_baseline(Baseline::untouched().with_instance_of(tell))
/// # }
/// ```
#[derive(Clone)]
pub struct Baseline {
    pub(crate) kind: Kind,
    tell: Option<Tell>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Routing,
    P2c,
    LeastRequest,
    RoundRobin,
    Untouched,
}

impl Baseline {
    /// As without a policy, which is the default: by the layer's key sources and the routing in the balancer's settings.
    #[must_use]
    pub fn routing() -> Self {
        Self::of(Kind::Routing)
    }

    /// Whatever the key: of two usable instances drawn at random by weight from the pool for requests without tags, the one with
    /// fewer requests in flight for its weight.
    #[must_use]
    pub fn p2c() -> Self {
        Self::of(Kind::P2c)
    }

    /// Whatever the key: of the usable instances of the pool for requests without tags, the one with the fewest requests in
    /// flight for its weight, as [`MissingKey::LeastRequest`](ringfence_balancer::MissingKey::LeastRequest).
    #[must_use]
    pub fn least_request() -> Self {
        Self::of(Kind::LeastRequest)
    }

    /// Whatever the key: the usable instances of the pool for requests without tags take turns.
    #[must_use]
    pub fn round_robin() -> Self {
        Self::of(Kind::RoundRobin)
    }

    /// The request is handed to the inner client exactly as it came, and the response comes back as it is: as if the layer
    /// were not there. No instance is chosen, nothing is sent again, no deadline is watched, and no registry is waited for.
    ///
    /// This is for a client that is shared by all instances and balances by itself. A connector that needs to be told the
    /// instance, such as `TonicConnector`, uses [`p2c`](Self::p2c) instead.
    #[must_use]
    pub fn untouched() -> Self {
        Self::of(Kind::Untouched)
    }

    /// How the head of a response tells the instance that it is from, by id or address (`host:port`), where
    /// [`untouched`](Self::untouched) leaves the layer no way to know: a header that the instances set, or what the client
    /// notes of its connection. Without it the comparison counts these instances as unknown.
    #[must_use]
    pub fn with_instance_of<F>(mut self, tell: F) -> Self
    where
        F: Fn(&Parts) -> Option<String> + Send + Sync + 'static,
    {
        self.tell = Some(Arc::new(tell));
        self
    }

    fn of(kind: Kind) -> Self {
        Self { kind, tell: None }
    }

    pub(crate) fn instance_of(&self, head: &Parts) -> Option<String> {
        self.tell.as_ref().and_then(|tell| tell(head))
    }
}

impl Default for Baseline {
    fn default() -> Self {
        Self::routing()
    }
}

impl fmt::Debug for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Baseline")
            .field("kind", &self.kind)
            .field("tells_instances", &self.tell.is_some())
            .finish()
    }
}
