use std::collections::HashMap;

use ringfence_balancer::{BalancerConfig, MissingKey, PickError, PickRequest};

use crate::support::*;

const ALL: [MissingKey; 4] = [
    MissingKey::P2c,
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
    let running: Vec<_> = (0..1_000).map(|_| pick().first().begin()).collect();
    let mut loads = HashMap::new();
    for attempt in &running {
        *loads.entry(attempt.instance().id().clone()).or_insert(0) += 1;
    }
    let (min, max) = (loads.values().min(), loads.values().max());
    assert!(min >= Some(&95) && max <= Some(&105), "{loads:?}");
    for _ in 0..100 {
        let decision = pick();
        let loads: Vec<_> = decision.candidates().map(|c| c.in_flight()).collect();
        assert!(loads[0] <= loads[1], "the less loaded one comes first");
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
