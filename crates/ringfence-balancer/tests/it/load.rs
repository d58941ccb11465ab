use std::time::Duration;

use ringfence_balancer::{Balancer, BalancerConfig, FailureKind, Outcome, PickRequest};
use ringfence_core::RequestTags;

use crate::support::*;

fn load(balancer: &Balancer, key: &str) -> u64 {
    let request = PickRequest::new().with_key(key);
    balancer.pick(&request).expect("one").first().in_flight()
}

/// Callers that hang up leave no count behind, and a late end does not hit a successor (B04).
#[tokio::test(start_paused = true)]
async fn counts_end_with_their_attempts_and_never_go_below_zero() {
    let registry = registry((1..=2).map(instance));
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    let key = key_of(&balancer, "i1");
    let hung_up: Vec<_> = (0..64)
        .map(|_| {
            let attempt = begin(&balancer, &key);
            tokio::spawn(async move {
                let _attempt = attempt;
                std::future::pending::<()>().await;
            })
        })
        .collect();
    assert_eq!(load(&balancer, &key), 64);
    for caller in &hung_up {
        caller.abort();
    }
    settle().await;
    assert_eq!(load(&balancer, &key), 0);
    assert_eq!(owner(&balancer, &key), "i1");

    // A request outlives its instance, which comes back meanwhile.
    let running = begin(&balancer, &key);
    registry.deregister(service(), "i1");
    settle().await;
    assert_eq!(owner(&balancer, &key), "i2");
    assert_eq!(balancer.status().nodes, 2);
    registry.register(service(), instance(1));
    merged().await;
    drop(running);
    assert_eq!(load(&balancer, &key), 0);
}

#[tokio::test(start_paused = true)]
async fn failures_are_counted_by_their_kind() {
    let registry = registry((1..=2).map(instance));
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    for (times, kind) in [
        (1, FailureKind::Connect),
        (2, FailureKind::Timeout),
        (3, FailureKind::Reset),
        (4, FailureKind::Status),
    ] {
        for _ in 0..times {
            begin(&balancer, "k").report(Outcome::Failure(kind));
        }
    }
    begin(&balancer, "k").report(Outcome::Success);
    begin(&balancer, "k").report(Outcome::Neutral);
    let counters = balancer.status().counters;
    assert_eq!(
        (counters.failures_connect, counters.failures_timeout),
        (1, 2)
    );
    assert_eq!((counters.failures_reset, counters.failures_status), (3, 4));
}

#[tokio::test(start_paused = true)]
async fn a_decision_tells_its_pool() {
    let gray = instance(2).to_builder().version("gray").build();
    let registry = registry([instance(1), gray.expect("valid")]);
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    let pool = |version: &str| {
        let tags = RequestTags::new().with_version(version);
        let decision = balancer.pick(&PickRequest::new().with_tags(&tags));
        decision.expect("one").pool().to_string()
    };
    for _ in 0..2 {
        assert_eq!(pool("gray"), "version=gray, gray absent, tenant absent");
        assert_eq!(
            pool("v7"),
            "version!=canary|gray, gray absent, tenant absent"
        );
        merged().await; // Prepared by now, and all the same.
    }
}

#[tokio::test(start_paused = true)]
async fn the_retry_budget_is_shared_by_all_handles() {
    let registry = registry((1..=2).map(instance));
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    let clone = balancer.clone();
    for n in 0..1_000 {
        owner(if n % 2 == 0 { &balancer } else { &clone }, "k");
    }
    let hops = (0..2_000)
        .filter(|n| if n % 2 == 0 { &balancer } else { &clone }.try_hop())
        .count();
    assert_eq!(hops, 203);
    let counters = balancer.status().counters;
    assert_eq!((counters.hops_granted, counters.hops_denied), (203, 1_797));
    // Old requests earn nothing.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((0..100).filter(|_| balancer.try_hop()).count(), 3);
}
