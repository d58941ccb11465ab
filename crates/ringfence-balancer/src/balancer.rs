mod dump;
mod movement;
mod policy;
mod shutdown;
mod telemetry;

use std::{fmt, sync::Arc, time::Duration};

use ringfence_core::View;
use ringfence_discovery::{Discovery, ServiceKey};
use tokio::time::{Instant, timeout};

use crate::{
    BalancerBuilder, BalancerConfig, Behind, Candidate, ConfigFinding, Current, Decision,
    HealthCheckConfig, Permit, PickError, PickRequest, StartPolicy, Status, handle::TaskGuard,
    pick,
};

pub use self::movement::Movement;

/// Chooses instances of one service.
///
/// It watches the service in a task of its own and publishes immutable views; a pick reads the
/// current one without a lock, an allocation or an await. Clones are handles to the same balancer;
/// when the last one is dropped, the task ends, and with it the watch and its sockets.
///
/// ```
/// use ringfence_balancer::{Balancer, PickRequest};
/// use ringfence_core::Instance;
/// use ringfence_discovery::{MemoryRegistry, ServiceKey};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = MemoryRegistry::new();
/// let cache = ServiceKey::new("cache");
/// for n in 1..=3 {
///     let instance = Instance::builder(format!("cache-{n}"), format!("10.0.0.{n}:6379"));
///     registry.register(&cache, instance.build()?);
/// }
///
/// let balancer = Balancer::builder(registry.clone(), cache.clone()).build()?;
/// balancer.ready().await?;
///
/// // The same key always goes to the same instance.
/// let request = PickRequest::new().with_key("user-42");
/// let decision = balancer.pick(&request)?;
/// assert_eq!(
///     decision.instance().id(),
///     balancer.pick(&request)?.instance().id()
/// );
///
/// // A sharded cache with two replicas writes to both owners.
/// let owners = balancer.owners(&request, 2)?;
/// assert_eq!(owners.len(), 2);
/// assert_eq!(owners[0].instance().id(), decision.instance().id());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Balancer {
    pub(crate) guard: Arc<TaskGuard>,
}

const _: () = {
    const fn assert<T: Send + Sync + Clone + 'static>() {}
    assert::<Balancer>();
    assert::<Decision>();
};

impl Balancer {
    /// A balancer for `service`, which `discovery` knows (a source, or an `Arc` of one).
    pub fn builder(discovery: impl Discovery, service: impl Into<ServiceKey>) -> BalancerBuilder {
        BalancerBuilder::new(Arc::new(discovery), service.into())
    }

    /// Waits for the registry's first answer, at most
    /// [`ready_timeout`](BalancerConfig::ready_timeout), and not at all with [`StartPolicy::Fail`]. Any number of callers may
    /// wait; afterwards it returns at once.
    ///
    /// # Errors
    /// [`PickError::NotReady`] after the time, with what the watch ran into;
    /// [`PickError::NoSuchService`] as soon as the registry says so; [`PickError::ShutDown`];
    /// [`PickError::TaskGone`] when nothing renews the view any more, even if picks still find it.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing and disturbs nobody else who waits.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled, if there is something to wait for.
    pub async fn ready(&self) -> Result<(), PickError> {
        let limit = match self.config().start_policy() {
            StartPolicy::Fail => Duration::ZERO,
            StartPolicy::Wait | StartPolicy::UseDiskSnapshot | StartPolicy::Lazy => {
                self.config().ready_timeout()
            }
        };
        self.ready_within(limit).await
    }

    pub(crate) async fn ready_within(&self, limit: Duration) -> Result<(), PickError> {
        if let Some(result) = self.state() {
            return result;
        }
        self.guard.shared.start.ask();
        let start = Instant::now();
        let mut answered = self.guard.answered.clone();
        let waited = timeout(limit, answered.wait_for(|answered| *answered)).await;
        self.state().unwrap_or_else(|| match waited {
            // Nobody is left who could answer.
            Ok(Err(_)) => Err(self.guard.shared.without_task()),
            _ => Err(self.without_view(start.elapsed())),
        })
    }

    /// Why there is no published state.
    fn without_view(&self, waited: Duration) -> PickError {
        if self.guard.is_task_gone() {
            return self.guard.shared.without_task();
        }
        self.guard.shared.without_view(waited)
    }

    fn state(&self) -> Option<Result<(), PickError>> {
        let shared = &self.guard.shared;
        if shared.cell.is_closed() || self.guard.is_task_gone() {
            return Some(Err(shared.without_task()));
        }
        self.view_state()
    }

    fn view_state(&self) -> Option<Result<(), PickError>> {
        let shared = &self.guard.shared;
        let service_exists = shared.cell.load().as_ref()?.service_exists;
        let service = shared.service.clone();
        Some(if service_exists {
            Ok(())
        } else {
            Err(PickError::NoSuchService { service })
        })
    }

    /// Whether a pick can find a view now; never waits.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        matches!(self.view_state(), Some(Ok(())))
    }

    /// Chooses the candidates of a request. Never waits, takes no lock, and allocates nothing once
    /// the pools of the request's tags are prepared (they are from the start for requests without
    /// tags, otherwise soon after the first request).
    ///
    /// # Errors
    /// [`PickError`] if there is no view yet, no instance for the request, or no key where one is required.
    pub fn pick(&self, request: &PickRequest<'_>) -> Result<Decision, PickError> {
        let shared = &*self.guard.shared;
        match &*shared.cell.load() {
            Some(published) => pick::pick(shared, published, request),
            None => {
                shared.counters.picks.increment();
                Err(self.without_view(Duration::ZERO))
            }
        }
    }

    /// Reads the published state once: what is done with it in `read` sees one policy and the view that was made for it,
    /// whatever is swapped meanwhile.
    ///
    /// # Errors
    /// [`PickError`] where there is no state yet, or not any more.
    pub fn read<T>(&self, read: impl FnOnce(Current<'_>) -> T) -> Result<T, PickError> {
        match &*self.guard.shared.cell.load() {
            Some(published) => Ok(read(Current::new(&self.guard.shared, published))),
            None => Err(self.without_view(Duration::ZERO)),
        }
    }

    /// The candidates behind the [owner](crate::Owner) of a key, which is the first of them, up to the number that was asked for. They
    /// are those that the latest view has for the key: the ones that a pick would have found, if no view came in between. Where that view
    /// has instances that are ejected, they come last, as in a pick; of later stages there is none, and who is on trial has no slot yet: ask
    /// [`Candidate::try_begin`]. An owner that came back under another id is not there twice. Where a new policy hashes keys otherwise,
    /// they are instances that know nothing of the key, for its hash alone is known. During [`shutdown_within`](Self::shutdown_within) it
    /// goes by the last view; after a shutdown, and where nobody serves any more, it is `None`.
    ///
    /// # Examples
    /// See [`Owner`](crate::Owner).
    #[must_use]
    pub fn behind(&self, behind: Behind, owner: &Candidate) -> Option<Decision> {
        let shared = &*self.guard.shared;
        let state = shared.cell.load_for_running();
        pick::behind(shared, state.as_ref()?, behind, owner.clone())
    }

    /// The first `count` distinct usable instances clockwise from the request's key: for programs
    /// that keep several copies of what belongs to a key. There are fewer if the pool has fewer. The
    /// first ones are those of [`pick`](Self::pick). They hold no slot of an instance that is on trial: ask
    /// [`Candidate::try_begin`].
    ///
    /// # Errors
    /// As [`pick`](Self::pick); [`PickError::KeyRequired`] if the request has no key.
    pub fn owners(
        &self,
        request: &PickRequest<'_>,
        count: usize,
    ) -> Result<Vec<Candidate>, PickError> {
        let shared = &*self.guard.shared;
        match &*shared.cell.load() {
            Some(published) => pick::owners(shared, published, request, count),
            None => Err(self.without_view(Duration::ZERO)),
        }
    }

    /// Waits for one of the places that [`max_in_flight`](crate::ConcurrencyLimits::with_max_in_flight) gives to the calls of the
    /// service: to be asked before the pick, and the permit kept until the call is over with all its attempts. Without that
    /// limit it returns at once. Those who wait are let in in the order in which they came.
    ///
    /// # Errors
    /// [`PickError::Overloaded`] at once if [`max_queued`](crate::ConcurrencyLimits::with_max_queued) calls wait already, and after
    /// [`queue_timeout`](crate::ConcurrencyLimits::with_queue_timeout); [`PickError::ShutDown`], also for those who wait.
    ///
    /// # Cancel safety
    /// Dropping the future gives the place in the queue back; no place is lost.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled, if there is something to wait for.
    ///
    /// # Examples
    /// ```
    /// use ringfence_balancer::{Balancer, BalancerConfig, ConcurrencyLimits, PickError};
    /// use ringfence_discovery::MemoryRegistry;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limits = ConcurrencyLimits::default().with_max_in_flight(1)?;
    /// let balancer = Balancer::builder(MemoryRegistry::new(), "order")
    ///     .with_config(BalancerConfig::default().with_concurrency(limits))
    ///     .build()?;
    /// let permit = balancer.admit().await?;
    /// assert!(matches!(balancer.admit().await, Err(PickError::Overloaded { .. })));
    /// drop(permit);
    /// drop(balancer.admit().await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn admit(&self) -> Result<Permit, PickError> {
        self.guard.shared.admit().await
    }

    /// Takes a hop from the [retry budget](crate::RetryBudgetConfig) of the service; to be asked before each attempt after the
    /// first, and before any wait that precedes it.
    #[must_use = "a hop that was granted counts as made"]
    pub fn try_hop(&self) -> bool {
        self.guard.shared.try_hop()
    }

    /// Counts a hop of a request that no instance has seen yet, as after a refused connection. It needs no budget: it makes
    /// not one request more for the service.
    pub fn count_free_hop(&self) {
        self.guard.shared.count_free_hop();
    }

    /// The error of a call whose last candidate became full between the pick and the attempt, counted as one of a pick.
    #[must_use]
    pub fn overloaded(&self) -> PickError {
        self.guard.shared.overloaded()
    }

    /// The service.
    #[must_use]
    pub fn service(&self) -> &ServiceKey {
        &self.guard.shared.service
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &BalancerConfig {
        &self.guard.shared.config
    }

    /// Which of its settings do not go together; none of these is an error.
    #[must_use]
    pub fn findings(&self) -> &[ConfigFinding] {
        &self.guard.shared.known.findings
    }

    /// How instances are checked, if they are.
    #[must_use]
    pub fn health_check(&self) -> Option<&HealthCheckConfig> {
        self.guard.shared.known.health_check.as_ref()
    }

    /// The view that picks read now; `None` before the first and after a shutdown.
    #[must_use]
    pub fn view(&self) -> Option<Arc<View>> {
        let state = self.guard.shared.cell.load();
        state.as_ref().map(|state| Arc::clone(&state.view))
    }

    /// State and counters.
    #[must_use]
    pub fn status(&self) -> Status {
        Status::of(&self.guard.shared, self.guard.is_task_gone())
    }
}

impl fmt::Debug for Balancer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Balancer")
            .field("service", self.service())
            .field("view", &self.view())
            .finish_non_exhaustive()
    }
}
