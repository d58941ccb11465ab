use std::time::Duration;

use ringfence_balancer::{
    Balancer, BalancerConfig, FailureKind, Outcome, OutlierConfig, PickRequest,
};

use crate::support::*;

fn config(percent: u32) -> BalancerConfig {
    let outlier = OutlierConfig::default()
        .with_max_ejection_percent(percent)
        .expect("valid");
    BalancerConfig::default().with_outlier(outlier)
}

#[tokio::test(start_paused = true)]
async fn an_ejection_moves_only_the_keys_of_the_ejected_and_they_come_home() {
    let registry = registry((0..10).map(instance));
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    let before = owners(&balancer, 1_000);
    let view = balancer.view().expect("ready");
    let key = key_of(&balancer, "i4");
    let second = balancer
        .pick(&PickRequest::new().with_key(&key))
        .expect("one")
        .candidates()
        .nth(1)
        .expect("a second one")
        .instance()
        .id()
        .to_string();
    fail(&balancer, &key, 5);
    settle().await;
    assert_eq!(owner(&balancer, &key), second, "the next one clockwise");
    for (before, after) in before.iter().zip(owners(&balancer, 1_000)) {
        assert_eq!(*before == after, before != "i4");
    }
    let ejected = balancer.view().expect("ready");
    assert!(std::sync::Arc::ptr_eq(
        view.whole_ring(),
        ejected.whole_ring()
    ));
    let status = balancer.status();
    assert_eq!((status.ejected, status.usable), (1, 9));
    seconds(34).await;
    assert_eq!(owners(&balancer, 1_000), before);
    assert_eq!(balancer.status().ejected, 0);
}

/// Callers that go away must not make a healthy instance look dead (B18).
#[tokio::test(start_paused = true)]
async fn callers_that_give_up_eject_nobody_but_timeouts_do() {
    let registry = registry((0..3).map(instance));
    let balancer = balancer(&registry, config(50)).await;
    let key = key_of(&balancer, "i1");
    for n in 0..100 {
        let mut attempt = begin(&balancer, &key);
        if n % 2 == 0 {
            attempt.report(Outcome::Neutral);
        }
    }
    settle().await;
    assert_eq!(balancer.status().counters.ejections, 0);
    for _ in 0..5 {
        begin(&balancer, &key).report(Outcome::Failure(FailureKind::Timeout));
    }
    settle().await;
    assert_ne!(owner(&balancer, &key), "i1");
}

/// Failures go on being counted after an ejection, and its length grows only so far (B56).
#[tokio::test(start_paused = true)]
async fn it_is_ejected_again_and_again_for_longer_up_to_the_maximum() {
    let registry = registry((0..3).map(instance));
    let balancer = balancer(&registry, config(50)).await;
    let key = key_of(&balancer, "i1");
    let mut last = Duration::ZERO;
    for round in 1..=20_u32 {
        assert_eq!(owner(&balancer, &key), "i1");
        fail(&balancer, &key, if round == 1 { 64 } else { 5 });
        settle().await;
        let start = tokio::time::Instant::now();
        while owner(&balancer, &key) != "i1" {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let length = start.elapsed();
        let base = (Duration::from_secs(30) * round).min(Duration::from_secs(300));
        assert!(length >= base.mul_f64(0.89), "round {round}: {length:?}");
        assert!(length <= base.mul_f64(1.11), "round {round}: {length:?}");
        assert!(
            length <= Duration::from_secs(301),
            "round {round}: {length:?}"
        );
        assert!(round > 8 || length > last, "round {round}: {length:?}");
        last = length;
    }
    assert_eq!(balancer.status().counters.ejections, 20);
    // It proves itself: one step each 30 s with at least 5 successes.
    for _ in 0..25 {
        for _ in 0..5 {
            begin(&balancer, &key).report(Outcome::Success);
        }
        seconds(31).await;
    }
    fail(&balancer, &key, 5);
    seconds(35).await;
    assert_eq!(owner(&balancer, &key), "i1", "30 s again");
}

#[tokio::test(start_paused = true)]
async fn late_results_neither_end_an_ejection_nor_begin_one() {
    let registry = registry((0..3).map(instance));
    let balancer = balancer(&registry, config(50)).await;
    let key = key_of(&balancer, "i1");
    let old: Vec<_> = (0..20).map(|_| begin(&balancer, &key)).collect();
    fail(&balancer, &key, 5);
    settle().await;
    seconds(10).await;
    let mut old = old.into_iter();
    for mut attempt in old.by_ref().take(5) {
        attempt.report(Outcome::Success);
    }
    settle().await;
    assert_eq!(balancer.status().ejected, 1);
    seconds(25).await;
    assert_eq!(balancer.status().ejected, 0);
    for mut attempt in old {
        attempt.report(Outcome::Failure(FailureKind::Reset));
    }
    settle().await;
    assert_eq!(balancer.status().ejected, 0);
    assert_eq!(balancer.status().counters.ejections, 1);
}

/// The share is exact, the last one stays, and a report of an ejected one uses nothing up (B19).
#[tokio::test(start_paused = true)]
async fn the_limits_hold_and_the_refused_get_their_turn() {
    let registry = registry((0..10).map(instance));
    let outlier = OutlierConfig::default().with_always_eject_one(false);
    let config = BalancerConfig::default().with_outlier(outlier);
    let balancer = balancer(&registry, config).await;
    let keys: Vec<_> = (0..10)
        .map(|n| key_of(&balancer, &format!("i{n}")))
        .collect();
    let attempts: Vec<_> = keys.iter().map(|key| begin(&balancer, key)).collect();
    drop(attempts);
    for key in &keys {
        let mut attempts: Vec<_> = (0..64).map(|_| begin(&balancer, key)).collect();
        for attempt in &mut attempts {
            attempt.report(Outcome::Failure(FailureKind::Status));
        }
    }
    settle().await;
    let status = balancer.status();
    assert_eq!((status.ejected, status.counters.ejections), (1, 1));
    assert!(status.counters.ejections_refused <= 9, "asked once each");
    // When the ejection is over there is room for another one that still fails.
    seconds(34).await;
    assert_eq!(balancer.status().ejected, 0);
    fail(&balancer, &keys[7], 1);
    settle().await;
    assert_eq!(balancer.status().ejected, 1);

    // The pool shrinks below ten: one of nine is more than 10 %.
    registry.deregister(service(), "i0");
    settle().await;
    assert_eq!(balancer.status().ejected, 0);
}

/// Calls an instance of the request, then the next ones while the retry budget allows; false if all that were asked are down.
fn call(balancer: &Balancer, key: &str, down: &str) -> bool {
    let request = PickRequest::new().with_key(key);
    let decision = balancer.pick(&request).expect("has candidates");
    for (attempt, candidate) in decision.into_iter().enumerate() {
        if attempt > 0 && !balancer.try_hop() {
            return false;
        }
        let mut attempt = candidate.begin();
        if candidate.instance().id().as_str() != down {
            attempt.report(Outcome::Success);
            return true;
        }
        attempt.report(Outcome::Failure(FailureKind::Connect));
    }
    false
}

/// A share of 10 % of four instances is none, while a budget of 20 % is less than what an instance of four owns.
#[tokio::test(start_paused = true)]
async fn a_long_outage_of_one_of_four_fails_no_call_at_steady_load() {
    fastrand::seed(7);
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    let down = largest_owner(&balancer);
    for n in 0..30_000 {
        assert!(call(&balancer, &key(n % 1_000), &down), "call {n}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let counters = balancer.status().counters;
    assert_eq!(counters.hops_denied, 0, "{counters:?}");
    assert!(counters.ejections >= 3, "it came back and failed again");
    assert!(counters.hops_granted < 100, "{counters:?}");
}

fn largest_owner(balancer: &Balancer) -> String {
    let owners = owners(balancer, 1_000);
    let share = |id: &String| owners.iter().filter(|owner| *owner == id).count();
    let largest = owners.iter().max_by_key(|id| share(id));
    assert!(largest.is_some_and(|id| share(id) > 250));
    largest.cloned().expect("there are owners")
}

#[tokio::test(start_paused = true)]
async fn the_only_instance_is_never_ejected() {
    let registry = registry([instance(1)]);
    let balancer = balancer(&registry, config(100)).await;
    fail(&balancer, "k", 1_000);
    settle().await;
    assert_eq!(owner(&balancer, "k"), "i1");
    assert_eq!(balancer.status().ejected, 0);
}

/// In panic the owner stays the owner, and nobody is remapped (B41).
#[tokio::test(start_paused = true)]
async fn with_most_instances_out_the_normal_ring_serves() {
    let registry = registry((0..4).map(instance));
    let balancer = balancer(&registry, config(75)).await;
    let before = owners(&balancer, 500);
    let keys = ["i0", "i1", "i2"].map(|id| key_of(&balancer, id));
    for (ejected, key) in (1..).zip(&keys) {
        fail(&balancer, key, 5);
        settle().await;
        assert_eq!(balancer.status().ejected, ejected);
    }
    assert_eq!(owners(&balancer, 500), before);
    let status = balancer.status();
    assert_eq!(status.pools_in_panic, 1);
    assert_eq!(status.counters.picks_in_panic, 500);
}

#[tokio::test(start_paused = true)]
async fn an_ejection_survives_updates_and_a_return() {
    let registry = registry((0..3).map(instance));
    let balancer = balancer(&registry, config(50)).await;
    let key = key_of(&balancer, "i1");
    fail(&balancer, &key, 5);
    settle().await;
    registry.set_weight(service(), "i1", 90).expect("there");
    merged().await;
    assert_ne!(owner(&balancer, &key), "i1");
    registry.deregister(service(), "i1");
    settle().await;
    assert_eq!(balancer.status().nodes, 2);
    registry.register(service(), instance(1));
    merged().await;
    assert_ne!(owner(&balancer, &key), "i1");
    seconds(34).await;
    assert_eq!(owner(&balancer, &key), "i1");
}

#[tokio::test(start_paused = true)]
async fn who_was_disabled_while_ejected_is_not_ejected_for_ever() {
    for away in [10, 60, 400, 4_000] {
        let registry = registry((0..3).map(instance));
        let balancer = balancer(&registry, config(50)).await;
        let key = key_of(&balancer, "i1");
        fail(&balancer, &key, 5);
        settle().await;
        registry.set_enabled(service(), "i1", false).expect("there");
        seconds(away).await;
        registry.set_enabled(service(), "i1", true).expect("there");
        seconds(34).await;
        assert_eq!(owner(&balancer, &key), "i1", "after {away} s");
        assert_eq!(balancer.status().ejected, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn each_cause_can_be_switched_off() {
    let streaks = OutlierConfig::off().with_consecutive_failures(5);
    let connects = OutlierConfig::off().with_consecutive_connect_failures(3);
    for (config, failures, is_out) in [
        (OutlierConfig::off(), 100, false),
        (streaks, 4, false),
        (streaks, 5, true),
        (connects, 2, false),
        (connects, 3, true),
    ] {
        let outlier = config.with_max_ejection_percent(100).expect("valid");
        let registry = registry((0..3).map(instance));
        let balancer = balancer(&registry, BalancerConfig::default().with_outlier(outlier)).await;
        let key = key_of(&balancer, "i1");
        fail(&balancer, &key, failures);
        settle().await;
        assert_eq!(owner(&balancer, &key) != "i1", is_out, "{config:?}");
        let counters = balancer.status().counters;
        let by_cause = (
            counters.ejections_by_failures,
            counters.ejections_by_connect_failures,
        );
        let is_connects = config.consecutive_connect_failures() > 0;
        let expected = (is_out && !is_connects, is_out && is_connects);
        assert_eq!(by_cause, (u64::from(expected.0), u64::from(expected.1)));
        assert_eq!(counters.ejections, u64::from(is_out));
    }
}
