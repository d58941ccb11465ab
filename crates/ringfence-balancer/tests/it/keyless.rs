use std::collections::HashMap;

use ringfence_balancer::{Balancer, BalancerConfig, InFlight, MissingKey, PickError, PickRequest};

use crate::support::*;

const ALL: [MissingKey; 5] = [
    MissingKey::P2c,
    MissingKey::LeastRequest,
    MissingKey::RoundRobin,
    MissingKey::Random,
    MissingKey::Reject,
];

#[tokio::test(start_paused = true)]
async fn every_picker_copes_with_few_instances() {
    fastrand::seed(7);
    for missing_key in ALL {
        for instances in 0..=9 {
            for attempts in 1..=8 {
                let registry = registry((0..instances).map(instance));
                let config = BalancerConfig::default()
                    .with_missing_key(missing_key)
                    .with_max_attempts(attempts)
                    .expect("valid");
                let balancer = balancer(&registry, config).await;
                for request in [PickRequest::new(), PickRequest::new().with_key("k")] {
                    match balancer.pick(&request) {
                        Ok(decision) => {
                            let ids: std::collections::HashSet<_> = decision
                                .candidates()
                                .map(|c| c.instance().id().clone())
                                .collect();
                            assert_eq!(ids.len(), decision.candidates().len(), "distinct");
                            assert_eq!(ids.len(), attempts.min(instances));
                        }
                        Err(PickError::NoInstances { .. }) => assert_eq!(instances, 0),
                        Err(PickError::KeyRequired { .. }) => {
                            assert_eq!(missing_key, MissingKey::Reject);
                            assert!(request.key().is_none());
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn power_of_two_choices_evens_out_requests_in_flight() {
    fastrand::seed(7);
    let registry = registry((0..10).map(instance));
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    let pick = || balancer.pick(&PickRequest::new()).expect("one");
    let running = begun(&balancer, 1_000);
    let loads = loads(&running);
    let (min, max) = (loads.values().min(), loads.values().max());
    assert!(min >= Some(&95) && max <= Some(&105), "{loads:?}");
    for _ in 0..100 {
        let decision = pick();
        let loads: Vec<_> = decision.candidates().map(|c| c.in_flight()).collect();
        assert!(loads[0] <= loads[1], "the less loaded one comes first");
    }
}

/// Requests without a key that are begun and stay.
fn begun(balancer: &Balancer, requests: usize) -> Vec<InFlight> {
    let pick = || balancer.pick(&PickRequest::new()).expect("one");
    (0..requests).map(|_| pick().first().begin()).collect()
}

fn loads(running: &[InFlight]) -> HashMap<&str, i32> {
    let mut loads = HashMap::new();
    for attempt in running {
        *loads.entry(attempt.instance().id().as_str()).or_insert(0) += 1;
    }
    loads
}

const SEED: u64 = 7;

#[tokio::test(start_paused = true)]
async fn least_request_fills_up_by_weight_and_finds_the_one_that_is_free() {
    fastrand::seed(SEED);
    let registry = registry((1..=4).map(|n| weighted(n, 100 * u32::try_from(n).expect("few"))));
    let config = BalancerConfig::default().with_missing_key(MissingKey::LeastRequest);
    let balancer = balancer(&registry, config).await;
    let mut running = begun(&balancer, 1_000);
    let expected = HashMap::from([("i1", 100), ("i2", 200), ("i3", 300), ("i4", 400)]);
    for (id, load) in loads(&running) {
        assert!((load - expected[id]).abs() <= 1, "{:?}", loads(&running));
    }
    running.retain(|attempt| attempt.instance().id().as_str() != "i3");
    let further = begun(&balancer, 290);
    assert_eq!(loads(&further), HashMap::from([("i3", 290)]));
}

#[tokio::test(start_paused = true)]
async fn two_choices_are_drawn_by_weight() {
    fastrand::seed(SEED);
    let registry = registry([
        weighted(1, 100),
        weighted(2, 100),
        weighted(3, 300),
        weighted(4, 0),
    ]);
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    // Nothing stays in flight, so the first draw decides.
    let mut turns = HashMap::new();
    for _ in 0..10_000 {
        let ended = begun(&balancer, 1);
        *turns
            .entry(ended[0].instance().id().to_string())
            .or_insert(0) += 1;
    }
    for (id, expected) in [("i1", 2_000_i32), ("i2", 2_000), ("i3", 6_000)] {
        assert!((turns[id] - expected).abs() < 200, "seed {SEED}: {turns:?}");
    }
    assert_eq!(turns.len(), 3, "the drained one gets nothing");
    // What stays in flight is by weight, too.
    let running = begun(&balancer, 1_000);
    for (id, expected) in [("i1", 200), ("i2", 200), ("i3", 600)] {
        let load = loads(&running)[id];
        assert!(
            (load - expected).abs() < 20,
            "seed {SEED}: {:?}",
            loads(&running)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn round_robin_gives_everyone_a_turn() {
    let registry = registry((0..7).map(instance));
    let config = BalancerConfig::default().with_missing_key(MissingKey::RoundRobin);
    let balancer = balancer(&registry, config).await;
    let mut turns = HashMap::new();
    for _ in 0..70 {
        let decision = balancer.pick(&PickRequest::new()).expect("one");
        *turns.entry(decision.instance().id().clone()).or_insert(0) += 1;
    }
    assert!(turns.len() == 7 && turns.values().all(|turns| *turns == 10));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_too_long_counts_as_absent() {
    let registry = registry((0..3).map(instance));
    let config = BalancerConfig::default()
        .with_missing_key(MissingKey::Reject)
        .with_max_key_len(4)
        .expect("valid");
    let balancer = balancer(&registry, config).await;
    assert!(balancer.pick(&PickRequest::new().with_key("1234")).is_ok());
    assert!(
        balancer
            .pick(&PickRequest::new().with_key("12345"))
            .is_err()
    );
    assert_eq!(balancer.status().counters.keys_too_long, 1);
}

#[tokio::test(start_paused = true)]
async fn an_empty_key_counts_as_absent() {
    let registry = registry((0..3).map(instance));
    let config = BalancerConfig::default().with_missing_key(MissingKey::Reject);
    let balancer = balancer(&registry, config).await;
    let request = PickRequest::new().with_key("");
    let error = balancer.pick(&request).expect_err("no key");
    assert!(matches!(error, PickError::KeyRequired { .. }), "{error}");
    assert!(balancer.owners(&request, 2).is_err());
    assert_eq!(balancer.status().counters.keys_too_long, 0);
}
