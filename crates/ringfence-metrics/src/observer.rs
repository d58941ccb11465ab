//! What is counted as it happens.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use prometheus::{
    Counter, CounterVec, Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter,
    IntCounterVec, Opts,
    core::{Collector, Desc},
    proto::MetricFamily,
};
use ringfence_balancer::{
    Balancer, BalancerEvent, CallEnd, CallObserver, CallOutcome, PoolLabel, WeakBalancer,
};

use crate::{
    families::{self as f, Family},
    samples::Samples,
};

/// From a tenth of a millisecond to ten seconds.
const CALL_BUCKETS: [f64; 16] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0,
];
/// From ten microseconds to ten seconds.
const UPDATE_BUCKETS: [f64; 13] = [
    0.000_01, 0.000_05, 0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 2.5, 10.0,
];

/// Metrics that events raise.
pub(crate) struct Events {
    requests: IntCounterVec,
    duration: HistogramVec,
    build: HistogramVec,
    delay: HistogramVec,
    moved: GaugeVec,
    moved_total: CounterVec,
    migration: Option<HistogramVec>,
    services: Mutex<BTreeMap<String, Service>>,
}

/// What there is of a service, so that it can go.
#[derive(Default)]
struct Service {
    balancers: Vec<Member>,
    /// Counters of those that are gone.
    before: Samples,
    /// Of each label, what balancers count its calls by: a label has a series as long as one of them lives.
    pools: BTreeMap<PoolLabel, Vec<Weak<PoolCalls>>>,
    forgotten: Arc<AtomicBool>,
}

/// A balancer of a service, with its counters as they were read last: what it counted after that is lost when it goes.
struct Member {
    balancer: WeakBalancer,
    read: Samples,
}

fn opts(family: &Family) -> Opts {
    Opts::new(family.name, family.help)
}

fn histogram(family: &Family, buckets: &[f64]) -> prometheus::Result<HistogramVec> {
    let opts = HistogramOpts::new(family.name, family.help).buckets(buckets.to_vec());
    HistogramVec::new(opts, family.labels)
}

impl Events {
    pub(crate) fn new() -> prometheus::Result<Self> {
        Ok(Self {
            requests: IntCounterVec::new(opts(&f::REQUESTS), f::REQUESTS.labels)?,
            duration: histogram(&f::DURATION, &CALL_BUCKETS)?,
            build: histogram(&f::BUILD, &UPDATE_BUCKETS)?,
            delay: histogram(&f::DELAY, &UPDATE_BUCKETS)?,
            moved: GaugeVec::new(opts(&f::MOVED), f::MOVED.labels)?,
            moved_total: CounterVec::new(opts(&f::MOVED_TOTAL), f::MOVED_TOTAL.labels)?,
            migration: None,
            services: Mutex::default(),
        })
    }

    pub(crate) fn with_aliases(mut self) -> prometheus::Result<Self> {
        self.migration = Some(histogram(&f::MIGRATION_DURATION, &UPDATE_BUCKETS)?);
        Ok(self)
    }

    fn services(&self) -> MutexGuard<'_, BTreeMap<String, Service>> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn started(&self, balancer: &WeakBalancer) {
        let mut services = self.services();
        // Whoever is never scraped shall not gather services that are gone.
        self.prune(&mut services);
        let service = services.entry(balancer.service().to_string()).or_default();
        service.balancers.push(Member {
            balancer: balancer.clone(),
            read: Samples::default(),
        });
    }

    /// Lets go of the balancers that are gone. The series of services without one go, and those of labels that none of them has:
    /// a balancer that ends tells nothing of its labels.
    fn prune(&self, services: &mut BTreeMap<String, Service>) {
        services.retain(|name, service| {
            let members = std::mem::take(&mut service.balancers);
            for member in members {
                if member.balancer.is_gone() {
                    service.before.merge(member.read);
                } else {
                    service.balancers.push(member);
                }
            }
            if service.balancers.is_empty() {
                self.forget(name, service);
            } else {
                self.prune_pools(name, service);
            }
            !service.balancers.is_empty()
        });
    }

    fn prune_pools(&self, name: &str, service: &mut Service) {
        service.pools.retain(|pool, calls| {
            calls.retain(|calls| calls.strong_count() > 0);
            if calls.is_empty() {
                self.forget_pool(name, pool);
            }
            !calls.is_empty()
        });
    }

    /// What `read` finds of all balancers.
    pub(crate) fn read_all(&self, read: impl Fn(&Balancer) -> Samples) -> Samples {
        let mut all = Samples::default();
        // Whichever of them is the last handle goes after the lock.
        let mut held = Vec::new();
        let mut services = self.services();
        self.prune(&mut services);
        for service in services.values_mut() {
            all.merge(service.before.clone());
            for member in &mut service.balancers {
                if let Some(balancer) = member.balancer.upgrade() {
                    let samples = read(&balancer);
                    member.read = samples.counters();
                    all.merge(samples);
                    held.push(balancer);
                } else {
                    all.merge(member.read.clone());
                }
            }
        }
        drop(services);
        drop(held);
        all
    }

    fn forget(&self, name: &str, service: &Service) {
        service.forgotten.store(true, Ordering::Relaxed);
        // What was never counted has no series, which is no fault.
        for pool in service.pools.keys() {
            self.forget_pool(name, pool);
        }
        let _ = self.build.remove_label_values(&[name]);
        let _ = self.delay.remove_label_values(&[name]);
        let _ = self.moved.remove_label_values(&[name]);
        let _ = self.moved_total.remove_label_values(&[name]);
        if let Some(migration) = &self.migration {
            let _ = migration.remove_label_values(&[name, "ok"]);
        }
    }

    fn forget_pool(&self, service: &str, pool: &PoolLabel) {
        let _ = self.duration.remove_label_values(&[service, pool.as_str()]);
        for outcome in CallOutcome::ALL {
            let _ = self
                .requests
                .remove_label_values(&[service, pool.as_str(), outcome.as_str()]);
        }
    }

    pub(crate) fn pool(&self, service: String, pool: &PoolLabel) -> Arc<dyn CallObserver> {
        let mut services = self.services();
        let known = services.entry(service.clone()).or_default();
        // Whoever is never scraped shall not gather the labels of one policy after the other.
        self.prune_pools(&service, known);
        let calls = Arc::new(PoolCalls {
            duration: self
                .duration
                .with_label_values(&[service.as_str(), pool.as_str()]),
            forgotten: Arc::clone(&known.forgotten),
            outcomes: Default::default(),
            requests: self.requests.clone(),
            service,
            pool: pool.clone(),
        });
        let same = known.pools.entry(pool.clone()).or_default();
        same.push(Arc::downgrade(&calls));
        calls
    }

    pub(crate) fn event(&self, service: &str, event: &BalancerEvent<'_>) {
        // The rest is counted by the balancer itself.
        let BalancerEvent::ViewPublished { build, change, .. } = event else {
            return;
        };
        let build_time = self.build.with_label_values(&[service]);
        build_time.observe(build.as_secs_f64());
        let Some(change) = change else {
            return;
        };
        if let Some(delay) = change.delay {
            let histogram = self.delay.with_label_values(&[service]);
            histogram.observe(delay.as_secs_f64());
        }
        let Some(moved) = change.moved_share else {
            return;
        };
        let gauge: Gauge = self.moved.with_label_values(&[service]);
        gauge.set(moved.as_f64());
        let total: Counter = self.moved_total.with_label_values(&[service]);
        total.inc_by(moved.as_f64());
        if let (Some(migration), Some(delay)) = (&self.migration, change.delay) {
            let histogram = migration.with_label_values(&[service, "ok"]);
            histogram.observe(delay.as_secs_f64());
        }
    }

    fn collectors(&self) -> impl Iterator<Item = &dyn Collector> {
        let all: [&dyn Collector; 6] = [
            &self.requests,
            &self.duration,
            &self.build,
            &self.delay,
            &self.moved,
            &self.moved_total,
        ];
        let migration = self
            .migration
            .as_ref()
            .map(|migration| migration as &dyn Collector);
        all.into_iter().chain(migration)
    }

    pub(crate) fn descriptions(&self) -> Vec<&Desc> {
        self.collectors().flat_map(Collector::desc).collect()
    }

    pub(crate) fn collect(&self) -> Vec<MetricFamily> {
        let families = self.collectors().flat_map(Collector::collect);
        families
            .filter(|family| !family.get_metric().is_empty())
            .collect()
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

/// The calls of one pool.
struct PoolCalls {
    service: String,
    pool: PoolLabel,
    requests: IntCounterVec,
    duration: Histogram,
    /// The series of the service are gone: what ends after its last balancer makes none.
    forgotten: Arc<AtomicBool>,
    /// Made when a call first ends so, because most outcomes never come.
    outcomes: [OnceLock<IntCounter>; CallOutcome::ALL.len()],
}

impl CallObserver for PoolCalls {
    fn ended(&self, call: &CallEnd<'_>) {
        if self.forgotten.load(Ordering::Relaxed) {
            return;
        }
        self.duration.observe(call.took.as_secs_f64());
        let Some(outcome) = self.outcomes.get(call.outcome.index()) else {
            return;
        };
        let counter = outcome.get_or_init(|| {
            let labels = [
                self.service.as_str(),
                self.pool.as_str(),
                call.outcome.as_str(),
            ];
            self.requests.with_label_values(&labels)
        });
        counter.inc();
    }
}
