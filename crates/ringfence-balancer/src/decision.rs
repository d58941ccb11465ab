mod candidates;

use std::{iter::FusedIterator, sync::Arc};

use ringfence_core::{Instance, KeyHash, PlanId, PoolSpec};

pub(crate) use self::candidates::{Candidates, Gathered};
use crate::Candidate;

/// The most candidates that a decision can have.
pub const MAX_CANDIDATES: usize = 8;

/// The record of one choice: the candidates in the order in which they are to be tried, and why.
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
/// let decision = balancer.pick(&PickRequest::new().with_key("user-42"))?;
/// let ids: Vec<_> = decision.candidates().map(|c| c.instance().id().as_str()).collect();
/// assert_eq!(ids.len(), 2);
/// assert_eq!(decision.instance().id().as_str(), ids[0]);
/// assert!(decision.key_hash().is_some() && decision.stage() == 0 && !decision.is_panic());
///
/// let attempt = decision.first().begin();
/// assert_eq!(decision.first().in_flight(), 1);
/// # drop(attempt);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Decision {
    pub(crate) candidates: Candidates,
    pub(crate) choice: Choice,
    pub(crate) spilled: bool,
    pub(crate) overflow: bool,
    pub(crate) plan: PlanId,
    pub(crate) pool: Arc<PoolSpec>,
    pub(crate) panic: bool,
}

/// How instances were found for a request: what a [`Decision`] and an [`Owner`](crate::Owner) have in common, for
/// [`CallRecord::decided`](crate::CallRecord::decided).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub(crate) key_hash: Option<KeyHash>,
    pub(crate) epoch: u64,
    pub(crate) stage: usize,
}

impl Choice {
    /// Hash of the key, as [`Decision::key_hash`] says.
    #[must_use]
    pub fn key_hash(&self) -> Option<KeyHash> {
        self.key_hash
    }

    /// Epoch of the view that was read.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Place of the pool among the stages of the route, as [`Decision::stage`] says.
    #[must_use]
    pub fn stage(&self) -> usize {
        self.stage
    }
}

impl Decision {
    /// The distinct candidates, the owner of the key first, then clockwise; at least one, at most
    /// [`max_attempts`](crate::BalancerConfig::max_attempts).
    ///
    /// Where a later stage of the route could serve too, the last of several is of that stage, so that a pool whose instances all
    /// fail falls through before anybody knows that they do. A route that is strict has no such stage.
    #[must_use]
    pub fn candidates(&self) -> impl ExactSizeIterator<Item = &Candidate> + Clone {
        WithFirst {
            first: Some(self.first()),
            rest: self.candidates.regular().iter(),
        }
    }

    /// The candidates, and behind them, where they are fewer than [`max_attempts`](crate::BalancerConfig::max_attempts), instances
    /// of the pool that are ejected: whom to ask when all others fail, since they may be well again before anybody knows it.
    #[must_use]
    pub fn candidates_and_last_resorts(&self) -> impl ExactSizeIterator<Item = &Candidate> + Clone {
        WithFirst {
            first: Some(self.first()),
            rest: self.candidates.rest().iter(),
        }
    }

    /// How many there are behind the candidates.
    #[must_use]
    pub fn last_resorts(&self) -> usize {
        self.candidates.last_resorts()
    }

    /// The record of how the candidates were found, for [`CallRecord::decided`](crate::CallRecord::decided).
    #[must_use]
    pub fn choice(&self) -> Choice {
        self.choice
    }

    /// The first candidate.
    #[must_use]
    pub fn first(&self) -> &Candidate {
        self.candidates.first()
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
        self.choice.key_hash
    }

    /// Epoch of the view that was read.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.choice.epoch
    }

    /// Place of the pool among the stages of the route; above 0, earlier ones had too few
    /// usable instances, or the request [spilled over](Self::is_spilled).
    #[must_use]
    pub fn stage(&self) -> usize {
        self.choice.stage
    }

    /// Whether the request belongs to the share that a stage passes on although it could serve,
    /// see [`Spill`](ringfence_core::Spill).
    #[must_use]
    pub fn is_spilled(&self) -> bool {
        self.spilled
    }

    /// Whether the owner of the key had too much in flight, so that the first candidate is another one: more than its
    /// [share](crate::BalancerConfig::with_hash_balance_factor), where it comes next, or
    /// [all that it may have](crate::ConcurrencyLimits::with_max_in_flight_per_instance), where it is left out.
    #[must_use]
    pub fn is_overflow(&self) -> bool {
        self.overflow
    }

    /// The plan that found the pool.
    #[must_use]
    pub fn plan(&self) -> PlanId {
        self.plan
    }

    /// The pool that the candidates are from, but for a last one of a later stage, and for an [`Owner`](crate::Owner) that those
    /// [behind it](crate::Balancer::behind) were looked for in a later view: the condition that all its instances meet, and which shard of
    /// them it is, if it is one.
    #[must_use]
    pub fn pool(&self) -> &Arc<PoolSpec> {
        &self.pool
    }

    /// Whether so few instances of the pool are usable that health and ejection were ignored.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        self.panic
    }
}

impl IntoIterator for Decision {
    type Item = Candidate;
    type IntoIter = IntoCandidates;

    /// The candidates in their order.
    fn into_iter(self) -> IntoCandidates {
        let (first, rest) = self.candidates.into_regular();
        IntoCandidates(WithFirst {
            first: Some(first),
            rest: rest.into_iter(),
        })
    }
}

/// The candidates of a [`Decision`] in their order.
#[derive(Debug, Clone)]
pub struct IntoCandidates(
    WithFirst<Candidate, arrayvec::IntoIter<Candidate, { MAX_CANDIDATES - 1 }>>,
);

impl Iterator for IntoCandidates {
    type Item = Candidate;

    fn next(&mut self) -> Option<Candidate> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for IntoCandidates {}
impl FusedIterator for IntoCandidates {}

/// `Chain` would not know its exact length.
#[derive(Debug, Clone)]
struct WithFirst<T, I> {
    first: Option<T>,
    rest: I,
}

impl<T, I: ExactSizeIterator<Item = T>> Iterator for WithFirst<T, I> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.first.take().or_else(|| self.rest.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = usize::from(self.first.is_some()) + self.rest.len();
        (len, Some(len))
    }
}

impl<T, I: ExactSizeIterator<Item = T>> ExactSizeIterator for WithFirst<T, I> {}
