//! Flap damping of a running balancer.

use std::time::Duration;

use ringfence_balancer::{Balancer, BalancerConfig, FlapDampingConfig, HealthCheckConfig};
use ringfence_core::Instance;
use ringfence_testkit::{ProbeVerdict, ScriptedProbe};

use crate::support::*;

fn config() -> BalancerConfig {
    BalancerConfig::default().with_flap_damping(FlapDampingConfig::default())
}

fn unhealthy(n: usize) -> Instance {
    let healthy = instance(n);
    Instance::builder(healthy.id().as_str(), healthy.address().to_string())
        .healthy(false)
        .build()
        .expect("valid")
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_returns_is_used_once_it_is_back_for_long_enough() {
    for by_health in [false, true] {
        let registry = registry((0..4).map(instance));
        let balancer = balancer(&registry, config()).await;
        let before = owners(&balancer, 100);
        if by_health {
            registry.register(service(), unhealthy(2));
        } else {
            registry.deregister(service(), "i2");
        }
        seconds(10).await;
        registry.register(service(), instance(2));
        merged().await;
        let status = balancer.status();
        assert_eq!((status.damped, status.usable), (1, 3), "{by_health}");
        assert!(owners(&balancer, 100).iter().all(|id| id != "i2"));
        seconds(4).await;
        assert_eq!(balancer.status().damped, 1);
        seconds(1).await;
        assert_eq!(balancer.status().damped, 0, "without any event");
        assert_eq!(owners(&balancer, 100), before);
        let counters = balancer.status().counters;
        let lost = (counters.instances_removed, counters.health_lost);
        assert_eq!(lost, if by_health { (0, 1) } else { (1, 0) });
        let came = (counters.instances_added, counters.health_regained);
        assert_eq!(came, if by_health { (0, 1) } else { (1, 0) });
        assert_eq!((counters.flaps, counters.damped), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn new_and_drained_instances_are_not_delayed() {
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, config()).await;
    registry.register(service(), instance(7));
    registry.register(service(), weighted(1, 0));
    merged().await;
    registry.register(service(), instance(1));
    merged().await;
    let status = balancer.status();
    assert_eq!(
        (status.usable, status.damped, status.counters.flaps),
        (5, 0, 0)
    );
}

/// An instance whose lease lapses once a second (B02, B10): it costs its keys two moves, not two a second.
#[tokio::test(start_paused = true)]
async fn a_flapper_changes_state_once_and_not_with_each_flap() {
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, config()).await;
    let before = owners(&balancer, 100);
    let mut moves = 0;
    let mut last = before.clone();
    for _ in 0..120 {
        registry.register(service(), unhealthy(3));
        tokio::time::sleep(Duration::from_millis(500)).await;
        registry.register(service(), instance(3));
        tokio::time::sleep(Duration::from_millis(500)).await;
        let owners = owners(&balancer, 100);
        moves += usize::from(owners != last);
        last = owners;
    }
    assert_eq!(moves, 1, "it left, once");
    let status = balancer.status();
    assert_eq!((status.damped, status.suppressed), (1, 1));
    assert_eq!(status.counters.flaps, 120);
    seconds(61).await;
    assert_eq!(
        owners(&balancer, 100),
        before,
        "a minute after the last flap"
    );
    assert_eq!(balancer.status().suppressed, 0);
}

#[tokio::test(start_paused = true)]
async fn with_all_flapping_enough_are_used() {
    for (threshold, least) in [(0, 1), (50, 4), (100, 8)] {
        let registry = registry((0..8).map(instance));
        let config = config().with_panic_threshold(threshold).expect("legal");
        let balancer = balancer(&registry, config).await;
        for _ in 0..5 {
            for health in [false, true] {
                let fleet = (0..8).map(|n| if health { instance(n) } else { unhealthy(n) });
                registry.replace(service(), fleet);
                merged().await;
            }
            let status = balancer.status();
            assert_eq!(
                (status.usable, status.damped),
                (least, 8 - least),
                "{threshold}"
            );
            assert_eq!(status.pools_in_panic, 0, "{threshold}");
        }
        seconds(66).await;
        assert_eq!(balancer.status().usable, 8);
    }
}

#[tokio::test(start_paused = true)]
async fn passing_checks_again_is_a_return() {
    let registry = registry((0..4).map(instance));
    let probe = ScriptedProbe::new();
    let checks = HealthCheckConfig::default()
        .with_times(Duration::from_secs(1), Duration::from_millis(500))
        .expect("legal");
    let balancer = Balancer::builder(registry.clone(), service())
        .with_config(config())
        .with_health_check(probe.clone(), checks)
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("ready");
    probe.set("i1", ProbeVerdict::Fail);
    seconds(6).await;
    assert_eq!(
        (balancer.status().failing_checks, balancer.status().damped),
        (1, 0)
    );
    probe.set("i1", ProbeVerdict::Pass);
    while balancer.status().failing_checks == 1 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!((balancer.status().damped, balancer.status().usable), (1, 3));
    seconds(5).await;
    settle().await;
    assert_eq!((balancer.status().damped, balancer.status().usable), (0, 4));
}
