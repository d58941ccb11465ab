use ringfence_balancer::{BalancerConfig, Outcome, PickError, PickRequest};

use crate::support::*;

/// Weight zero must neither panic, nor freeze the updates, nor count as "not set" (B14).
#[tokio::test(start_paused = true)]
async fn zero_is_drained_absent_is_the_default_and_the_task_lives() {
    let registry = registry([weighted(1, 0), weighted(2, 5)]);
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    assert!(owners(&balancer, 10_000).iter().all(|id| id == "i2"));

    registry.set_weight(service(), "i2", 0).expect("there");
    settle().await;
    for request in [PickRequest::new(), PickRequest::new().with_key("k")] {
        let error = balancer.pick(&request).expect_err("all are drained");
        let PickError::NoInstances { tried, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!((tried[0].members, tried[0].usable), (2, 0));
        assert!(error.to_string().contains("order"), "{error}");
    }
    assert_eq!(balancer.status().counters.picks_no_instances, 2);

    registry.register(service(), instance(1));
    settle().await;
    assert!(owners(&balancer, 1_000).iter().all(|id| id == "i1"));

    registry.set_weight(service(), "i1", 1).expect("there");
    merged().await;
    let mut running = begin(&balancer, "k");
    registry.set_weight(service(), "i1", 0).expect("there");
    settle().await;
    assert!(balancer.pick(&PickRequest::new().with_key("k")).is_err());
    assert_eq!(running.instance().weight().get(), 1);
    running.report(Outcome::Success);
    drop(running);
    registry.set_weight(service(), "i1", 1).expect("there");
    settle().await;
    assert_eq!(owner(&balancer, "k"), "i1");
}

#[tokio::test(start_paused = true)]
async fn disabled_and_drained_get_nothing_in_panic_either() {
    let disabled = instance(1)
        .to_builder()
        .enabled(false)
        .build()
        .expect("valid");
    let unhealthy = instance(2)
        .to_builder()
        .healthy(false)
        .build()
        .expect("valid");
    let registry = registry([disabled, unhealthy, weighted(3, 0)]);
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    assert!(owners(&balancer, 500).iter().all(|id| id == "i2"));
    let decision = balancer.pick(&PickRequest::new()).expect("one");
    assert!(decision.is_panic());
    assert_eq!(decision.candidates().len(), 1);
    assert_eq!(balancer.status().pools_in_panic, 1);

    let config = BalancerConfig::default()
        .with_panic_threshold(0)
        .expect("valid");
    let strict = crate::support::balancer(&registry, config).await;
    assert!(strict.pick(&PickRequest::new().with_key("k")).is_err());
}
