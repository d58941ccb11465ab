//! Series are few, and go (B63).

use ringfence_balancer::{CallOutcome, PickRequest};
use ringfence_core::RequestTags;
use ringfence_metrics::Metrics;

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
            call.decided(&decision, None);
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
