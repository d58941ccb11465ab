//! New instances get their weight in steps.

use std::time::Duration;

use ringfence_balancer::{Balancer, BalancerConfig, SlowStartConfig};
use ringfence_core::Fingerprint;
use tokio::time::sleep;

use crate::support::*;

fn config() -> BalancerConfig {
    let slow_start = SlowStartConfig::default().with_window(Duration::from_secs(100));
    BalancerConfig::default().with_slow_start(slow_start.expect("in range"))
}

fn ring_weight(balancer: &Balancer, id: &str) -> u32 {
    let view = balancer.view().expect("ready");
    let place = view.snapshot().index_of(id).expect("it is there");
    let own = view.snapshot().instances()[place].weight().get();
    assert_eq!(own, 100, "what the registry said stays");
    view.snapshot()
        .ring_weight(u32::try_from(place).expect("few"))
}

fn fingerprint(balancer: &Balancer) -> Option<Fingerprint> {
    balancer.status().fingerprint
}

#[tokio::test(start_paused = true)]
async fn a_new_instance_takes_its_share_step_by_step_and_from_others_alone() {
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, config()).await;
    assert_eq!(
        balancer.status().starting_slowly,
        0,
        "the first are not new"
    );
    registry.register(service(), instance(9));
    merged().await;
    assert_eq!(balancer.status().starting_slowly, 1);
    let first = balancer.status().epoch;
    let mut before = owners(&balancer, 1_000);
    let mut shares = Vec::new();
    for _ in 0..11 {
        let after = owners(&balancer, 1_000);
        for (before, after) in before.iter().zip(&after) {
            assert!(before == after || after == "i9", "{before} -> {after}");
        }
        shares.push((
            ring_weight(&balancer, "i9"),
            after.iter().filter(|id| *id == "i9").count(),
        ));
        before = after;
        sleep(Duration::from_secs(10)).await;
    }
    let weights: Vec<u32> = shares.iter().map(|(weight, _)| *weight).collect();
    assert_eq!(weights, [10, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    // 10 of 410, and 100 of 500.
    assert!(shares[0].1 < 60 && shares[10].1 > 150, "{shares:?}");
    assert_eq!(balancer.status().starting_slowly, 0);
    assert!(
        balancer.status().epoch - first <= 10,
        "a ring for each step at most"
    );
    let plain = crate::support::balancer(&registry, BalancerConfig::default()).await;
    assert_eq!(fingerprint(&balancer), fingerprint(&plain));
}

#[tokio::test(start_paused = true)]
async fn one_that_is_back_soon_goes_on_where_it_was() {
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, config()).await;
    registry.register(service(), instance(9));
    merged().await;
    sleep(Duration::from_secs(60)).await;
    let grown = ring_weight(&balancer, "i9");
    assert!(grown >= 50, "{grown}");
    for id in ["i9", "i1"] {
        registry.deregister(service(), id);
        settle().await;
        registry.register(service(), instance(if id == "i9" { 9 } else { 1 }));
        merged().await;
    }
    assert!(ring_weight(&balancer, "i9") >= grown);
    assert_eq!(ring_weight(&balancer, "i1"), 100, "an old one is not new");

    registry.deregister(service(), "i1");
    settle().await;
    sleep(Duration::from_secs(31)).await;
    registry.register(service(), instance(1));
    merged().await;
    assert_eq!(
        ring_weight(&balancer, "i1"),
        10,
        "this one may be another process"
    );
}

#[tokio::test(start_paused = true)]
async fn a_change_of_others_does_not_disturb_it_and_many_share_their_steps() {
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, config()).await;
    let first = balancer.status().epoch;
    for n in 10..60 {
        registry.register(service(), instance(n));
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(balancer.status().starting_slowly, 50);
    assert!(ring_weight(&balancer, "i10") >= 40);
    sleep(Duration::from_secs(150)).await;
    assert_eq!(balancer.status().starting_slowly, 0);
    assert_eq!(ring_weight(&balancer, "i59"), 100);
    // One for each that came, and ten in each of the two windows that this took.
    let views = balancer.status().epoch - first;
    assert!(views <= 50 + 20, "{views}");
}
