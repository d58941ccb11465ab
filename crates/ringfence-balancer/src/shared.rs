//! What the balancer's handles and its task have in common.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use ringfence_core::{KeyShare, MovementWindow, RequestTags, RetryBudget, Route};
use ringfence_discovery::{DiscoveryError, RejectedRecord, ServiceKey, WatchStatus};
use tokio::{sync::watch, time::Instant};
use tracing::{info, warn};

use crate::{
    BalancerConfig, CompiledPolicy, ConfigFinding, HealthCheckConfig, Overload, PickError,
    PolicySourceStatus,
    admission::Admission,
    audit::Audit,
    counter::StripedCounter,
    node::{NodeIndex, NodeTotals},
    observing::Observing,
    published::{Published, ViewCell},
    routes::RouteWishes,
    start::Start,
    striped::StripedArc,
    task::OutlierCounts,
    telemetry::{Calls, History, HotKeySampler, Observer, ShareCache},
};

/// Counters that requests raise.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) picks: StripedCounter,
    pub(crate) keyless: StripedCounter,
    pub(crate) long_keys: StripedCounter,
    pub(crate) fallbacks: StripedCounter,
    pub(crate) spilled: StripedCounter,
    pub(crate) overflowed: StripedCounter,
    pub(crate) panic_picks: StripedCounter,
    pub(crate) no_instances: StripedCounter,
    pub(crate) overloaded: StripedCounter,
    pub(crate) unprepared: StripedCounter,
    pub(crate) hops_granted: AtomicU64,
    pub(crate) hops_denied: AtomicU64,
    pub(crate) hops_free: AtomicU64,
}

/// What only the task changes and only [`status`](crate::Balancer::status) reads.
#[derive(Debug, Default, Clone)]
pub(crate) struct TaskReport {
    pub(crate) watch: WatchStatus,
    pub(crate) merged: u64,
    pub(crate) starting_slowly: usize,
    pub(crate) warm_ups_failed: u64,
    pub(crate) outliers: OutlierCounts,
    pub(crate) instances_added: u64,
    pub(crate) instances_removed: u64,
    pub(crate) health_lost: u64,
    pub(crate) health_regained: u64,
    pub(crate) checked: usize,
    pub(crate) checks_passed: u64,
    pub(crate) checks_failed: u64,
    pub(crate) checks_timed_out: u64,
    pub(crate) checks_lost: u64,
    pub(crate) checks_regained: u64,
    pub(crate) damped: u64,
    pub(crate) flaps: u64,
    pub(crate) suppressed: usize,
    pub(crate) routes_prepared: u64,
    pub(crate) routes_evicted: u64,
    pub(crate) failed_builds: u64,
    pub(crate) moved_share: Option<KeyShare>,
    pub(crate) policies_applied: u64,
    pub(crate) policies_failed: u64,
    pub(crate) policy_source: Option<PolicySourceStatus>,
}

/// What was known of a balancer when it was built.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) findings: Vec<ConfigFinding>,
    pub(crate) health_check: Option<HealthCheckConfig>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) known: Known,
    pub(crate) service: ServiceKey,
    pub(crate) config: BalancerConfig,
    pub(crate) cell: ViewCell,
    pub(crate) start: Start,
    pub(crate) counters: Counters,
    pub(crate) wishes: RouteWishes,
    /// The policy that was set last, for the task.
    pub(crate) policies: watch::Sender<Option<Arc<CompiledPolicy>>>,
    pub(crate) audit: Audit,
    pub(crate) observing: Observing,
    /// The policy was switched off by hand.
    pub(crate) policy_off: AtomicBool,
    /// The tags of requests without tags.
    pub(crate) untagged: RequestTags,
    /// Whose turn it is in round robin.
    pub(crate) turn: AtomicUsize,
    pub(crate) nodes: Arc<NodeTotals>,
    pub(crate) index: NodeIndex,
    pub(crate) admission: Admission,
    /// The views of before; renewed ahead of the view that follows them.
    pub(crate) movement: ArcSwap<MovementWindow>,
    pub(crate) calls: StripedArc<Calls>,
    pub(crate) history: History,
    pub(crate) shares: ShareCache,
    pub(crate) hot_keys: Option<HotKeySampler>,
    budget: Mutex<RetryBudget>,
    /// Hops were denied since the last quiet time.
    denying: AtomicBool,
    denied_at_fold: AtomicU64,
    report: Mutex<TaskReport>,
    /// Those of the report, for requests, which take no lock.
    rejected: ArcSwap<Arc<[RejectedRecord]>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half-done under these locks, so a panic elsewhere does not matter.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(
        service: ServiceKey,
        config: BalancerConfig,
        policy: Option<Arc<CompiledPolicy>>,
        audit: Audit,
        observing: Observing,
        known: Known,
        observer: Option<Arc<dyn Observer>>,
    ) -> Self {
        let budget = RetryBudget::new(*config.retry_budget(), Instant::now().into_std());
        Self {
            known,
            cell: ViewCell::default(),
            start: Start::new(config.start_policy()),
            counters: Counters::default(),
            wishes: RouteWishes::new(config.max_pools()),
            policies: watch::Sender::new(policy),
            audit,
            observing,
            policy_off: AtomicBool::new(false),
            untagged: RequestTags::new(),
            turn: AtomicUsize::new(0),
            index: NodeIndex::default(),
            nodes: Arc::new(NodeTotals::with_most(
                config.concurrency().max_in_flight_per_instance(),
            )),
            admission: Admission::new(config.concurrency()),
            movement: ArcSwap::from_pointee(MovementWindow::new(config.movement_window())),
            calls: StripedArc::new(Calls::new(
                service.clone(),
                observer,
                Instant::now().into_std(),
            )),
            history: History::default(),
            shares: ShareCache::default(),
            hot_keys: config.hot_keys().copied().map(HotKeySampler::new),
            budget: Mutex::new(budget),
            denying: AtomicBool::new(false),
            denied_at_fold: AtomicU64::new(0),
            report: Mutex::default(),
            rejected: ArcSwap::default(),
            service,
            config,
        }
    }

    pub(crate) fn try_hop(&self) -> bool {
        let granted = {
            let mut budget = lock(&self.budget);
            // Read under the lock, so that totals come in their order.
            let picks = self.counters.picks.total();
            budget.try_hop(picks, Instant::now().into_std())
        };
        let counter = if granted {
            &self.counters.hops_granted
        } else {
            &self.counters.hops_denied
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if !granted && !self.denying.swap(true, Ordering::Relaxed) {
            warn!(service = %self.service, "the retry budget is spent, hops are denied");
        }
        granted
    }

    pub(crate) fn count_free_hop(&self) {
        self.counters.hops_free.fetch_add(1, Ordering::Relaxed);
    }

    /// For the task, in the budget's intervals.
    pub(crate) fn fold_budget(&self) {
        let denied = self.counters.hops_denied.load(Ordering::Relaxed);
        if self.denied_at_fold.swap(denied, Ordering::Relaxed) == denied
            && self.denying.swap(false, Ordering::Relaxed)
        {
            info!(service = %self.service, denied, "no hop is denied any more");
        }
        let mut budget = lock(&self.budget);
        let picks = self.counters.picks.total();
        budget.fold(picks, Instant::now().into_std());
    }

    pub(crate) fn report(&self) -> TaskReport {
        lock(&self.report).clone()
    }

    pub(crate) fn set_report(&self, report: TaskReport) {
        if !Arc::ptr_eq(&**self.rejected.load(), &report.watch.rejected) {
            let rejected = Arc::clone(&report.watch.rejected);
            self.rejected.store(Arc::new(rejected));
        }
        *lock(&self.report) = report;
    }

    fn last_error(&self) -> Option<Arc<DiscoveryError>> {
        let watch = &lock(&self.report).watch;
        watch
            .watch_error
            .clone()
            .or_else(|| watch.fetch_error.clone())
    }

    /// What callers are told when the task is gone.
    pub(crate) fn without_task(&self) -> PickError {
        let service = self.service.clone();
        if self.cell.is_closed() {
            return PickError::ShutDown { service };
        }
        PickError::TaskGone { service }
    }

    /// Why there is no published state.
    pub(crate) fn without_view(&self, waited: Duration) -> PickError {
        let service = self.service.clone();
        if self.cell.is_closed() {
            return PickError::ShutDown { service };
        }
        self.start.ask();
        PickError::NotReady {
            service,
            waited,
            last_error: self.last_error(),
        }
    }

    pub(crate) fn overloaded(&self) -> PickError {
        self.counters.overloaded.increment();
        PickError::Overloaded {
            service: self.service.clone(),
            overload: Overload::Instances,
        }
    }

    pub(crate) fn no_instances(&self, published: &Published, route: &Route) -> PickError {
        let service = self.service.clone();
        if !published.service_exists {
            return PickError::NoSuchService { service };
        }
        self.counters.no_instances.increment();
        PickError::NoInstances {
            service,
            tried: route.stages().to_vec(),
            registered: published.view.snapshot().len(),
            rejected: Arc::clone(&**self.rejected.load()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hops_of_many_threads_stay_within_the_budget() {
        let shared = Shared::new(
            "order".into(),
            BalancerConfig::default(),
            None,
            Audit::new(None, tokio::runtime::Handle::current()),
            Observing::new(1),
            Known::default(),
            None,
        );
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        shared.counters.picks.increment();
                        shared.try_hop();
                        shared.fold_budget();
                    }
                });
            }
        });
        let granted = shared.counters.hops_granted.load(Ordering::Relaxed);
        let denied = shared.counters.hops_denied.load(Ordering::Relaxed);
        assert_eq!(granted + denied, 16_000);
        // A fifth of the requests, and the floor of the seconds that this took.
        assert!((1..8_000).contains(&granted), "{granted}");
    }
}
