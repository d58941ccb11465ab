//! Series are few, and go (B63).

use std::sync::Arc;

use ringfence_balancer::{Balancer, CallOutcome, CompiledPolicy, PickRequest};
use ringfence_core::RequestTags;
use ringfence_discovery::MemoryRegistry;
use ringfence_metrics::Metrics;
use ringfence_policy::{PolicyContext, PolicyDocument};

use crate::support::*;

/// An instance that has another address each time: its series stay one of each kind.
#[tokio::test(start_paused = true)]
async fn an_instance_that_keeps_changing_its_address_makes_no_series() {
    let metrics = Metrics::new().with_instances(100);
    let (registry, balancer) = fleet(&metrics).await;
    call(&balancer, "k", CallOutcome::Success);
    registry.register("order", at(1, "10.1.0.0:80"));
    // The load is looked at once a second.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let before = series(&metrics.render()).len();
    for n in 0..10_000_u32 {
        let [_, a, b, c] = n.to_be_bytes();
        registry.register("order", at(1, &format!("10.{a}.{b}.{c}:80")));
        settle().await;
    }
    let now = series(&metrics.render());
    assert_eq!(now.len(), before);
    let of_it = |name: &&String| name.contains("instance=\"i1\"");
    assert_eq!(now.keys().filter(of_it).count(), 6, "{now:?}");
    assert!(now["ringfence_view_epoch{service=\"order\"}"] > 9_000.0);
}

#[tokio::test(start_paused = true)]
async fn keys_and_tags_make_no_series() {
    let metrics = Metrics::new().with_instances(100);
    let (_registry, balancer) = fleet(&metrics).await;
    call(&balancer, "k", CallOutcome::Success);
    let decide = |n: u32| {
        let tags = RequestTags::new().with_tenant(format!("tenant-{n}"));
        let key = format!("key-{n}");
        let request = PickRequest::new().with_key(&key).with_tags(&tags);
        let mut call = balancer.observe_call().expect("observed");
        if let Ok(decision) = balancer.pick(&request) {
            call.decided(decision.choice(), None);
        }
        call.end(CallOutcome::Success, None);
    };
    // Hot keys and the observed skew have series once there are some requests; a few more stages may serve.
    (0..1_000).for_each(&decide);
    let before = series(&metrics.render()).len();
    (0..100_000).for_each(&decide);
    let text = metrics.render();
    let now = series(&text).len();
    assert!(now <= before + 20, "{before} {now}");
    assert!(!text.contains("tenant-") && !text.contains("key-"));
}

/// A policy that is replaced again and again, each time with a rule of another name beside one that stays.
#[tokio::test(start_paused = true)]
async fn series_of_rules_go_with_them_and_those_of_others_never_fall() {
    let metrics = Metrics::new();
    let (_registry, balancer) = fleet(&metrics).await;
    let decision = balancer.pick(&PickRequest::new()).expect("an owner");
    let call = |policy: &CompiledPolicy, rule: &str| {
        let mut call = balancer.observe_call().expect("observed");
        let label = policy.labels().find(|label| &***label == rule);
        call.decided(decision.choice(), label);
        call.end(CallOutcome::Success, None);
    };
    let requests = |rule: &str| {
        format!(
            "ringfence_requests_total{{outcome=\"success\",pool=\"{rule}/0\",service=\"order\"}}"
        )
    };
    let mut before = None;
    let mut policies = 0;
    for n in 0..10_000 {
        let text = format!("{{ ringfence: 1, rules: [{{ name: stays }}, {{ name: rule-{n} }}] }}");
        let policy = PolicyDocument::parse_and_compile(&text, &PolicyContext::new());
        let policy = Arc::new(policy.expect("legal"));
        balancer.set_policy(Arc::clone(&policy));
        settle().await;
        call(&policy, "stays");
        call(&policy, &format!("rule-{n}"));
        policies += 1;
        if n % 1_000 == 0 {
            let now = series(&metrics.render());
            assert_eq!(now[&requests("stays")], f64::from(policies));
            assert_eq!(
                now[&requests(&format!("rule-{n}"))],
                1.0,
                "no label of its own"
            );
            let of_rules = now.keys().filter(|name| name.contains("rule-"));
            assert!(
                of_rules
                    .clone()
                    .all(|name| name.contains(&format!("rule-{n}/")))
            );
            assert_eq!(*before.get_or_insert(now.len()), now.len());
        }
    }
}

/// What one balancer gives back, another one of the same service may still have.
#[tokio::test(start_paused = true)]
async fn series_of_a_rule_stay_while_another_balancer_has_it() {
    let metrics = Metrics::new();
    let (registry, one) = fleet(&metrics).await;
    let other = Balancer::builder(registry, "order").with_observer(metrics.clone());
    let other = other.build_ready().await.expect("ready");
    let policy = |rule: &str| {
        let text = format!("{{ ringfence: 1, rules: [{{ name: {rule} }}] }}");
        let policy = PolicyDocument::parse_and_compile(&text, &PolicyContext::new());
        Arc::new(policy.expect("legal"))
    };
    let carts = policy("carts");
    for balancer in [&one, &other] {
        balancer.set_policy(Arc::clone(&carts));
        settle().await;
        let mut call = balancer.observe_call().expect("observed");
        let decision = balancer.pick(&PickRequest::new()).expect("an owner");
        call.decided(decision.choice(), carts.labels().next());
        call.end(CallOutcome::Success, None);
    }
    let count = || {
        let name =
            "ringfence_requests_total{outcome=\"success\",pool=\"carts/0\",service=\"order\"}";
        series(&metrics.render()).get(name).copied()
    };
    assert_eq!(count(), Some(2.0));
    one.set_policy(policy("orders"));
    settle().await;
    assert_eq!(count(), Some(2.0));
    other.set_policy(policy("orders"));
    settle().await;
    assert_eq!(count(), None);
}

/// A balancer of `order` beside others, with a policy of one rule, and a call of it.
async fn with_rule(
    registry: &MemoryRegistry,
    metrics: &Metrics,
    rule: &str,
) -> (Balancer, Arc<CompiledPolicy>) {
    let builder = Balancer::builder(registry.clone(), "order").with_config(config());
    let builder = builder.with_observer(metrics.clone());
    let balancer = builder.build_ready().await.expect("ready");
    let policy = follow(&balancer, rule).await;
    (balancer, policy)
}

/// Sets a policy of one rule, and makes a call of it.
async fn follow(balancer: &Balancer, rule: &str) -> Arc<CompiledPolicy> {
    let text = format!("{{ ringfence: 1, rules: [{{ name: {rule} }}] }}");
    let policy = PolicyDocument::parse_and_compile(&text, &PolicyContext::new());
    let policy = Arc::new(policy.expect("legal"));
    balancer.set_policy(Arc::clone(&policy));
    settle().await;
    call_of(balancer, &policy);
    policy
}

fn call_of(balancer: &Balancer, policy: &CompiledPolicy) {
    let mut call = balancer.observe_call().expect("observed");
    let decision = balancer.pick(&PickRequest::new()).expect("an owner");
    call.decided(decision.choice(), policy.labels().next());
    call.end(CallOutcome::Success, None);
}

fn calls_of(metrics: &Metrics, rule: &str) -> Option<f64> {
    let name = format!(
        "ringfence_requests_total{{outcome=\"success\",pool=\"{rule}/0\",service=\"order\"}}"
    );
    series(&metrics.render()).get(&name).copied()
}

/// A balancer that ends tells nothing of its labels.
#[tokio::test(start_paused = true)]
async fn a_balancer_that_ends_keeps_no_series_of_its_rules() {
    let metrics = Metrics::new();
    let (registry, one) = fleet(&metrics).await;
    let carts = follow(&one, "carts").await;
    let (other, _) = with_rule(&registry, &metrics, "carts").await;
    assert_eq!(calls_of(&metrics, "carts"), Some(2.0));
    drop(one);
    settle().await;
    assert_eq!(
        calls_of(&metrics, "carts"),
        Some(2.0),
        "the other one has it"
    );
    call_of(&other, &carts);
    assert_eq!(calls_of(&metrics, "carts"), Some(3.0), "it never falls");
    follow(&other, "orders").await;
    assert_eq!(calls_of(&metrics, "carts"), None);
    assert_eq!(calls_of(&metrics, "orders"), Some(1.0));
}

/// A balancer that takes a rule up again goes on where it was, as long as another one has kept the rule.
#[tokio::test(start_paused = true)]
async fn a_rule_that_comes_back_goes_on_counting_where_another_balancer_has_it() {
    let metrics = Metrics::new();
    let (registry, one) = fleet(&metrics).await;
    let carts = follow(&one, "carts").await;
    let (_other, _) = with_rule(&registry, &metrics, "carts").await;
    let mut calls = 2.0;
    for _ in 0..100 {
        follow(&one, "orders").await;
        assert_eq!(calls_of(&metrics, "carts"), Some(calls));
        follow(&one, "carts").await;
        call_of(&one, &carts);
        calls += 2.0;
        assert_eq!(calls_of(&metrics, "carts"), Some(calls));
    }
    let now = series(&metrics.render());
    let durations = "ringfence_request_duration_seconds_count{pool=\"carts/0\",service=\"order\"}";
    assert_eq!(now[durations], calls);
}

/// A call that is under way keeps its label, and what was counted by it.
#[tokio::test(start_paused = true)]
async fn a_rule_that_comes_back_before_its_last_call_has_ended_goes_on_counting() {
    let metrics = Metrics::new();
    let (_registry, balancer) = fleet(&metrics).await;
    let carts = follow(&balancer, "carts").await;
    let decision = balancer.pick(&PickRequest::new()).expect("an owner");
    let mut running = balancer.observe_call().expect("observed");
    running.decided(decision.choice(), carts.labels().next());
    follow(&balancer, "orders").await;
    assert_eq!(calls_of(&metrics, "carts"), Some(1.0));
    follow(&balancer, "carts").await;
    running.end(CallOutcome::Success, None);
    assert_eq!(calls_of(&metrics, "carts"), Some(3.0));
    follow(&balancer, "orders").await;
    assert_eq!(calls_of(&metrics, "carts"), None);
}

/// A program that builds a balancer anew for each policy, beside one that lasts, and is seldom scraped.
#[tokio::test(start_paused = true)]
async fn balancers_that_come_and_go_make_no_series() {
    let metrics = Metrics::new();
    let (registry, lasting) = fleet(&metrics).await;
    let stays = follow(&lasting, "stays").await;
    let mut before = None;
    for n in 0..400 {
        let (_balancer, _) = with_rule(&registry, &metrics, &format!("rule-{n}")).await;
        if n % 100 == 0 {
            let now = series(&metrics.render());
            let of_rules = |name: &&String| name.contains("pool=\"rule-");
            let own = now.keys().filter(of_rules).count();
            assert_eq!(*before.get_or_insert(own), own);
            assert!(own > 0);
        }
    }
    settle().await;
    call_of(&lasting, &stays);
    assert_eq!(calls_of(&metrics, "stays"), Some(2.0));
    assert!(!metrics.render().contains("rule-"));
}

#[tokio::test(start_paused = true)]
async fn series_go_with_their_instance_and_with_the_last_balancer_of_a_service() {
    let metrics = Metrics::new().with_instances(2).with_aliases();
    let (registry, balancer) = fleet(&metrics).await;
    call(&balancer, "k", CallOutcome::Success);
    registry.register("order", instance(9));
    settle().await;
    let now = series(&metrics.render());
    assert_eq!(now["ringfence_instances_omitted{service=\"order\"}"], 2.0);
    assert_eq!(
        now.keys()
            .filter(|name| name.starts_with("ringfence_instance_attempts_total"))
            .count(),
        2
    );
    registry.deregister("order", "i0");
    settle().await;
    assert!(!metrics.render().contains("instance=\"i0\""));
    let late = balancer.observe_call().expect("observed");
    drop(balancer);
    let left = metrics.render();
    assert!(!left.contains("order"), "{left}");
    late.end(CallOutcome::Success, None);
    assert!(
        !metrics.render().contains("order"),
        "of a call that outlived its balancer"
    );
    // And again.
    let (_registry, _balancer) = fleet(&metrics).await;
    assert!(
        metrics
            .render()
            .contains("ringfence_up{service=\"order\"} 1")
    );
}
