//! What whoever asks is told.

use std::time::Duration;

use ringfence_balancer::{
    Balancer, BalancerConfig, CallOutcome, Change, DecisionSample, HotKeysConfig, PickRequest,
    SlowStartConfig,
};
use ringfence_core::{Absence, EjectionCause, KeyHash};
use tokio::time::{Instant, sleep};

use crate::support::*;

async fn three() -> (ringfence_discovery::MemoryRegistry, Balancer) {
    let registry = registry((0..3).map(instance));
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    (registry, balancer)
}

#[tokio::test(start_paused = true)]
async fn instances_have_their_load_their_failures_and_why_they_are_out() {
    let (_registry, balancer) = three().await;
    let key = key_of(&balancer, "i1");
    let running = begin(&balancer, &key);
    fail(&balancer, &key, 5);
    settle().await;
    let statuses = balancer.instances();
    let ids: Vec<_> = statuses.iter().map(|s| s.instance.id().as_str()).collect();
    assert_eq!(ids, ["i0", "i1", "i2"]);
    let failing = &statuses[1];
    assert_eq!(
        (failing.in_flight, failing.requests, failing.failures),
        (1, 6, 5)
    );
    assert!(failing.ejected && !failing.usable && !failing.on_trial);
    assert_eq!(failing.absence, Some(Absence::Ejected));
    let others = [&statuses[0], &statuses[2]];
    assert!(
        others
            .iter()
            .all(|s| s.usable && s.absence.is_none() && s.requests == 0)
    );
    let owned: f64 = statuses.iter().filter_map(|s| s.ring_share).sum();
    assert!((owned - 1.0).abs() < 1e-9, "{owned}");
    assert!(
        statuses
            .iter()
            .all(|s| (s.weight_share - 1.0 / 3.0).abs() < 1e-9)
    );
    drop(running);
    assert_eq!(balancer.instances()[1].in_flight, 0);
}

/// One that is switched off has nothing on the ring, and does not start.
#[tokio::test(start_paused = true)]
async fn what_takes_no_traffic_does_not_start_slowly() {
    let slow_start = SlowStartConfig::default().with_window(Duration::from_secs(100));
    let config = BalancerConfig::default().with_slow_start(slow_start.expect("in range"));
    let registry = registry((0..3).map(instance));
    let balancer = balancer(&registry, config).await;
    registry
        .set_enabled(service(), "i1", false)
        .expect("it is there");
    registry.register(service(), instance(9));
    merged().await;
    let starting = || {
        let statuses = balancer.instances();
        let starting = statuses.iter().filter(|status| status.starting_slowly);
        starting
            .map(|status| status.instance.id().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(starting(), ["i9"]);
    assert_eq!(balancer.status().starting_slowly, 1);
    // Nor while it is new.
    registry
        .set_enabled(service(), "i9", false)
        .expect("it is there");
    merged().await;
    assert!(starting().is_empty());
}

/// Who asks why an instance is out wants to know until when, too.
#[tokio::test(start_paused = true)]
async fn an_ejection_tells_its_cause_and_its_end() {
    let (registry, balancer) = three().await;
    let term = || {
        let statuses = balancer.instances();
        assert!(statuses.iter().all(|s| s.ejection.is_some() == s.ejected));
        let out = statuses.into_iter().find_map(|s| s.ejection)?;
        let left = out
            .until
            .saturating_duration_since(Instant::now().into_std());
        Some((out.cause, out.times, left.as_secs()))
    };
    assert_eq!(term(), None);
    let key = key_of(&balancer, "i1");
    fail(&balancer, &key, 5);
    settle().await;
    let (cause, times, left) = term().expect("it is out");
    assert_eq!(
        (cause, times),
        (EjectionCause::ConsecutiveConnectFailures, 1)
    );
    assert!((29..=33).contains(&left), "{left}");
    seconds(10).await;
    // One that goes and comes back meanwhile is still out.
    registry.deregister(service(), "i1");
    settle().await;
    assert_eq!(term(), None);
    registry.register(service(), instance(1));
    merged().await;
    let (cause, times, later) = term().expect("it is still out");
    assert_eq!(
        (cause, times),
        (EjectionCause::ConsecutiveConnectFailures, 1)
    );
    assert!((1..=left - 10).contains(&later), "{later}");
    seconds(later + 1).await;
    assert_eq!(term(), None);
}

#[tokio::test(start_paused = true)]
async fn shares_follow_weights_and_the_ring_says_how_even_they_are() {
    let registry = registry([weighted(0, 100), weighted(1, 300), weighted(2, 0)]);
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    let shares = balancer.ring_shares().expect("a view");
    assert_eq!(shares.asked, [0.25, 0.75, 0.0]);
    let owned = shares.owned.as_ref().expect("a ring has arcs");
    assert!(
        (owned[1] - 0.75).abs() < 0.05 && owned[2] == 0.0,
        "{owned:?}"
    );
    let skew = (owned[0] / 0.25).max(owned[1] / 0.75);
    assert!((shares.skew.expect("takers") - skew).abs() < 1e-12);
    let epoch = balancer.status().epoch;
    registry.register(service(), instance(3));
    merged().await;
    assert!(balancer.status().epoch > epoch);
    assert_eq!(balancer.ring_shares().expect("a view").asked.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn the_load_of_the_last_while_is_compared_with_the_weights() {
    let (_registry, balancer) = three().await;
    assert_eq!(balancer.observed_skew(), None, "nothing to tell by");
    let key = key_of(&balancer, "i2");
    for _ in 0..300 {
        drop(begin(&balancer, &key));
    }
    sleep(Duration::from_secs(2)).await;
    let skew = balancer.observed_skew().expect("enough requests");
    assert!((skew - 3.0).abs() < 1e-9, "all at one of three: {skew}");
    assert!((balancer.instances()[2].load_share.expect("load") - 1.0).abs() < 1e-9);
    // Old requests count less and less.
    sleep(Duration::from_secs(600)).await;
    assert_eq!(balancer.observed_skew(), None);
}

#[tokio::test(start_paused = true)]
async fn changes_are_remembered_with_what_they_moved_and_how_long_they_took() {
    let (registry, balancer) = three().await;
    assert!(
        balancer.changes().is_empty(),
        "the first view changes nothing"
    );
    registry.register(service(), instance(7));
    merged().await;
    registry.deregister(service(), "i0");
    settle().await;
    let changes = balancer.changes();
    assert_eq!(changes.len(), 2, "{changes:?}");
    let [joined, left] = &changes[..] else {
        panic!("{changes:?}");
    };
    let ids = |ids: &[ringfence_core::InstanceId]| {
        ids.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        (ids(&joined.added), joined.added_count, joined.removed_count),
        (vec!["i7".to_owned()], 1, 0)
    );
    assert_eq!(
        (ids(&left.removed), left.instances),
        (vec!["i0".to_owned()], 3)
    );
    assert!(joined.epoch < left.epoch);
    for change in &changes {
        let moved = change.moved_share.expect("a ring of points").as_f64();
        assert!((0.15..0.40).contains(&moved), "{moved}");
    }
    // It waited for the merge window; a removal does not.
    let [waited, at_once] = [joined, left].map(|change| change.delay.expect("from the registry"));
    assert!((200..=250).contains(&waited.as_millis()), "{waited:?}");
    assert!(at_once.as_millis() < 5, "{at_once:?}");
}

#[tokio::test(start_paused = true)]
async fn only_the_last_changes_are_kept_and_of_many_instances_few_are_named() {
    let (registry, balancer) = three().await;
    registry.replace(service(), (0..100).map(instance));
    merged().await;
    let change = balancer.changes().pop().expect("one");
    assert_eq!(
        (change.added.len(), change.added_count),
        (Change::MAX_IDS, 97)
    );
    for round in 0..100 {
        registry.replace(service(), (0..100 + round % 2).map(instance));
        merged().await;
    }
    let changes = balancer.changes();
    assert_eq!(changes.len(), Change::KEPT);
    assert!(changes.is_sorted_by_key(|change| change.epoch));
}

#[tokio::test(start_paused = true)]
async fn a_hot_key_is_found_by_its_hash_and_forgotten_when_it_is_cold() {
    let (_registry, balancer) = three().await;
    let owner = owner(&balancer, "hot");
    let ask = |key: &str| {
        let request = PickRequest::new().with_key(key);
        balancer
            .pick(&request)
            .expect("an owner")
            .key_hash()
            .expect("a key")
    };
    let hash: KeyHash = ask("hot");
    let others: Vec<_> = (0..40_000).map(key).collect();
    for (n, other) in others.iter().enumerate() {
        ask(if n % 4 == 0 { "hot" } else { other });
    }
    let keys = balancer.hot_keys(3);
    assert_eq!((keys.hottest.len(), keys.hot), (3, 1));
    let hottest = &keys.hottest[0];
    assert_eq!(
        (hottest.hash, hottest.instance.as_str(), hottest.is_hot),
        (hash, owner.as_str(), true)
    );
    assert!((hottest.share - 0.25).abs() < 0.03, "{hottest:?}");
    assert!(!keys.hottest[1].is_hot);

    sleep(Duration::from_secs(120)).await;
    for n in 0..20_000 {
        ask(&key(n));
    }
    assert_eq!(balancer.hot_keys(3).hot, 0);
}

#[tokio::test(start_paused = true)]
async fn keys_are_not_counted_where_that_is_off_and_memory_is_bounded_where_nobody_asks() {
    let registry = registry((0..3).map(instance));
    let off = balancer(&registry, BalancerConfig::default().without_hot_keys()).await;
    let few = HotKeysConfig::default().with_counters(8).expect("legal");
    let on = balancer(&registry, BalancerConfig::default().with_hot_keys(few)).await;
    for n in 0..200_000 {
        owner(&on, &key(n));
        owner(&off, &key(n));
    }
    assert_eq!(on.hot_keys(1_000).hottest.len(), 8);
    assert!(off.hot_keys(1_000).hottest.is_empty());
}

async fn call(balancer: &Balancer, key: &str) {
    // Calls are looked at once in a while.
    sleep(Duration::from_millis(20)).await;
    let Some(mut call) = balancer.observe_call() else {
        return;
    };
    let decision = balancer
        .pick(&PickRequest::new().with_key(key))
        .expect("an owner");
    call.decided(decision.choice(), None);
    if call.wants_key_source() {
        call.key_source("header x-user");
    }
    call.attempt();
    call.end(CallOutcome::Success, Some(decision.instance().id()));
}

#[tokio::test(start_paused = true)]
async fn calls_are_looked_at_once_somebody_asks_and_few_are_kept_without_their_keys() {
    let (_registry, balancer) = three().await;
    call(&balancer, "secret").await;
    assert!(balancer.decisions().is_empty(), "nobody had asked");
    for n in 0..200 {
        call(&balancer, &format!("secret-{n}")).await;
        if n % 50 == 0 {
            settle().await;
        }
    }
    let samples = balancer.decisions();
    assert_eq!(samples.len(), DecisionSample::KEPT);
    let last = samples.last().expect("some");
    assert_eq!(
        (last.attempts, last.outcome, last.pool.as_str()),
        (1, CallOutcome::Success, "default/0")
    );
    assert_eq!(last.key_source.as_deref(), Some("header x-user"));
    assert!(last.instance.is_some() && last.key_hash.is_some() && last.epoch == 1);
    assert!(!format!("{samples:?}").contains("secret"));
}

/// One who has looked once must not make every call dearer for good.
#[tokio::test(start_paused = true)]
async fn calls_are_looked_at_no_longer_when_nobody_has_asked_for_a_while() {
    let (_registry, balancer) = three().await;
    assert!(balancer.decisions().is_empty());
    let almost = DecisionSample::LOOKED_AT_FOR - Duration::from_secs(2);
    for _ in 0..3 {
        sleep(almost).await;
        call(&balancer, "k").await;
        assert!(!balancer.decisions().is_empty(), "asked often enough");
    }
    sleep(DecisionSample::LOOKED_AT_FOR + Duration::from_secs(2)).await;
    assert!(balancer.observe_call().is_none(), "nobody looks");
    assert!(balancer.decisions().is_empty(), "of long ago");
    call(&balancer, "k").await;
    assert_eq!(balancer.decisions().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_told_of_a_balancer_that_was_shut_down() {
    let (_registry, balancer) = three().await;
    balancer.shutdown().await;
    assert!(balancer.instances().is_empty() && balancer.ring_shares().is_none());
    assert_eq!(balancer.observed_skew(), None);
}
