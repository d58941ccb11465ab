//! What is counted as it happens, by service.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use prometheus::{
    Counter, CounterVec, Gauge, GaugeVec, HistogramOpts, HistogramVec, Opts,
    core::{Collector, Desc},
    proto::{LabelPair, Metric, MetricFamily, MetricType},
};
use ringfence_balancer::{Balancer, BalancerEvent, CallObserver, PoolLabel, WeakBalancer};

use crate::{
    calls::PoolCalls,
    families::{self as f, Family},
    samples::Samples,
};

/// From ten microseconds to ten seconds.
const UPDATE_BUCKETS: [f64; 13] = [
    0.000_01, 0.000_05, 0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 2.5, 10.0,
];

/// Metrics that events raise.
pub(crate) struct Events {
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
    /// What the calls of each label are counted by: a label has series as long as a balancer has it. What ends after the last one is
    /// counted where nobody looks.
    pools: BTreeMap<PoolLabel, Arc<PoolCalls>>,
}

impl Service {
    /// Lets go of the labels that no balancer has.
    fn prune_pools(&mut self) {
        self.pools.retain(|_, calls| Arc::strong_count(calls) > 1);
    }
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

/// In the order of their names, as whoever compares series wants them.
fn labels(family: &Family, values: &[&str]) -> Vec<LabelPair> {
    let pairs = family.labels.iter().zip(values).map(|(name, value)| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value((*value).to_owned());
        pair
    });
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_by(|one, other| one.name().cmp(other.name()));
    pairs
}

impl Events {
    pub(crate) fn new() -> prometheus::Result<Self> {
        Ok(Self {
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
                self.forget(name);
            } else {
                service.prune_pools();
            }
            !service.balancers.is_empty()
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

    fn forget(&self, name: &str) {
        // What was never counted has no series, which is no fault.
        let _ = self.build.remove_label_values(&[name]);
        let _ = self.delay.remove_label_values(&[name]);
        let _ = self.moved.remove_label_values(&[name]);
        let _ = self.moved_total.remove_label_values(&[name]);
        if let Some(migration) = &self.migration {
            let _ = migration.remove_label_values(&[name, "ok"]);
        }
    }

    pub(crate) fn pool(&self, service: String, pool: &PoolLabel) -> Arc<dyn CallObserver> {
        let mut services = self.services();
        let known = services.entry(service).or_default();
        // Whoever is never scraped shall not gather the labels of one policy after the other.
        known.prune_pools();
        Arc::clone(known.pools.entry(pool.clone()).or_default()) as Arc<dyn CallObserver>
    }

    /// Calls: how often they ended how goes to the samples, how long they took is returned.
    pub(crate) fn calls(&self, samples: &mut Samples) -> MetricFamily {
        let mut durations = Vec::new();
        for (name, service) in &*self.services() {
            for (pool, calls) in &service.pools {
                let counted = calls.counted();
                for (outcome, count) in counted.outcomes() {
                    let labels = [name.as_str(), pool.as_str(), outcome.as_str()];
                    samples.count(f::REQUESTS, &labels, count);
                }
                let mut metric = Metric::from_label(labels(&f::DURATION, &[name, pool.as_str()]));
                metric.set_histogram(counted.durations());
                durations.push(metric);
            }
        }
        let mut family = MetricFamily::default();
        family.set_name(f::DURATION.name.to_owned());
        family.set_help(f::DURATION.help.to_owned());
        family.set_field_type(MetricType::HISTOGRAM);
        family.set_metric(durations);
        family
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
        let all: [&dyn Collector; 4] = [&self.build, &self.delay, &self.moved, &self.moved_total];
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
