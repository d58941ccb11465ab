//! What callers, the status and the log are told when something is wrong.

use std::time::Duration;

use ringfence_balancer::{
    Balancer, BalancerConfig, FailureKind, Outcome, OutlierConfig, PickError, PickRequest,
};
use ringfence_discovery::{Provenance, RejectedRecord, Update};
use ringfence_testkit::{ScriptedDiscovery, Warnings};
use tokio::runtime::{Builder, Runtime};

use crate::support::*;

fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_time().build().expect("a runtime")
}

fn build(source: &ScriptedDiscovery) -> Balancer {
    let builder = Balancer::builder(source.clone(), service());
    builder.build().expect("in a runtime")
}

#[test]
fn a_balancer_without_its_runtime_does_not_look_fresh() {
    let (ended, source) = (runtime(), ScriptedDiscovery::new());
    source.push_instances([instance(1)]);
    let (with_view, without_view) = ended.block_on(async {
        let balancer = build(&source);
        balancer.ready().await.expect("ready");
        let status = balancer.status();
        assert_eq!((status.task_gone, status.stale_for), (false, None));
        (balancer, build(&ScriptedDiscovery::new()))
    });
    drop(ended);
    let status = with_view.status();
    assert!(status.task_gone && status.stale_for.is_some(), "{status:?}");
    assert!(with_view.pick(&PickRequest::new()).is_ok() && with_view.is_ready());
    let picked = without_view.pick(&PickRequest::new()).map(|_| ());
    let waited =
        runtime().block_on(async { [with_view.ready().await, without_view.ready().await] });
    for result in waited.into_iter().chain([picked]) {
        let error = result.expect_err("nobody is there");
        assert!(matches!(error, PickError::TaskGone { .. }), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pick_before_the_first_view_says_what_to_do() {
    let balancer = build(&ScriptedDiscovery::new());
    let error = balancer.pick(&PickRequest::new()).map(|_| ());
    assert_eq!(
        error.expect_err("not ready").to_string(),
        "service order is not ready yet (await `ready()` first)"
    );
    let error = balancer.ready().await.expect_err("never ready");
    let expected = "service order is not ready after 5s; discovery last failed with: scripted: the test says so";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test(start_paused = true)]
async fn rejected_records_are_told_with_the_first_view() {
    let source = ScriptedDiscovery::new();
    let rejected = vec![
        RejectedRecord::new("no address").with_id("x").with_line(4),
        RejectedRecord::new("no id"),
    ];
    let update = Update::instances([], Provenance::live("scripted")).with_rejected(rejected);
    source.push(update);
    let balancer = build(&source);
    balancer.ready().await.expect("ready");
    assert_eq!(balancer.status().watch.rejected.len(), 2);
    let error = balancer.pick(&PickRequest::new()).map(|_| ());
    let error = error.expect_err("nobody is there").to_string();
    let registered = "service order has no instance for the request: none are registered; 2";
    assert!(error.starts_with(registered), "{error}");
    let rejected = "; 2 records rejected, first: line 4: instance \"x\": no address";
    assert!(error.ends_with(rejected), "{error}");
}

#[tokio::test(start_paused = true)]
async fn the_log_tells_that_health_is_ignored_from_the_first_view_on() {
    let warnings = Warnings::capture();
    let sick = [1, 2].map(|n| {
        let sick = instance(n).to_builder().healthy(false);
        sick.build().expect("valid")
    });
    let registry = registry(sick);
    let _balancer = balancer(&registry, BalancerConfig::default()).await;
    let told = warnings.take();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("health ignored"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn the_log_tells_once_that_the_limit_of_ejections_is_reached() {
    let outlier = OutlierConfig::default()
        .with_max_ejection_percent(50)
        .expect("valid");
    let config = BalancerConfig::default().with_outlier(outlier);
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, config).await;
    let keys = ["i0", "i1", "i2", "i3"].map(|id| key_of(&balancer, id));
    let warnings = Warnings::capture();
    // All of one view, so that each key still leads to its owner.
    let candidates: Vec<_> = keys
        .iter()
        .map(|key| {
            let request = PickRequest::new().with_key(key);
            balancer.pick(&request).expect("an owner").first().clone()
        })
        .collect();
    for candidate in &candidates {
        for _ in 0..5 {
            candidate
                .begin()
                .report(Outcome::Failure(FailureKind::Connect));
        }
    }
    settle().await;
    let counters = balancer.status().counters;
    assert_eq!((counters.ejections, counters.ejections_refused), (2, 2));
    let told = warnings.take();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("max_ejection_percent=50"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn the_log_tells_each_time_that_the_retry_budget_begins_to_deny() {
    let registry = registry([instance(1)]);
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    let warnings = Warnings::capture();
    for _ in 0..20 {
        // The floor grants a few each second: that is no end of it.
        assert_eq!((0..100).filter(|_| balancer.try_hop()).count(), 3);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let told = warnings.take();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("retry budget"), "{told:?}");
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!((0..100).filter(|_| balancer.try_hop()).count(), 3);
    assert_eq!(warnings.take().len(), 1);
}
