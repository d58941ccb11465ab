//! Active health checks.

use std::time::Duration;

use ringfence_balancer::{Balancer, BalancerConfig, HealthCheckConfig, PickError, PickRequest};
use ringfence_discovery::MemoryRegistry;
use ringfence_testkit::{ProbeVerdict, ScriptedProbe};

use crate::support::*;

async fn checked(
    registry: &MemoryRegistry,
    probe: &ScriptedProbe,
    checks: HealthCheckConfig,
    config: BalancerConfig,
) -> Balancer {
    let balancer = Balancer::builder(registry.clone(), service())
        .with_config(config)
        .with_health_check(probe.clone(), checks)
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("the registry answers");
    balancer
}

fn checks() -> HealthCheckConfig {
    HealthCheckConfig::default()
}

#[tokio::test(start_paused = true)]
async fn failing_instances_are_left_out_and_come_back_without_any_request() {
    let registry = registry((0..4).map(instance));
    let probe = ScriptedProbe::new();
    let balancer = checked(&registry, &probe, checks(), BalancerConfig::default()).await;
    let before = owners(&balancer, 200);
    let key = key_of(&balancer, "i2");
    let rings = balancer.view().expect("ready");
    seconds(5).await;
    assert_eq!(balancer.status().checked, 4);

    probe.set("i2", ProbeVerdict::Fail);
    seconds(60).await;
    let status = balancer.status();
    assert_eq!(
        (status.failing_checks, status.usable, status.ejected),
        (1, 3, 0)
    );
    for (before, after) in before.iter().zip(owners(&balancer, 200)) {
        assert_eq!(*before == after, before != "i2", "nobody else's keys move");
    }
    let view = balancer.view().expect("ready");
    assert!(std::sync::Arc::ptr_eq(
        rings.whole_ring(),
        view.whole_ring()
    ));
    assert_ne!(owner(&balancer, &key), "i2");

    probe.set("i2", ProbeVerdict::Pass);
    seconds(30).await;
    assert_eq!(owners(&balancer, 200), before);
    let counters = balancer.status().counters;
    assert_eq!((counters.checks_lost, counters.checks_regained), (1, 1));
    assert!(
        counters.checks_failed >= 3 && counters.checks_passed > 20,
        "{counters:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn three_failures_in_a_row_are_needed_whatever_kind_they_are() {
    for verdict in [ProbeVerdict::Fail, ProbeVerdict::Hang, ProbeVerdict::Panic] {
        let registry = registry((0..4).map(instance));
        let probe = ScriptedProbe::new();
        let balancer = checked(&registry, &probe, checks(), BalancerConfig::default()).await;
        probe.set("i1", verdict);
        let asked = probe.asked("i1");
        while balancer.status().failing_checks == 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(probe.asked("i1") - asked, 3, "{verdict:?}");
        let counters = balancer.status().counters;
        let timed_out = u64::from(verdict == ProbeVerdict::Hang) * 3;
        assert_eq!(
            (counters.checks_timed_out, counters.checks_failed),
            (timed_out, 3 - timed_out)
        );
        assert!(!balancer.status().task_gone);
    }
}

/// Checks that come all at once are a load of their own, and each instance is to be asked once in each interval.
#[tokio::test(start_paused = true)]
async fn checks_are_bounded_and_spread_over_the_interval() {
    let registry = registry((0..100).map(instance));
    let probe = ScriptedProbe::new();
    let balancer = checked(&registry, &probe, checks(), BalancerConfig::default()).await;
    // A second, and the grain of the timer.
    tokio::time::sleep(Duration::from_millis(1_010)).await;
    for n in 0..100 {
        assert_eq!(probe.asked(&format!("i{n}")), 1, "soon, and once");
    }
    seconds(20).await;
    let asked = probe.asked_in_all();
    let mut most = 0;
    for _ in 0..100 {
        let before = probe.asked_in_all();
        seconds(1).await;
        most = most.max(probe.asked_in_all() - before);
    }
    let in_all = probe.asked_in_all() - asked;
    assert!((900..=1_100).contains(&in_all), "{in_all}: ten a second");
    assert!(most <= 40, "{most} in one second");

    probe.set_all(ProbeVerdict::Hang);
    seconds(60).await;
    assert_eq!(probe.most_alive(), 16);
    // Too slow for the interval, and yet it is everybody's turn.
    for n in 0..100 {
        let id = format!("i{n}");
        let asked = probe.asked_at(&id);
        let last = asked.last().expect("asked").elapsed();
        assert!(last <= Duration::from_secs(25), "{id}: {last:?}");
    }
    drop(balancer);
    settle().await;
    assert_eq!(probe.alive(), 0, "checks end with their owner");
}

#[tokio::test(start_paused = true)]
async fn instances_that_left_or_are_drained_are_not_checked() {
    let registry = registry((0..4).map(instance));
    let probe = ScriptedProbe::new();
    let balancer = checked(&registry, &probe, checks(), BalancerConfig::default()).await;
    probe.set("i0", ProbeVerdict::Hang);
    seconds(15).await;
    registry.deregister(service(), "i0");
    registry.register(service(), weighted(1, 0));
    settle().await;
    assert_eq!(balancer.status().checked, 2);
    assert_eq!(probe.alive(), 0, "a check under way is broken off");
    let asked = [probe.asked("i0"), probe.asked("i1")];
    let others = probe.asked("i2");
    seconds(60).await;
    assert_eq!([probe.asked("i0"), probe.asked("i1")], asked);
    assert!(probe.asked("i2") > others + 4);

    // Whoever comes back starts anew.
    registry.register(service(), instance(0));
    registry.register(service(), instance(1));
    merged().await;
    assert_eq!(balancer.status().failing_checks, 0);
    seconds(2).await;
    assert_eq!(probe.asked("i1"), asked[1] + 1);
}

#[tokio::test(start_paused = true)]
async fn a_new_instance_is_used_at_once_or_after_a_pass_as_it_was_set() {
    for require in [false, true] {
        let registry = registry((0..3).map(instance));
        let probe = ScriptedProbe::new();
        let checks = checks().with_require_pass(require);
        let balancer = checked(&registry, &probe, checks, BalancerConfig::default()).await;
        seconds(2).await;
        assert_eq!(balancer.status().usable, 3);
        probe.set("i3", ProbeVerdict::Hang);
        registry.register(service(), instance(3));
        merged().await;
        let unchecked = usize::from(require);
        assert_eq!(balancer.status().awaiting_check, unchecked);
        assert_eq!(balancer.status().failing_checks, 0);
        assert_eq!(balancer.status().usable, 4 - unchecked);
        registry.register(service(), instance(4));
        merged().await;
        seconds(1).await;
        assert_eq!(
            balancer.status().usable,
            5 - unchecked,
            "one pass was enough"
        );
        probe.set("i3", ProbeVerdict::Pass);
        seconds(40).await;
        assert_eq!(balancer.status().usable, 5);
    }
}

/// Were they counted, the pool would be in panic, and they would get the requests that they are to be spared.
#[tokio::test(start_paused = true)]
async fn new_instances_that_never_pass_are_as_if_they_were_not_there() {
    let registry = registry((0..3).map(instance));
    let probe = ScriptedProbe::new();
    let checks = checks().with_require_pass(true);
    let balancer = checked(&registry, &probe, checks, BalancerConfig::default()).await;
    seconds(2).await;
    for n in 3..13 {
        probe.set(&format!("i{n}"), ProbeVerdict::Fail);
        registry.register(service(), instance(n));
    }
    merged().await;
    for _ in 0..10 {
        let status = balancer.status();
        assert_eq!((status.usable, status.awaiting_check), (3, 10));
        assert_eq!((status.pools_in_panic, status.failing_checks), (0, 0));
        for n in 0..200 {
            let owner = owner(&balancer, &format!("key-{n}"));
            assert!(["i0", "i1", "i2"].contains(&&*owner), "{owner}");
        }
        seconds(10).await;
    }
    // Once it has passed it is like any other.
    probe.set("i3", ProbeVerdict::Pass);
    seconds(40).await;
    assert_eq!(balancer.status().usable, 4);
    probe.set("i3", ProbeVerdict::Fail);
    seconds(60).await;
    assert_eq!(balancer.status().failing_checks, 1);
}

/// Tags, weights and the registry's health change; what the checks know of the instance stays.
#[tokio::test(start_paused = true)]
async fn a_changed_record_keeps_what_its_checks_came_to() {
    let registry = registry((0..4).map(instance));
    let probe = ScriptedProbe::new();
    let balancer = checked(&registry, &probe, checks(), BalancerConfig::default()).await;
    probe.set("i2", ProbeVerdict::Fail);
    seconds(60).await;
    registry.register(service(), weighted(2, 300));
    merged().await;
    let status = balancer.status();
    assert_eq!((status.failing_checks, status.checked), (1, 4));
}

/// 4 hosts, 0 to 4 out by their checks, thresholds 0, 50 and 100 (B41).
#[tokio::test(start_paused = true)]
async fn with_too_few_passing_the_checks_are_ignored() {
    for (threshold, served) in [(0, [4, 3, 2, 1, 0]), (50, [4, 3, 2, 4, 4]), (100, [4; 5])] {
        for (out, served) in served.into_iter().enumerate() {
            let registry = registry((0..4).map(instance));
            let probe = ScriptedProbe::new();
            let config = BalancerConfig::default().with_panic_threshold(threshold);
            let balancer = checked(&registry, &probe, checks(), config.expect("legal")).await;
            let before = owners(&balancer, 100);
            for n in 0..out {
                probe.set(&format!("i{n}"), ProbeVerdict::Fail);
            }
            seconds(60).await;
            let request = |n| PickRequest::new().with_key(key(n).leak());
            if served == 0 {
                let error = balancer.pick(&request(0)).map(|_| ()).expect_err("nobody");
                assert!(matches!(error, PickError::NoInstances { .. }), "{error}");
                continue;
            }
            let mut after = owners(&balancer, 100);
            let in_panic = out > 0 && served == 4;
            assert_eq!(
                balancer.status().pools_in_panic > 0,
                in_panic,
                "{threshold} {out}"
            );
            assert_eq!(
                after == before,
                served == 4,
                "no key moves in panic: {threshold} {out}"
            );
            after.sort_unstable();
            after.dedup();
            assert_eq!(after.len(), served, "{threshold} {out}");
        }
    }
}
