use std::time::Duration;

use ringfence_balancer::BalancerConfig;

use crate::support::*;

async fn sleep(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_additions_makes_one_view() {
    let registry = registry([instance(0)]);
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    for n in 1..=20 {
        registry.register(service(), instance(n));
        sleep(10).await;
    }
    assert_eq!(balancer.status().epoch, 1);
    sleep(200).await;
    let status = balancer.status();
    assert_eq!((status.epoch, status.instances), (2, 21));
    assert_eq!(status.counters.snapshots_merged, 19);
}

#[tokio::test(start_paused = true)]
async fn a_trickle_waits_at_most_two_seconds() {
    let registry = registry([instance(0)]);
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    for n in 1..=13 {
        registry.register(service(), instance(n));
        sleep(150).await;
    }
    assert_eq!(balancer.status().epoch, 1);
    for n in 14..=15 {
        registry.register(service(), instance(n));
        sleep(150).await;
    }
    assert_eq!(balancer.status().epoch, 2);
}

#[tokio::test(start_paused = true)]
async fn a_removal_inside_the_window_takes_the_rest_with_it() {
    let registry = registry((0..3).map(instance));
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    registry.register(service(), instance(9));
    settle().await;
    assert_eq!(balancer.status().instances, 3);
    registry.deregister(service(), "i0");
    settle().await;
    let status = balancer.status();
    assert_eq!((status.epoch, status.instances), (2, 3));
    assert!(owners(&balancer, 200).iter().any(|id| id == "i9"));
    sleep(3_000).await;
    assert_eq!(balancer.status().epoch, 2, "nothing is left over");
}

#[tokio::test(start_paused = true)]
async fn drains_disabling_and_health_do_not_wait_but_weights_do() {
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    registry.set_weight(service(), "i0", 0).expect("there");
    settle().await;
    assert_eq!(balancer.status().usable, 3);
    registry.set_enabled(service(), "i1", false).expect("there");
    settle().await;
    assert_eq!(balancer.status().usable, 2);
    registry
        .set_health(service(), "i2", ringfence_core::Health::Unhealthy)
        .expect("there");
    settle().await;
    assert_eq!(balancer.status().usable, 1);
    let epoch = balancer.status().epoch;
    registry.set_weight(service(), "i3", 50).expect("there");
    registry.set_weight(service(), "i0", 100).expect("there");
    settle().await;
    assert_eq!(balancer.status().epoch, epoch);
    sleep(250).await;
    assert_eq!(balancer.status().epoch, epoch + 1);
}
