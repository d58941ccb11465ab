//! How an instance proves itself when it comes back from an ejection.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use ringfence_balancer::{
    Balancer, BalancerConfig, Decision, FailureKind, InFlight, MissingKey, Outcome, OutlierConfig,
    PickRequest,
};
use ringfence_core::Instance;

use crate::support::*;

fn outlier(percent: u32) -> OutlierConfig {
    let outlier = OutlierConfig::default().with_max_ejection_percent(percent);
    outlier.expect("valid")
}

/// A balancer of four, where `i1` is on trial, and a key that it owns.
async fn on_trial(outlier: OutlierConfig) -> (Balancer, String) {
    let (balancer, key) = returned(outlier).await;
    assert_eq!(balancer.status().on_trial, 1);
    (balancer, key)
}

/// Of which `i1` came back from an ejection.
async fn returned(outlier: OutlierConfig) -> (Balancer, String) {
    let registry = registry((0..4).map(instance));
    let config = BalancerConfig::default().with_outlier(outlier);
    let balancer = balancer(&registry, config).await;
    let key = key_of(&balancer, "i1");
    fail(&balancer, &key, 5);
    settle().await;
    assert_eq!(balancer.status().ejected, 1);
    seconds(34).await;
    assert_eq!(balancer.status().ejected, 0);
    (balancer, key)
}

fn pick(balancer: &Balancer, key: &str) -> Decision {
    let request = PickRequest::new().with_key(key);
    balancer.pick(&request).expect("an owner")
}

fn at(attempt: &InFlight) -> &str {
    attempt.instance().id().as_str()
}

fn succeed(balancer: &Balancer, key: &str, times: usize) {
    for _ in 0..times {
        begin(balancer, key).report(Outcome::Success);
    }
}

#[tokio::test(start_paused = true)]
async fn one_request_at_a_time_until_it_has_proven_itself() {
    let (balancer, key) = on_trial(outlier(50)).await;
    let others = pick(&balancer, &key);
    let next = others.candidates().nth(1).expect("a second one");
    let next = next.instance().id().to_string();
    drop(others);
    for _ in 0..3 {
        let mut first = begin(&balancer, &key);
        assert_eq!(at(&first), "i1", "the owner is asked by itself");
        let waiting: Vec<_> = (0..20).map(|_| begin(&balancer, &key)).collect();
        for other in &waiting {
            assert_eq!(at(other), next, "the next one clockwise");
        }
        first.report(Outcome::Success);
        drop((first, waiting));
    }
    settle().await;
    assert_eq!(balancer.status().on_trial, 0);
    let all: Vec<_> = (0..20).map(|_| begin(&balancer, &key)).collect();
    assert!(all.iter().all(|attempt| at(attempt) == "i1"));
}

#[tokio::test(start_paused = true)]
async fn nobody_elses_keys_move_while_it_is_on_trial() {
    let registry = registry((0..6).map(instance));
    let config = BalancerConfig::default().with_outlier(outlier(50));
    let balancer = balancer(&registry, config).await;
    let before = owners(&balancer, 500);
    let key = key_of(&balancer, "i4");
    fail(&balancer, &key, 5);
    settle().await;
    seconds(34).await;
    assert_eq!(owners(&balancer, 500), before, "one after the other");
    let busy = begin(&balancer, &key);
    for (before, after) in before.iter().zip(owners(&balancer, 500)) {
        assert_eq!(*before == after, before != "i4");
    }
    drop(busy);
    assert_eq!(owners(&balancer, 500), before);
}

/// A probe that was cancelled never gave its slot back, so the host stayed out (B18).
#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_or_neutral_frees_the_slot_at_once() {
    let (balancer, key) = on_trial(outlier(50)).await;
    for _ in 0..10 {
        let dropped = begin(&balancer, &key);
        assert_eq!(at(&dropped), "i1");
        assert_ne!(owner(&balancer, &key), "i1", "the slot is taken");
        drop(dropped);
        assert_eq!(owner(&balancer, &key), "i1");

        let mut neutral = begin(&balancer, &key);
        assert_ne!(owner(&balancer, &key), "i1");
        neutral.report(Outcome::Neutral);
        assert_eq!(owner(&balancer, &key), "i1");
        drop(neutral);
        let busy = begin(&balancer, &key);
        assert_ne!(owner(&balancer, &key), "i1", "it is given back once");
        drop(busy);

        // A decision that nobody acts on, and a caller that goes away in the middle.
        let decision = pick(&balancer, &key);
        assert_eq!(decision.instance().id().as_str(), "i1");
        assert_ne!(owner(&balancer, &key), "i1");
        let copy = decision.clone();
        drop(decision);
        assert_eq!(owner(&balancer, &key), "i1", "a copy holds nothing");
        drop(copy);
        let call = async {
            let attempt = begin(&balancer, &key);
            seconds(50).await;
            drop(attempt);
        };
        let limit = Duration::from_millis(5);
        assert!(tokio::time::timeout(limit, call).await.is_err());
        assert_eq!(owner(&balancer, &key), "i1");
    }
    settle().await;
    let status = balancer.status();
    assert_eq!((status.on_trial, status.counters.ejections), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_failure_ejects_it_again_at_once_and_for_longer() {
    for kind in [FailureKind::Timeout, FailureKind::Status] {
        let (balancer, key) = on_trial(outlier(50)).await;
        succeed(&balancer, &key, 2);
        begin(&balancer, &key).report(Outcome::Failure(kind));
        settle().await;
        let status = balancer.status();
        assert_eq!((status.ejected, status.on_trial), (1, 0));
        assert_eq!(status.counters.ejections_by_trial, 1);
        seconds(59).await;
        assert_eq!(balancer.status().ejected, 1, "twice as long");
        seconds(8).await;
        assert_eq!(balancer.status().on_trial, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_trial_that_nobody_asks_or_that_hangs_ends_with_its_time() {
    let (balancer, key) = on_trial(outlier(50)).await;
    let hanging = begin(&balancer, &key);
    assert_ne!(owner(&balancer, &key), "i1");
    seconds(31).await;
    assert_eq!(balancer.status().on_trial, 0);
    assert_eq!(owner(&balancer, &key), "i1");
    drop(hanging);
    // Nothing was proven: it is out for longer (B56).
    fail(&balancer, &key, 5);
    settle().await;
    seconds(59).await;
    assert_eq!(balancer.status().ejected, 1);
    seconds(8).await;
    // What hung in the first trial neither blocks the second one nor makes room in it.
    assert_eq!(balancer.status().on_trial, 1);
    let busy = begin(&balancer, &key);
    assert_eq!(at(&busy), "i1");
    assert_ne!(owner(&balancer, &key), "i1");
}

#[tokio::test(start_paused = true)]
async fn there_can_be_more_slots_or_no_limit() {
    let three = outlier(50).with_trial_requests(3).expect("valid");
    let (balancer, key) = on_trial(three).await;
    let running: Vec<_> = (0..9).map(|_| begin(&balancer, &key)).collect();
    let at_it = running.iter().filter(|attempt| at(attempt) == "i1");
    assert_eq!(at_it.count(), 3);

    let no_limit = outlier(50).with_trial_requests(0).expect("valid");
    let (unlimited, key) = returned(no_limit).await;
    assert_eq!(unlimited.status().on_trial, 0);
    let running: Vec<_> = (0..9).map(|_| begin(&unlimited, &key)).collect();
    assert!(running.iter().all(|attempt| at(attempt) == "i1"));
}

#[tokio::test(start_paused = true)]
async fn requests_without_a_key_and_owners_heed_it_too() {
    let (balancer, key) = on_trial(outlier(50)).await;
    let busy = begin(&balancer, &key);
    for missing_key in [MissingKey::P2c, MissingKey::RoundRobin, MissingKey::Random] {
        for _ in 0..200 {
            let request = PickRequest::new().with_missing_key(missing_key);
            let decision = balancer.pick(&request).expect("others are there");
            assert_eq!(decision.candidates().len(), 3, "the others");
            for candidate in decision.candidates() {
                assert_ne!(candidate.instance().id().as_str(), "i1");
            }
        }
    }
    let request = PickRequest::new().with_key(&key);
    let owners = balancer.owners(&request, 4).expect("others are there");
    assert_eq!(owners.len(), 3);
    drop(busy);
    let owners = balancer.owners(&request, 4).expect("all are there");
    assert_eq!(owners[0].instance().id().as_str(), "i1");
    assert_eq!(owners.len(), 4);
    assert_eq!(owner(&balancer, &key), "i1", "owners hold no slots");
}

#[tokio::test(start_paused = true)]
async fn a_hop_finds_out_when_the_slot_is_taken_meanwhile() {
    let registry = registry((0..4).map(instance));
    let config = BalancerConfig::default().with_outlier(outlier(50));
    let balancer = balancer(&registry, config).await;
    let key = key_of(&balancer, "i1");
    let second = pick(&balancer, &key);
    let second = second.candidates().nth(1).expect("a second one");
    let second = second.instance().id().to_string();
    let second_key = key_of(&balancer, &second);
    fail(&balancer, &second_key, 5);
    settle().await;
    seconds(34).await;
    let decision = pick(&balancer, &key);
    let candidate = decision.candidates().nth(1).expect("it has room");
    assert_eq!(candidate.instance().id().as_str(), second);
    let busy = begin(&balancer, &second_key);
    assert_eq!(at(&busy), second);
    assert!(candidate.try_begin().is_none());
    // The last one that is left may go all the same, and takes nothing from others by that.
    drop(candidate.begin());
    assert!(candidate.try_begin().is_none());
    drop(busy);
    assert!(candidate.try_begin().is_some());
}

/// All that are left are on trial: better served by one of them than by nobody.
#[tokio::test(start_paused = true)]
async fn where_nobody_has_room_requests_are_served_all_the_same() {
    let sick = instance(0).to_builder().healthy(false).build();
    let registry = registry([sick.expect("valid"), instance(1), instance(2)]);
    let config = BalancerConfig::default()
        .with_outlier(outlier(100))
        .with_panic_threshold(0)
        .expect("valid");
    let balancer = balancer(&registry, config).await;
    let key = key_of(&balancer, "i1");
    fail(&balancer, &key, 5);
    settle().await;
    seconds(34).await;
    assert_eq!(balancer.status().on_trial, 1);
    // The other one leaves, so it is the only one.
    registry.deregister(service(), "i2");
    settle().await;
    let all: Vec<_> = (0..20).map(|_| begin(&balancer, &key)).collect();
    assert!(all.iter().all(|attempt| at(attempt) == "i1"));
    let keyless = balancer.pick(&PickRequest::new()).expect("the only one");
    assert_eq!(keyless.instance().id().as_str(), "i1");
}

#[tokio::test(start_paused = true)]
async fn panic_knows_no_trial() {
    let sick = |n| {
        let sick = instance(n).to_builder().healthy(false);
        sick.build().expect("valid")
    };
    let registry = registry((0..4).map(instance));
    let config = BalancerConfig::default().with_outlier(outlier(50));
    let balancer = balancer(&registry, config).await;
    let key = key_of(&balancer, "i1");
    fail(&balancer, &key, 5);
    settle().await;
    seconds(34).await;
    assert_eq!(balancer.status().on_trial, 1);
    registry.replace(service(), [instance(1), sick(0), sick(2), sick(3)]);
    merged().await;
    assert_eq!(balancer.status().pools_in_panic, 1);
    let all: Vec<_> = (0..20).map(|_| begin(&balancer, &key)).collect();
    assert!(all.iter().all(|attempt| at(attempt) == "i1"));
}

#[tokio::test(start_paused = true)]
async fn a_trial_survives_updates_and_a_return() {
    let registry = registry((0..4).map(instance));
    let config = BalancerConfig::default().with_outlier(outlier(50));
    let balancer = balancer(&registry, config).await;
    let key = key_of(&balancer, "i1");
    fail(&balancer, &key, 5);
    settle().await;
    seconds(34).await;
    let is_limited = |balancer: &Balancer| {
        let busy = begin(balancer, &key);
        assert_eq!(at(&busy), "i1");
        owner(balancer, &key) != "i1"
    };
    assert!(is_limited(&balancer));
    registry.set_weight(service(), "i1", 110).expect("there");
    merged().await;
    assert!(is_limited(&balancer));
    registry.deregister(service(), "i1");
    settle().await;
    assert_eq!(balancer.status().on_trial, 0);
    registry.register(service(), instance(1));
    merged().await;
    assert_eq!(balancer.status().on_trial, 1);
    assert!(is_limited(&balancer));
    // Another server under its name has done nothing wrong.
    let moved = Instance::builder("i1", "10.9.9.9:80").build();
    registry.register(service(), moved.expect("valid"));
    merged().await;
    assert!(!is_limited(&balancer));
}

/// Threads that pick and begin at once never exceed the slots. The clock and the balancer's task stand still meanwhile.
#[tokio::test(start_paused = true)]
async fn the_slots_are_exact_for_many_threads() {
    let two = outlier(50).with_trial_requests(2).expect("valid");
    let (balancer, key) = on_trial(two).await;
    let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    let attempt = begin(&balancer, &key);
                    if at(&attempt) == "i1" {
                        let running = now.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(running, Ordering::SeqCst);
                        std::thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    assert!((1..=2).contains(&most.into_inner()));
    assert_eq!(owner(&balancer, &key), "i1", "all slots are back");
}
