//! What observers hear.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use ringfence_balancer::{
    Balancer, BalancerConfig, BalancerEvent, CallEnd, CallObserver, CallOutcome, Observer,
    PickRequest, PoolLabel, ServiceKey, WeakBalancer,
};
use ringfence_testkit::Warnings;
use tokio::time::{Duration, sleep};

use crate::support::*;

#[derive(Clone, Default)]
struct Heard {
    lines: Arc<Mutex<Vec<String>>>,
    pools: Arc<Mutex<Vec<String>>>,
}

impl Heard {
    fn note(&self, line: String) {
        self.lines.lock().expect("no panic").push(line);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().expect("no panic"))
    }

    fn pools(&self) -> Vec<String> {
        self.pools.lock().expect("no panic").clone()
    }
}

impl Observer for Heard {
    fn started(&self, balancer: &WeakBalancer) {
        self.note(format!("started {}", balancer.service()));
    }

    fn pool(&self, _: &ServiceKey, pool: &PoolLabel) -> Arc<dyn CallObserver> {
        self.pools.lock().expect("no panic").push(pool.to_string());
        Arc::new(Pool(self.clone(), pool.clone()))
    }

    fn event(&self, service: &ServiceKey, event: &BalancerEvent<'_>) {
        let told = match event {
            BalancerEvent::ViewPublished { epoch, change, .. } => {
                let moved = change.and_then(|change| change.moved_share);
                format!("view {epoch} {}", moved.is_some())
            }
            BalancerEvent::Ejected {
                instance, cause, ..
            } => format!("out {instance}: {cause}"),
            BalancerEvent::Returned { instance, why } => format!("back {instance}: {why:?}"),
            other => format!("{other:?}"),
        };
        self.note(format!("{service} {told}"));
    }
}

struct Pool(Heard, PoolLabel);

impl CallObserver for Pool {
    fn ended(&self, call: &CallEnd<'_>) {
        let CallEnd {
            outcome,
            took,
            attempts,
            instance,
            ..
        } = call;
        let instance = instance.map(ToString::to_string);
        let millis = took.as_millis();
        self.0.note(format!(
            "{} {outcome} {attempts} {instance:?} {millis}",
            self.1
        ));
    }
}

async fn observed(observer: impl Observer) -> (ringfence_discovery::MemoryRegistry, Balancer) {
    let registry = registry((0..3).map(instance));
    let balancer = Balancer::builder(registry.clone(), service()).with_observer(observer);
    (registry, balancer.build_ready().await.expect("ready"))
}

#[tokio::test(start_paused = true)]
async fn observers_hear_of_views_ejections_and_returns() {
    let heard = Heard::default();
    let (registry, balancer) = observed(heard.clone()).await;
    assert_eq!(heard.take(), ["started order", "order view 1 false"]);
    registry.register(service(), instance(5));
    merged().await;
    assert_eq!(heard.take(), ["order view 2 true"]);
    fail(&balancer, &key_of(&balancer, "i1"), 5);
    settle().await;
    let lines = heard.take();
    assert!(lines[0].starts_with("order out i1: "), "{lines:?}");
    assert_eq!(lines[1..], ["order view 3 false"]);
    sleep(Duration::from_secs(60)).await;
    let lines = heard.take();
    assert!(
        lines.iter().any(|line| line.starts_with("order back i1: ")),
        "{lines:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn observers_hear_how_calls_end_with_their_pool_attempts_and_time() {
    let heard = Heard::default();
    let (_registry, balancer) = observed(heard.clone()).await;
    heard.take();
    let decision = balancer
        .pick(&PickRequest::new().with_key("k"))
        .expect("an owner");
    let begin = || balancer.observe_call().expect("observed");

    let mut call = begin();
    call.decided(&decision, Some(&"carts".into()));
    call.attempt();
    call.attempt();
    sleep(Duration::from_millis(30)).await;
    let last = decision.instance().id();
    call.end(CallOutcome::AttemptsExhausted, Some(last));
    let mut call = begin();
    call.decided(&decision, None);
    drop(call);
    begin().end(CallOutcome::NoInstances, None);

    let id = format!("{:?}", Some(decision.instance().id().to_string()));
    let expected = [
        format!("carts/0 attempts_exhausted 2 {id} 30"),
        "default/0 cancelled 0 None 0".to_owned(),
        "none no_instances 0 None 0".to_owned(),
    ];
    assert_eq!(heard.take(), expected);
}

/// Neither keys nor tags nor many policies make ever more labels (B63).
#[tokio::test(start_paused = true)]
async fn labels_of_pools_are_bounded_and_each_is_asked_for_once() {
    let heard = Heard::default();
    let (_registry, balancer) = observed(heard.clone()).await;
    let decision = balancer
        .pick(&PickRequest::new().with_key("k"))
        .expect("an owner");
    let call = |rule: &Arc<str>| {
        let mut call = balancer.observe_call().expect("observed");
        call.decided(&decision, Some(rule));
        call.end(CallOutcome::Success, None);
    };
    // The same names again and again, each time in another place, as from a policy that is loaded anew.
    for _ in 0..2_000 {
        call(&"carts".into());
        call(&"orders".into());
    }
    assert_eq!(heard.pools(), ["carts/0", "orders/0"]);
    for n in 0..10_000 {
        call(&format!("rule-{n}").into());
    }
    let pools = heard.pools();
    assert_eq!(pools.len(), 257);
    assert_eq!(pools.last().map(String::as_str), Some("others"));
    heard.take();
    call(&"carts".into());
    call(&"rule-9999".into());
    let lines = heard.take();
    assert!(
        lines[0].starts_with("carts/0 ") && lines[1].starts_with("others "),
        "{lines:?}"
    );
}

struct Faulty(Arc<AtomicUsize>);

impl Observer for Faulty {
    fn started(&self, _: &WeakBalancer) {
        panic!("a fault of the program's own");
    }

    fn pool(&self, _: &ServiceKey, _: &PoolLabel) -> Arc<dyn CallObserver> {
        struct OfPool(Arc<AtomicUsize>);
        impl CallObserver for OfPool {
            fn ended(&self, _: &CallEnd<'_>) {
                self.0.fetch_add(1, Ordering::Relaxed);
                panic!("a fault of the program's own");
            }
        }
        Arc::new(OfPool(Arc::clone(&self.0)))
    }

    fn event(&self, _: &ServiceKey, _: &BalancerEvent<'_>) {
        panic!("a fault of the program's own");
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_harms_neither_calls_nor_the_task() {
    let told = Warnings::capture();
    let count = Arc::new(AtomicUsize::new(0));
    let (registry, balancer) = observed(Faulty(Arc::clone(&count))).await;
    for _ in 0..3 {
        balancer
            .observe_call()
            .expect("observed")
            .end(CallOutcome::Success, None);
    }
    assert_eq!(count.load(Ordering::Relaxed), 3);
    registry.register(service(), instance(8));
    merged().await;
    assert_eq!(balancer.status().instances, 4);
    // The test has a process of its own, in which this is told once.
    let lines = told.take();
    assert_eq!(lines.len(), 1, "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn several_observers_hear_all_the_same_even_beside_a_faulty_one() {
    let (first, second) = (Heard::default(), Heard::default());
    let registry = registry((0..3).map(instance));
    let balancer = Balancer::builder(registry.clone(), service())
        .with_observer(first.clone())
        .with_observer(Faulty(Arc::default()))
        .with_observer(second.clone());
    let balancer = balancer.build_ready().await.expect("ready");
    let call = balancer.observe_call().expect("observed");
    call.end(CallOutcome::NoInstances, None);
    let lines = first.take();
    assert_eq!(
        lines,
        [
            "started order",
            "order view 1 false",
            "none no_instances 0 None 0"
        ]
    );
    assert_eq!(second.take(), lines);
}

#[tokio::test(start_paused = true)]
async fn without_an_observer_no_record_is_made_and_weak_handles_keep_nothing() {
    let registry = registry((0..3).map(instance));
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    assert!(balancer.observe_call().is_none());
    let weak = balancer.downgrade();
    assert!(!weak.is_gone());
    drop(balancer);
    assert!(weak.is_gone() && weak.upgrade().is_none());
}
