//! The numbers are those of what happened.

use std::{collections::BTreeMap, time::Duration};

use ringfence_balancer::{Balancer, CallOutcome, FailureKind, Outcome, OutlierConfig, PickRequest};
use ringfence_core::Instance;
use ringfence_discovery::{ErrorKind, MemoryRegistry};
use ringfence_metrics::Metrics;
use ringfence_policy::PolicyContext;
use ringfence_testkit::{ScriptedDiscovery, ScriptedDocument};
use tokio::time::sleep;

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn calls_are_counted_by_pool_and_outcome_with_their_time() {
    let metrics = Metrics::new();
    let (_registry, balancer) = fleet(&metrics).await;
    for n in 0..10 {
        let outcome = if n < 7 {
            CallOutcome::Success
        } else {
            CallOutcome::DeadlineExceeded
        };
        call(&balancer, &format!("k{n}"), outcome);
    }
    balancer
        .observe_call()
        .expect("observed")
        .end(CallOutcome::NoInstances, None);
    let slow = balancer.observe_call().expect("observed");
    sleep(Duration::from_millis(30)).await;
    slow.end(CallOutcome::NotReady, None);
    let series = series(&metrics.render());
    let of = |name: &str| series.get(name).copied();
    let requests = |pool: &str, outcome: &str| {
        of(&format!(
            "ringfence_requests_total{{outcome=\"{outcome}\",pool=\"{pool}\",service=\"order\"}}"
        ))
    };
    assert_eq!(requests("default/0", "success"), Some(7.0));
    assert_eq!(requests("default/0", "deadline_exceeded"), Some(3.0));
    assert_eq!(requests("none", "no_instances"), Some(1.0));
    assert_eq!(
        requests("default/0", "transport"),
        None,
        "no series before the first"
    );
    let count = "ringfence_request_duration_seconds_count{pool=\"none\",service=\"order\"}";
    assert_eq!(of(count), Some(2.0));
    let bucket = |le: &str| {
        of(&format!(
            "ringfence_request_duration_seconds_bucket{{pool=\"none\",service=\"order\",le=\"{le}\"}}"
        ))
    };
    assert_eq!((bucket("0.025"), bucket("0.05")), (Some(1.0), Some(2.0)));
    assert_eq!(of("ringfence_picks_total{service=\"order\"}"), Some(10.0));
    assert_eq!(
        of("ringfence_attempt_failures_total{kind=\"status\",service=\"order\"}"),
        Some(3.0)
    );
}

#[tokio::test(start_paused = true)]
async fn the_state_is_that_of_the_moment() {
    let metrics = Metrics::new().with_instances(10);
    let (registry, balancer) = fleet(&metrics).await;
    let decision = balancer
        .pick(&PickRequest::new().with_key("k"))
        .expect("an owner");
    let running = decision.first().begin();
    let id = decision.instance().id().clone();
    let now = series(&metrics.render());
    assert_eq!(now["ringfence_in_flight{service=\"order\"}"], 1.0);
    assert_eq!(
        now[&format!("ringfence_instance_in_flight{{instance=\"{id}\",service=\"order\"}}")],
        1.0
    );
    assert_eq!(now["ringfence_ring_points{service=\"order\"}"], 480.0);
    assert_eq!(
        now["ringfence_ring_instances{service=\"order\",state=\"usable\"}"],
        3.0
    );
    assert_eq!(
        (
            now["ringfence_up{service=\"order\"}"],
            now["ringfence_stale{service=\"order\"}"]
        ),
        (1.0, 0.0)
    );
    let skew = now["ringfence_arc_skew_ratio{service=\"order\"}"];
    assert!((1.0..1.5).contains(&skew), "{skew}");
    drop(running);

    registry.register("order", instance(7));
    settle().await;
    let now = series(&metrics.render());
    assert_eq!(now["ringfence_in_flight{service=\"order\"}"], 0.0);
    assert_eq!(instances(&now), 4.0);
    let moved = now["ringfence_ring_moved_ratio{service=\"order\"}"];
    assert!((0.1..0.4).contains(&moved), "{moved}");
    assert_eq!(
        now["ringfence_ring_moved_ratio_total{service=\"order\"}"],
        moved
    );
    assert_eq!(
        now["ringfence_instance_changes_total{change=\"added\",service=\"order\"}"],
        1.0
    );
    assert_eq!(
        now["ringfence_update_delay_seconds_count{service=\"order\"}"],
        1.0
    );
    assert_eq!(
        now["ringfence_view_build_seconds_count{service=\"order\"}"],
        2.0
    );
}

/// All instances of `order`, as the sum over their states.
fn instances(series: &BTreeMap<String, f64>) -> f64 {
    let states = series
        .iter()
        .filter(|(name, _)| name.starts_with("ringfence_ring_instances{service=\"order\""));
    states.map(|(_, value)| value).sum()
}

/// Whoever adds the states up gets the number of instances, whatever is the matter with each.
#[tokio::test(start_paused = true)]
async fn each_instance_is_in_one_state() {
    let metrics = Metrics::new();
    let registry = MemoryRegistry::new();
    let sick = |n| Instance::builder(format!("i{n}"), format!("10.0.0.{n}:80")).healthy(false);
    registry.replace("order", (0..10).map(instance));
    let outlier = OutlierConfig::default().with_max_ejection_percent(50);
    let config = config().with_outlier(outlier.expect("legal"));
    let balancer = Balancer::builder(registry.clone(), "order")
        .with_config(config)
        .with_observer(metrics.clone());
    let balancer = balancer.build_ready().await.expect("ready");
    let fail = |id: &str| {
        let keys = (0..10_000).map(|n| format!("k{n}"));
        let decisions = keys.map(|key| balancer.pick(&PickRequest::new().with_key(&key)));
        let of_it = decisions
            .filter_map(Result::ok)
            .filter(|decision| decision.instance().id().as_str() == id);
        for decision in of_it.take(5) {
            let mut attempt = decision.first().begin();
            attempt.report(Outcome::Failure(FailureKind::Status));
        }
    };
    fail("i0");
    fail("i1");
    settle().await;
    // Several things are the matter with these: ejected, and not healthy or of no weight.
    registry.register("order", sick(1).build().expect("legal"));
    registry.register("order", sick(2).build().expect("legal"));
    registry.register("order", sick(3).weight(0).build().expect("legal"));
    registry.register("order", sick(4).enabled(false).build().expect("legal"));
    settle().await;
    let now = series(&metrics.render());
    let of = |state: &str| {
        now[&format!("ringfence_ring_instances{{service=\"order\",state=\"{state}\"}}")]
    };
    assert_eq!((of("ejected"), of("unhealthy")), (1.0, 2.0), "{now:?}");
    assert_eq!((of("drained"), of("disabled")), (1.0, 1.0));
    assert_eq!((of("usable"), instances(&now)), (5.0, 10.0));

    // One that came back is usable, and on trial.
    sleep(Duration::from_secs(35)).await;
    let now = series(&metrics.render());
    let reduced = now["ringfence_ring_instances_reduced{reason=\"on_trial\",service=\"order\"}"];
    assert_eq!((reduced, instances(&now)), (1.0, 10.0));
    let usable = now["ringfence_ring_instances{service=\"order\",state=\"usable\"}"];
    assert_eq!(usable, 6.0);
}

/// What runs at an instance that has left the list is still there.
#[tokio::test(start_paused = true)]
async fn calls_at_instances_that_left_are_in_flight() {
    let metrics = Metrics::new();
    let (registry, balancer) = fleet(&metrics).await;
    let decision = balancer.pick(&PickRequest::new()).expect("an owner");
    let running = decision.first().begin();
    let in_flight = || {
        let now = series(&metrics.render());
        let of = |name: &str| now[&format!("{name}{{service=\"order\"}}")];
        (
            of("ringfence_in_flight"),
            of("ringfence_in_flight_departed"),
        )
    };
    assert_eq!(in_flight(), (1.0, 0.0));
    registry.deregister("order", decision.instance().id().as_str());
    settle().await;
    assert_eq!(in_flight(), (1.0, 1.0));
    drop(running);
    assert_eq!(in_flight(), (0.0, 0.0));
}

/// A document that is no policy is a policy that failed, for alerts as for people, and one that stands until it is mended.
#[tokio::test(start_paused = true)]
async fn documents_that_are_no_policy_are_counted_and_told_until_they_are_mended() {
    let metrics = Metrics::new();
    let registry = MemoryRegistry::new();
    registry.replace("order", (0..3).map(instance));
    let document = ScriptedDocument::new();
    document.put("{ ringfence: 1, rulez: [] }");
    let balancer = Balancer::builder(registry, "order")
        .with_policy_source(document.clone(), PolicyContext::new())
        .with_observer(metrics.clone());
    let _balancer = balancer.build_ready().await.expect("ready");
    let told = || {
        let now = series(&metrics.render());
        let of = |outcome: &str| {
            now[&format!("ringfence_policies_total{{outcome=\"{outcome}\",service=\"order\"}}")]
        };
        let fault = now["ringfence_policy_source_fault{service=\"order\"}"];
        (of("applied"), of("failed"), fault)
    };
    assert_eq!(told(), (0.0, 1.0, 1.0));
    sleep(Duration::from_secs(3_600)).await;
    assert_eq!(told(), (0.0, 1.0, 1.0), "it lasts");
    document.put("{ ringfence: 1, rules: [{ name: carts }] }");
    for _ in 0..100 {
        sleep(Duration::from_secs(1)).await;
        if told().0 > 0.0 {
            break;
        }
    }
    assert_eq!(told(), (1.0, 1.0, 0.0));
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_is_away_shows() {
    let metrics = Metrics::new();
    let registry = ScriptedDiscovery::new();
    registry.push_instances((0..3).map(instance));
    let balancer = Balancer::builder(registry.clone(), "order").with_observer(metrics.clone());
    let balancer = balancer.build_ready().await.expect("ready");
    registry.go_down(ErrorKind::Unavailable);
    sleep(Duration::from_secs(120)).await;
    let now = series(&metrics.render());
    assert_eq!(now["ringfence_stale{service=\"order\"}"], 1.0);
    assert!(now["ringfence_snapshot_age_seconds{service=\"order\"}"] > 60.0);
    assert!(now["ringfence_registry_errors_total{kind=\"unavailable\",service=\"order\"}"] > 0.0);
    assert_eq!(
        now["ringfence_ring_instances{service=\"order\",state=\"usable\"}"],
        3.0
    );
    drop(balancer);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_held_back_shows_with_its_reason() {
    let metrics = Metrics::new();
    let (registry, _balancer) = fleet(&metrics).await;
    registry.replace("order", []);
    settle().await;
    let now = series(&metrics.render());
    assert_eq!(now["ringfence_holding{service=\"order\"}"], 1.0);
    assert_eq!(
        now["ringfence_snapshots_held_total{reason=\"empty\",service=\"order\"}"],
        1.0
    );
    assert_eq!(
        now["ringfence_snapshots_held_total{reason=\"mass_loss\",service=\"order\"}"],
        0.0
    );
}

#[tokio::test(start_paused = true)]
async fn several_balancers_of_one_service_add_up_and_other_services_have_series_of_their_own() {
    let metrics = Metrics::new();
    let registry = MemoryRegistry::new();
    registry.replace("order", (0..3).map(instance));
    registry.replace("cart", (0..2).map(instance));
    let mut balancers = Vec::new();
    for service in ["order", "order", "cart"] {
        let balancer = Balancer::builder(registry.clone(), service).with_observer(metrics.clone());
        balancers.push(balancer.build_ready().await.expect("ready"));
    }
    for balancer in &balancers {
        call(balancer, "k", CallOutcome::Success);
    }
    let now = series(&metrics.render());
    assert_eq!(now["ringfence_picks_total{service=\"order\"}"], 2.0);
    assert_eq!(
        now["ringfence_requests_total{outcome=\"success\",pool=\"default/0\",service=\"order\"}"],
        2.0
    );
    assert_eq!(instances(&now), 3.0);
    assert_eq!(now["ringfence_picks_total{service=\"cart\"}"], 1.0);
}

/// A counter that falls is taken for a process that began anew.
#[tokio::test(start_paused = true)]
async fn counters_do_not_fall_when_one_of_several_balancers_of_a_service_goes() {
    let metrics = Metrics::new();
    let (_first_registry, first) = fleet(&metrics).await;
    let (_second_registry, second) = fleet(&metrics).await;
    for n in 0..100 {
        call(&first, &format!("k{n}"), CallOutcome::Success);
    }
    call(&second, "k", CallOutcome::Success);
    let picks =
        |metrics: &Metrics| series(&metrics.render())["ringfence_picks_total{service=\"order\"}"];
    assert_eq!(picks(&metrics), 101.0);
    drop(first);
    assert_eq!(picks(&metrics), 101.0);
    call(&second, "k", CallOutcome::Success);
    assert_eq!(picks(&metrics), 102.0);
    drop(second);
    assert!(!metrics.render().contains("order"));
    let (_registry, balancer) = fleet(&metrics).await;
    call(&balancer, "k", CallOutcome::Success);
    assert_eq!(picks(&metrics), 1.0, "the service was gone");
}

#[tokio::test(start_paused = true)]
async fn other_names_are_there_where_they_are_wanted() {
    let metrics = Metrics::new().with_aliases();
    let (registry, _balancer) = fleet(&metrics).await;
    registry.register("order", instance(7));
    settle().await;
    let now = series(&metrics.render());
    assert_eq!(now["ring_size{service=\"order\"}"], 640.0);
    assert_eq!(
        now["migration_duration_count{service=\"order\",status=\"ok\"}"],
        1.0
    );
    assert!(!Metrics::new().render().contains("ring_size{"));
}
