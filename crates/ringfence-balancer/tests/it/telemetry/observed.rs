//! What observers hear.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use ringfence_balancer::{
    Balancer, BalancerConfig, BalancerEvent, CallEnd, CallObserver, CallOutcome, CallRecord,
    CompiledPolicy, Observer, PickRequest, PoolLabel, ServiceKey, WeakBalancer,
};
use ringfence_policy::{PolicyContext, PolicyDocument};
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

    fn pool_gone(&self, _: &ServiceKey, pool: &PoolLabel) {
        self.note(format!("gone {pool}"));
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
    call.decided(decision.choice(), Some(&"carts".into()));
    call.attempt();
    call.attempt();
    sleep(Duration::from_millis(30)).await;
    let last = decision.instance().id();
    call.end(CallOutcome::AttemptsExhausted, Some(last));
    let mut call = begin();
    call.decided(decision.choice(), None);
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
        call.decided(decision.choice(), Some(rule));
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

/// A policy with these rules is in force.
async fn follow(balancer: &Balancer, rules: &[&str]) -> Arc<CompiledPolicy> {
    let rules: Vec<_> = rules
        .iter()
        .map(|name| format!("{{ name: {name} }}"))
        .collect();
    let text = format!("{{ ringfence: 1, rules: [{}] }}", rules.join(", "));
    let policy = PolicyDocument::parse_and_compile(&text, &PolicyContext::new());
    let policy = Arc::new(policy.expect("legal"));
    balancer.set_policy(Arc::clone(&policy));
    settle().await;
    assert!(Arc::ptr_eq(&balancer.policy().expect("one"), &policy));
    policy
}

fn label(policy: &CompiledPolicy, name: &str) -> Arc<str> {
    let found = policy.labels().find(|label| &***label == name);
    Arc::clone(found.expect("it is there"))
}

/// A rule that a new policy does not name keeps its label while a call of it runs, and no longer (B63).
#[tokio::test(start_paused = true)]
async fn the_label_of_a_rule_that_is_gone_is_given_back_after_its_last_call() {
    let heard = Heard::default();
    let (_registry, balancer) = observed(heard.clone()).await;
    let decision = balancer
        .pick(&PickRequest::new().with_key("k"))
        .expect("an owner");
    let begin = |policy: &CompiledPolicy, rule: &str| {
        let mut call = balancer.observe_call().expect("observed");
        call.decided(decision.choice(), Some(&label(policy, rule)));
        call
    };
    let end = |call: CallRecord| call.end(CallOutcome::Success, None);
    let gone = || -> Vec<_> {
        let lines = heard.take();
        let gone = lines.iter().filter_map(|line| line.strip_prefix("gone "));
        gone.map(ToOwned::to_owned).collect()
    };

    let first = follow(&balancer, &["stays", "goes"]).await;
    end(begin(&first, "stays"));
    end(begin(&first, "goes"));
    let running = begin(&first, "goes");
    let second = follow(&balancer, &["stays", "comes"]).await;
    end(begin(&second, "stays"));
    end(begin(&second, "comes"));
    assert_eq!(heard.pools(), ["stays/0", "goes/0", "comes/0"]);
    assert!(gone().is_empty(), "a call of it runs");

    // One that was decided by the policy before shares its label, and one after that gets it anew.
    end(begin(&first, "goes"));
    assert!(gone().is_empty());
    end(running);
    assert_eq!(gone(), ["goes/0"]);
    end(begin(&first, "goes"));
    assert_eq!(gone(), ["goes/0"]);

    // A rule that comes back while a call of it runs has the label that it had.
    let running = begin(&second, "comes");
    follow(&balancer, &["stays"]).await;
    let third = follow(&balancer, &["stays", "comes"]).await;
    end(begin(&third, "comes"));
    end(running);
    end(begin(&third, "comes"));
    assert!(gone().is_empty());
    let asked = heard.pools();
    let comes = asked.iter().filter(|pool| *pool == "comes/0");
    assert_eq!(comes.count(), 1, "{asked:?}");
}

/// Rules that had to share a label get their own once there is room.
#[tokio::test(start_paused = true)]
async fn labels_that_are_given_back_are_there_for_others() {
    let heard = Heard::default();
    let (_registry, balancer) = observed(heard.clone()).await;
    let decision = balancer
        .pick(&PickRequest::new().with_key("k"))
        .expect("an owner");
    let names: Vec<String> = (0..256).map(|n| format!("old-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let old = follow(&balancer, &names).await;
    let begin = |policy: &CompiledPolicy, rule: &str| {
        let mut call = balancer.observe_call().expect("observed");
        call.decided(decision.choice(), Some(&label(policy, rule)));
        call
    };
    let running: Vec<_> = names.iter().map(|name| begin(&old, name)).collect();
    let new = follow(&balancer, &["new"]).await;
    let pool_of_new = || {
        heard.take();
        begin(&new, "new").end(CallOutcome::Success, None);
        let line = heard.take().pop().expect("heard");
        line.split(' ').next().map(ToOwned::to_owned)
    };
    assert_eq!(pool_of_new().as_deref(), Some("others"));
    drop(running);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(pool_of_new().as_deref(), Some("new/0"));
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
