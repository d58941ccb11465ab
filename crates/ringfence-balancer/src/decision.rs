use std::fmt;
use std::sync::Arc;

use arrayvec::ArrayVec;
use ringfence_core::{Instance, KeyHash};

use crate::node::{InFlight, Node, Seat};

/// The most candidates that a decision can have.
pub const MAX_CANDIDATES: usize = 8;

/// An instance to try, with its node.
#[derive(Clone)]
pub struct Candidate(pub(crate) Arc<Seat>);

impl Candidate {
    /// The instance, as it was in the view of the decision.
    #[must_use]
    pub fn instance(&self) -> &Arc<Instance> {
        &self.0.instance
    }

    /// Its runtime state.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.0.node
    }

    /// Attempts that are running on it now.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.0.node.in_flight()
    }

    /// Starts an attempt.
    pub fn begin(&self) -> InFlight {
        self.0.begin()
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

/// The record of one choice: the candidates in the order in which they are to be tried, and why.
#[derive(Debug, Clone)]
pub struct Decision {
    pub(crate) candidates: ArrayVec<Candidate, MAX_CANDIDATES>,
    pub(crate) key_hash: Option<KeyHash>,
    pub(crate) epoch: u64,
    pub(crate) stage: usize,
    pub(crate) panic: bool,
}

impl Decision {
    /// The distinct candidates, the owner of the key first, then clockwise; never empty, at most
    /// [`max_attempts`](crate::BalancerConfig::max_attempts).
    #[must_use]
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The first candidate.
    #[must_use]
    pub fn first(&self) -> &Candidate {
        match self.candidates.first() {
            Some(first) => first,
            None => unreachable!("a decision is made with at least one candidate"),
        }
    }

    /// The instance of the first candidate.
    #[must_use]
    pub fn instance(&self) -> &Arc<Instance> {
        self.first().instance()
    }

    /// Hash of the key; `None` if the request had none (or one that is too long) and
    /// [`MissingKey`](crate::MissingKey) decided.
    #[must_use]
    pub fn key_hash(&self) -> Option<KeyHash> {
        self.key_hash
    }

    /// Epoch of the view that was read.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Place of the pool among the stages of the route; above 0, earlier ones had too few
    /// usable instances.
    #[must_use]
    pub fn stage(&self) -> usize {
        self.stage
    }

    /// Whether so few instances of the pool are usable that health and ejection were ignored.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        self.panic
    }
}

impl IntoIterator for Decision {
    type Item = Candidate;
    type IntoIter = arrayvec::IntoIter<Candidate, MAX_CANDIDATES>;

    /// The candidates in their order.
    fn into_iter(self) -> Self::IntoIter {
        self.candidates.into_iter()
    }
}
