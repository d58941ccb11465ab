//! New instances get no requests before they are warm.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use ringfence_balancer::{
    Balancer, BalancerConfig, Candidate, ServiceKey, SlowStartConfig, WarmUp,
};
use ringfence_discovery::{BoxFuture, MemoryRegistry, ProbeError};
use tokio::{sync::watch, time::sleep};

use crate::support::*;

/// Is warm when the test says so.
#[derive(Debug, Clone)]
struct Gate {
    open: watch::Receiver<HashSet<String>>,
    running: Arc<AtomicUsize>,
}

struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl WarmUp for Gate {
    fn warm<'a>(
        &'a self,
        candidate: &'a Candidate,
        service: &'a ServiceKey,
    ) -> BoxFuture<'a, Result<(), ProbeError>> {
        assert_eq!(*service, crate::support::service());
        let id = candidate.instance().id().as_str();
        self.running.fetch_add(1, Ordering::SeqCst);
        let running = Running(Arc::clone(&self.running));
        Box::pin(async move {
            let _running = running;
            assert_ne!(id, "i66", "a fault in the probe");
            if id == "i77" {
                return Err(ProbeError::new("refused"));
            }
            let mut open = self.open.clone();
            let opened = open.wait_for(|open| open.contains(id)).await;
            opened.map(|_| ()).map_err(|_| ProbeError::new("closed"))
        })
    }
}

struct Warming {
    registry: MemoryRegistry,
    balancer: Balancer,
    open: watch::Sender<HashSet<String>>,
    running: Arc<AtomicUsize>,
}

impl Warming {
    async fn start(config: BalancerConfig) -> Self {
        let registry = registry((0..2).map(instance));
        let (open, receiver) = watch::channel(HashSet::new());
        let running = Arc::<AtomicUsize>::default();
        let gate = Gate {
            open: receiver,
            running: Arc::clone(&running),
        };
        let builder = Balancer::builder(registry.clone(), service()).with_config(config);
        let builder = builder.with_warm_up(gate, Duration::from_secs(5));
        let balancer = builder.expect("in range").build().expect("in a runtime");
        balancer.ready().await.expect("the registry answers");
        Self {
            registry,
            balancer,
            open,
            running,
        }
    }

    fn open(&self, id: &str) {
        self.open.send_modify(|open| open.extend([id.to_owned()]));
    }

    fn used(&self) -> BTreeSet<String> {
        owners(&self.balancer, 500).into_iter().collect()
    }

    fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }
}

fn set(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(ToString::to_string).collect()
}

#[tokio::test(start_paused = true)]
async fn a_new_instance_gets_requests_when_it_is_warm_and_the_first_ones_at_once() {
    let warming = Warming::start(BalancerConfig::default()).await;
    assert_eq!(warming.used(), set(&["i0", "i1"]));
    // More new ones than old ones.
    for n in 2..8 {
        warming.registry.register(service(), instance(n));
    }
    merged().await;
    assert_eq!(warming.used(), set(&["i0", "i1"]));
    let status = warming.balancer.status();
    assert_eq!(
        (status.warming, status.usable, status.pools_in_panic),
        (6, 2, 0)
    );
    warming.open("i3");
    settle().await;
    assert_eq!(warming.used(), set(&["i0", "i1", "i3"]));
    assert_eq!(warming.running(), 5);
    // The others have waited for long enough.
    sleep(Duration::from_secs(5)).await;
    assert_eq!(warming.used().len(), 8);
    let status = warming.balancer.status();
    assert_eq!((status.warming, status.counters.warm_ups_failed), (0, 5));
    assert_eq!(warming.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_fails_or_panics_holds_nobody_back_for_ever() {
    let warming = Warming::start(BalancerConfig::default()).await;
    warming.registry.register(service(), instance(66));
    warming.registry.register(service(), instance(77));
    merged().await;
    // A panic ends it, an error is tried again.
    assert_eq!(warming.used(), set(&["i0", "i1", "i66"]));
    sleep(Duration::from_secs(5)).await;
    assert_eq!(warming.used(), set(&["i0", "i1", "i66", "i77"]));
    assert_eq!(warming.balancer.status().counters.warm_ups_failed, 2);
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_warmed_a_few_at_a_time_and_nobody_waits_longer_for_that() {
    let warming = Warming::start(BalancerConfig::default()).await;
    for n in 100..200 {
        warming.registry.register(service(), instance(n));
    }
    merged().await;
    assert_eq!(warming.running(), 16);
    assert_eq!(warming.balancer.status().warming, 100);
    for n in 100..150 {
        warming.open(&format!("i{n}"));
    }
    settle().await;
    assert_eq!(warming.running(), 16);
    assert_eq!(warming.balancer.status().warming, 50);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(
        (warming.running(), warming.balancer.status().warming),
        (0, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn it_ends_with_the_instance_and_with_the_balancer() {
    let warming = Warming::start(BalancerConfig::default()).await;
    warming.registry.register(service(), instance(5));
    merged().await;
    warming.registry.deregister(service(), "i5");
    settle().await;
    assert_eq!(warming.running(), 0);
    // Back within the time in which it is not new, but it has never been warm.
    warming.registry.register(service(), instance(5));
    merged().await;
    assert_eq!((warming.running(), warming.used()), (1, set(&["i0", "i1"])));
    warming.open("i5");
    settle().await;
    assert_eq!(warming.used(), set(&["i0", "i1", "i5"]));
    // One that was warm and flickers is used at once.
    warming.registry.deregister(service(), "i5");
    settle().await;
    warming.registry.register(service(), instance(5));
    merged().await;
    assert_eq!(warming.used(), set(&["i0", "i1", "i5"]));

    warming.registry.register(service(), instance(6));
    merged().await;
    assert_eq!(warming.running(), 1);
    let Warming {
        balancer, running, ..
    } = warming;
    drop(balancer);
    settle().await;
    assert_eq!(running.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_slow_start_begins_when_it_is_warm() {
    let slow_start = SlowStartConfig::default().with_window(Duration::from_secs(10));
    let config = BalancerConfig::default().with_slow_start(slow_start.expect("in range"));
    let warming = Warming::start(config).await;
    warming.registry.register(service(), instance(5));
    merged().await;
    sleep(Duration::from_secs(4)).await;
    warming.open("i5");
    settle().await;
    let weight = || {
        let view = warming.balancer.view().expect("ready");
        view.snapshot().ring_weight(2)
    };
    assert!(weight() <= 40, "as it was when its last step was taken");
    sleep(Duration::from_secs(5)).await;
    assert!((40..=60).contains(&weight()), "{}", weight());
    sleep(Duration::from_secs(6)).await;
    assert_eq!(weight(), 100);
}
