//! `Balancer::pick`: a read of the view, the route, the ring, and candidates that hold their instances.

use std::{
    hint::black_box,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use ringfence_balancer::{Balancer, BalancerConfig, PickRequest};
use ringfence_core::Instance;
use ringfence_discovery::{MemoryRegistry, ServiceKey};
use ringfence_metrics::Metrics;
use tokio::runtime::{Builder, Runtime};

use crate::{
    data::{self, Keys},
    goals::Row,
    harness::{Work, interleaved, timed},
};

const PICKS: u32 = 50_000;
const UPDATE_EACH: Duration = Duration::from_micros(200);

/// A balancer over `count` instances, whose task runs on a thread of its own.
pub(crate) struct Fleet {
    pub(crate) registry: MemoryRegistry,
    pub(crate) service: ServiceKey,
    pub(crate) balancer: Balancer,
    _runtime: Runtime,
}

impl Fleet {
    pub(crate) fn new(count: u32) -> Self {
        Self::with_threads(count, 1, None)
    }

    /// With metrics.
    pub(crate) fn watched(count: u32, metrics: &Metrics) -> Self {
        Self::with_threads(count, 1, Some(metrics))
    }

    fn with_threads(count: u32, threads: usize, metrics: Option<&Metrics>) -> Self {
        let (registry, service) = (MemoryRegistry::new(), ServiceKey::new("bench"));
        registry.replace(&service, (0..count).map(data::instance));
        let mut runtime = Builder::new_multi_thread();
        let runtime = runtime.worker_threads(threads).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let config = BalancerConfig::default();
        let config = config
            .with_update_merge_window(Duration::ZERO)
            .expect("in range");
        let balancer = runtime.block_on(async {
            let balancer = Balancer::builder(registry.clone(), service.clone());
            let balancer = match metrics {
                Some(metrics) => balancer.with_observer(metrics.clone()),
                None => balancer,
            };
            let balancer = balancer.with_config(config).build().expect("in a runtime");
            balancer.ready().await.expect("the registry answers");
            balancer
        });
        Self {
            registry,
            service,
            balancer,
            _runtime: runtime,
        }
    }
}

pub(crate) fn measure(steady: bool) -> Vec<Row> {
    let keys = data::keys();
    let mut rows = Vec::new();
    for count in [100, 1_000] {
        let fleet = Fleet::new(count);
        let allocated = crate::ring::allocations(|| {
            for key in &keys[..1_000] {
                let _ = black_box(fleet.balancer.pick(&PickRequest::new().with_key(key)));
            }
        });
        let what = format!("Balancer::pick, N={count}");
        rows.push(Row::steady(what, "allocations", allocated).at_most(0.0, 0.0));
    }
    if !steady {
        rows.extend(threads(&keys));
        rows.extend(updates(&keys));
    }
    rows
}

fn picks<'a>(balancer: &'a Balancer, keys: &'a [[u8; 16]]) -> Work<'a> {
    let mut keys = Keys::new(keys);
    Box::new(move |count| {
        timed(|| {
            for _ in 0..count {
                let _ = black_box(balancer.pick(&PickRequest::new().with_key(keys.next())));
            }
        })
    })
}

/// With something running beside it, which ends with the measurement.
fn beside<'a>(mut work: Work<'a>, other: impl Fn(&AtomicBool) + Sync + 'a) -> Work<'a> {
    Box::new(move |count| {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| other(&stop));
            let took = work(count);
            stop.store(true, Ordering::Relaxed);
            took
        })
    })
}

fn threads(keys: &[[u8; 16]]) -> Option<Row> {
    let fleet = Fleet::new(1_000);
    let balancer = &fleet.balancer;
    let other = |stop: &AtomicBool| {
        let mut keys = Keys::new(keys);
        while !stop.load(Ordering::Relaxed) {
            let _ = black_box(balancer.pick(&PickRequest::new().with_key(keys.next())));
        }
    };
    let times = interleaved(
        PICKS,
        [picks(balancer, keys), beside(picks(balancer, keys), other)],
    );
    let row = Row::noisy(
        "Balancer::pick by two threads, N=1000",
        "time to one thread's",
        times.ratio(1, 0),
    );
    Some(row.at_most(1.5, 1.25).with_sides(times.sides(1, 0)))
}

/// One instance changes its weight all the time.
fn updates(keys: &[[u8; 16]]) -> Option<Row> {
    let fleet = Fleet::new(100);
    let [light, heavy] = [90, 110].map(|weight| {
        let instance = data::instance(7).to_builder().weight(weight);
        instance.build().expect("a legal instance")
    });
    let other = |stop: &AtomicBool| {
        let mut turn = 0u32;
        while !stop.load(Ordering::Relaxed) {
            let next: &Instance = if turn.is_multiple_of(2) {
                &light
            } else {
                &heavy
            };
            fleet.registry.register(&fleet.service, next.clone());
            turn += 1;
            thread::sleep(UPDATE_EACH);
        }
    };
    let balancer = &fleet.balancer;
    let before = balancer.view().map_or(0, |view| view.epoch());
    let times = interleaved(
        4 * PICKS,
        [picks(balancer, keys), beside(picks(balancer, keys), other)],
    );
    let views = balancer.view().map_or(0, |view| view.epoch()) - before;
    let row = Row::noisy(
        "Balancer::pick during updates (one each 200 us), N=100",
        "time to none",
        times.ratio(1, 0),
    );
    let sides = format!("{}, {views} views", times.sides(1, 0));
    Some(row.at_most(1.3, 1.1).with_sides(sides))
}
