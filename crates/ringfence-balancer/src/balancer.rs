use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ringfence_core::View;
use ringfence_discovery::{Discovery, ServiceKey, Supervisor};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tracing::Instrument;

use crate::shared::Shared;
use crate::task::Task;
use crate::{
    BalancerConfig, BalancerCounters, BuildError, Candidate, Decision, PickError, PickRequest,
    Status, pick,
};

/// The longest that [`Balancer::shutdown`] waits for the task.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(5);

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
    owner: Arc<Owner>,
}

/// Ends the task when the last handle goes. The task has no way back to it.
struct Owner {
    shared: Arc<Shared>,
    task: AbortOnDrop,
    answered: watch::Receiver<bool>,
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Makes a [`Balancer`].
#[derive(Debug, Clone)]
#[must_use = "nothing happens before `build`"]
pub struct BalancerBuilder {
    discovery: Arc<dyn Discovery>,
    service: ServiceKey,
    config: BalancerConfig,
}

const _: () = {
    const fn assert<T: Send + Sync + Clone + 'static>() {}
    assert::<Balancer>();
    assert::<BalancerBuilder>();
    assert::<Decision>();
};

impl BalancerBuilder {
    /// Replaces the settings; the default is [`BalancerConfig::default`].
    pub fn with_config(mut self, config: BalancerConfig) -> Self {
        self.config = config;
        self
    }

    /// Starts the balancer's task on the current tokio runtime, which must have its time driver
    /// enabled. Returns at once; the first view comes later, see [`Balancer::ready`].
    ///
    /// # Errors
    /// [`BuildError::NoRuntime`] outside of a tokio runtime.
    pub fn build(self) -> Result<Balancer, BuildError> {
        let runtime = Handle::try_current().map_err(|_| BuildError::NoRuntime)?;
        let watch = self.config.watch().clone();
        let span = tracing::info_span!("balancer", service = %self.service).or_current();
        let supervisor = Supervisor::new(self.discovery, self.service.clone(), watch);
        let shared = Arc::new(Shared::new(self.service, self.config));
        let (sender, answered) = watch::channel(false);
        let task = Task::new(Arc::clone(&shared), supervisor, sender);
        let task = runtime.spawn(task.run().instrument(span)).abort_handle();
        Ok(Balancer {
            owner: Arc::new(Owner {
                shared,
                task: AbortOnDrop(task),
                answered,
            }),
        })
    }
}

impl Balancer {
    /// A balancer for `service`, which `discovery` knows (a source, or an `Arc` of one).
    pub fn builder(discovery: impl Discovery, service: impl Into<ServiceKey>) -> BalancerBuilder {
        BalancerBuilder {
            discovery: Arc::new(discovery),
            service: service.into(),
            config: BalancerConfig::default(),
        }
    }

    /// Waits for the registry's first answer, at most
    /// [`ready_timeout`](BalancerConfig::ready_timeout). Any number of callers may wait; afterwards
    /// it returns at once.
    ///
    /// # Errors
    /// [`PickError::NotReady`] after the time, with what the watch ran into;
    /// [`PickError::NoSuchService`] as soon as the registry says so; [`PickError::ShutDown`].
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing and disturbs nobody else who waits.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled, if there is something to wait for.
    pub async fn ready(&self) -> Result<(), PickError> {
        if let Some(result) = self.state() {
            return result;
        }
        let start = Instant::now();
        let mut answered = self.owner.answered.clone();
        let limit = self.config().ready_timeout();
        // Whether it answered, ended or took too long: what was published tells.
        let _ = timeout(limit, answered.wait_for(|answered| *answered)).await;
        self.state()
            .unwrap_or_else(|| Err(self.owner.shared.without_view(start.elapsed())))
    }

    fn state(&self) -> Option<Result<(), PickError>> {
        let shared = &self.owner.shared;
        if shared.cell.is_closed() {
            return Some(Err(shared.without_view(Duration::ZERO)));
        }
        let known = shared.cell.load().as_ref()?.known;
        let service = shared.service.clone();
        Some(if known {
            Ok(())
        } else {
            Err(PickError::NoSuchService { service })
        })
    }

    /// Whether a pick can find a view now; never waits.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        matches!(self.state(), Some(Ok(())))
    }

    /// Chooses the candidates of a request. Never waits, takes no lock, and allocates nothing once
    /// the pools of the request's tags are prepared (they are from the start for requests without
    /// tags, otherwise soon after the first request).
    ///
    /// # Errors
    /// [`PickError`] if there is no view yet, no instance for the request, or no key where one is required.
    pub fn pick(&self, request: &PickRequest<'_>) -> Result<Decision, PickError> {
        let shared = &*self.owner.shared;
        shared.counters.picks.increment();
        match &*shared.cell.load() {
            Some(published) => pick::pick(shared, published, request),
            None => Err(shared.without_view(Duration::ZERO)),
        }
    }

    /// The first `count` distinct usable instances clockwise from the request's key: for programs
    /// that keep several copies of what belongs to a key. There are fewer if the pool has fewer. The
    /// first ones are those of [`pick`](Self::pick).
    ///
    /// # Errors
    /// As [`pick`](Self::pick); [`PickError::KeyRequired`] if the request has no key.
    pub fn owners(
        &self,
        request: &PickRequest<'_>,
        count: usize,
    ) -> Result<Vec<Candidate>, PickError> {
        let shared = &*self.owner.shared;
        match &*shared.cell.load() {
            Some(published) => pick::owners(shared, published, request, count),
            None => Err(shared.without_view(Duration::ZERO)),
        }
    }

    /// Takes a hop from the [retry budget](crate::RetryBudget) of the service; to be asked before each attempt after the
    /// first, and before any wait that precedes it.
    #[must_use = "a hop that was granted counts as made"]
    pub fn try_hop(&self) -> bool {
        self.owner.shared.try_hop()
    }

    /// The service.
    #[must_use]
    pub fn service(&self) -> &ServiceKey {
        &self.owner.shared.service
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &BalancerConfig {
        &self.owner.shared.config
    }

    /// The view that picks read now; `None` before the first and after a shutdown.
    #[must_use]
    pub fn view(&self) -> Option<Arc<View>> {
        let state = self.owner.shared.cell.load();
        state.as_ref().map(|state| Arc::clone(&state.view))
    }

    /// State and counters.
    #[must_use]
    pub fn status(&self) -> Status {
        status(&self.owner.shared)
    }

    /// Refuses new picks, then ends the task and waits until it is gone, at most five seconds.
    /// Attempts that are running may finish. Calling it again does no harm.
    ///
    /// # Cancel safety
    /// Picks are refused and the task is told to end at the first poll; dropping the future only
    /// stops the waiting.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    pub async fn shutdown(&self) {
        self.owner.shared.cell.close();
        self.owner.task.0.abort();
        let mut answered = self.owner.answered.clone();
        let gone = async { while answered.changed().await.is_ok() {} };
        if timeout(SHUTDOWN_LIMIT, gone).await.is_err() {
            tracing::warn!(service = %self.service(), "the balancer's task did not end in time");
        }
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

fn status(shared: &Shared) -> Status {
    let state = shared.cell.load_full();
    let report = shared.report();
    let counters = &shared.counters;
    let seats = state.as_ref().map_or(&[][..], |state| &state.seats);
    let is_usable = |seat: &&Arc<crate::node::Seat>| {
        let instance = &seat.instance;
        instance.takes_traffic() && instance.is_healthy() && !seat.node.is_ejected()
    };
    let view = state.as_ref().map(|state| &state.view);
    let count_pools = |in_panic: bool| {
        view.map_or(0, |view| {
            view.pools()
                .filter(|pool| !in_panic || pool.is_panic())
                .count()
        })
    };
    Status {
        service: shared.service.clone(),
        epoch: view.map_or(0, |view| view.epoch()),
        fingerprint: view.map(|view| view.whole_ring().fingerprint()),
        service_exists: state.as_ref().is_some_and(|state| state.known),
        instances: seats.len(),
        usable: seats.iter().filter(is_usable).count(),
        ejected: seats.iter().filter(|seat| seat.node.is_ejected()).count(),
        pools: count_pools(false),
        pools_in_panic: count_pools(true),
        nodes: shared.nodes_alive.load(Ordering::Relaxed),
        stale_for: report.watch.stale_since.map(|since| since.elapsed()),
        counters: BalancerCounters {
            picks: counters.picks.total(),
            picks_without_key: counters.keyless.total(),
            keys_too_long: counters.long_keys.total(),
            picks_fallback: counters.fallbacks.total(),
            picks_in_panic: counters.panic_picks.total(),
            picks_no_instances: counters.no_instances.total(),
            picks_unprepared: counters.unprepared.total(),
            hops_granted: counters.hops_granted.load(Ordering::Relaxed),
            hops_denied: counters.hops_denied.load(Ordering::Relaxed),
            views_published: shared.cell.published(),
            views_discarded: shared.cell.discarded(),
            views_failed: report.failed_builds,
            snapshots_merged: report.merged,
            pools_prepared: report.pools_prepared,
            pools_evicted: report.pools_evicted,
            ejections: report.ejections,
            ejections_refused: report.ejections_refused,
        },
        watch: report.watch,
    }
}
