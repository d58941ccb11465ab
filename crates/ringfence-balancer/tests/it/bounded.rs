//! Bounded load, with real counts of requests in flight.

use std::collections::HashMap;

use ringfence_balancer::{Balancer, BalancerConfig, InFlight, PickRequest};
use ringfence_core::Health;

use crate::support::*;

fn config(percent: u32) -> BalancerConfig {
    let config = BalancerConfig::default().with_hash_balance_factor(percent);
    config.expect("in range")
}

fn ids(balancer: &Balancer, key: &str) -> Vec<String> {
    let decision = balancer.pick(&PickRequest::new().with_key(key));
    let decision = decision.expect("has instances");
    let ids = decision.candidates().map(|c| c.instance().id().to_string());
    ids.collect()
}

fn loads(running: &[InFlight]) -> HashMap<&str, usize> {
    let mut loads = HashMap::new();
    for attempt in running {
        *loads.entry(attempt.instance().id().as_str()).or_insert(0) += 1;
    }
    loads
}

/// A hot key, whose callers then hang up (B04).
#[tokio::test(start_paused = true)]
async fn a_hot_key_is_spread_and_comes_home_when_its_requests_are_dropped() {
    let registry = registry((0..10).map(instance));
    let balancer = balancer(&registry, config(125)).await;
    let order = ids(&balancer, "hot");
    assert_eq!(order.len(), 3);
    let running: Vec<_> = (0..100).map(|_| begin(&balancer, "hot")).collect();
    let loads = loads(&running);
    assert_eq!(loads.values().sum::<usize>(), 100);
    assert!(loads.values().all(|load| *load <= 13), "{loads:?}");
    assert_eq!(loads[order[0].as_str()], 13, "{loads:?}");

    let decision = balancer.pick(&PickRequest::new().with_key("hot"));
    let decision = decision.expect("one");
    assert!(decision.is_overflow() && decision.candidates().len() == 3);
    let spread = ids(&balancer, "hot");
    // The owner stays next in the order of failover, and the rest of the walk behind it.
    assert_eq!(spread[1..], order[..2]);
    assert!(balancer.status().counters.picks_overflow > 80);

    drop(running);
    assert_eq!(ids(&balancer, "hot"), order);
}

#[tokio::test(start_paused = true)]
async fn keys_of_others_stay_and_weights_count() {
    let registry = registry((0..10).map(|n| weighted(n, if n == 0 { 500 } else { 100 })));
    let balancer = balancer(&registry, config(150)).await;
    let hot = key_of(&balancer, "i0");
    let before = owners(&balancer, 500);
    let running: Vec<_> = (0..56).map(|_| begin(&balancer, &hot)).collect();
    // 500 of 1,400 parts of 56, and half as much again.
    assert_eq!(loads(&running)["i0"], 30);
    let loads = loads(&running);
    let after = owners(&balancer, 500);
    let mut stayed = 0;
    for (before, after) in before.iter().zip(&after) {
        if !loads.contains_key(before.as_str()) {
            assert_eq!(before, after);
            stayed += 1;
        }
    }
    assert!(stayed > 20, "{stayed}");
}

#[tokio::test(start_paused = true)]
async fn without_a_factor_the_owner_takes_whatever_comes() {
    let registry = registry((0..10).map(instance));
    let balancer = balancer(&registry, config(0)).await;
    let running: Vec<_> = (0..100).map(|_| begin(&balancer, "hot")).collect();
    assert_eq!(loads(&running).len(), 1);
    assert_eq!(balancer.status().counters.picks_overflow, 0);
}

#[tokio::test(start_paused = true)]
async fn one_instance_alone_takes_everything() {
    let sick = instance(2).to_builder().health(Health::Unhealthy).build();
    let registry = registry([instance(1), sick.expect("valid")]);
    let balancer = balancer(&registry, config(101)).await;
    let running: Vec<_> = (0..100).map(|_| begin(&balancer, "hot")).collect();
    assert_eq!(loads(&running), HashMap::from([("i1", 100)]));
}

/// Counts that change under many threads: everyone is served, and the bound holds up to the picks that are under way.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn threads_that_race_are_all_served_near_the_bound() {
    let registry = registry((0..10).map(instance));
    let balancer = balancer(&registry, config(125)).await;
    let running: Vec<InFlight> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    (0..250)
                        .map(|_| begin(&balancer, "hot"))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let joined = threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("no panic"));
        joined.collect()
    });
    assert_eq!(running.len(), 1_000);
    let loads = loads(&running);
    assert!(loads.values().all(|load| *load <= 125 + 4), "{loads:?}");
}
