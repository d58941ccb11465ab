//! A pick allocates nothing.
#![allow(
    clippy::expect_used,
    reason = "helpers of tests, where a failure is to end the test"
)]

use std::time::{Duration, Instant};

use ringfence_balancer::{Balancer, BalancerConfig, MissingKey, Outcome, PickRequest};
use ringfence_core::{Instance, PlanId, RequestTags};
use ringfence_discovery::{MemoryRegistry, ServiceKey};
use ringfence_testkit::allocations;

async fn balancer(instances: usize, missing_key: MissingKey) -> Balancer {
    let (registry, service) = (MemoryRegistry::new(), ServiceKey::new("order"));
    let all = (0..instances).map(|n| {
        Instance::builder(format!("i{n}"), format!("h{n}:80"))
            .zone(["a", "b"][n % 2])
            .healthy(n % 7 != 0 || n == 0)
            .build()
            .expect("valid")
    });
    registry.replace(&service, all);
    let config = BalancerConfig::default()
        .with_missing_key(missing_key)
        .with_max_attempts(8)
        .expect("valid");
    let balancer = Balancer::builder(registry, service)
        .with_config(config)
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("ready");
    balancer
}

async fn prepared(balancer: &Balancer, tags: &RequestTags) {
    let start = Instant::now();
    while balancer
        .view()
        .expect("ready")
        .route(PlanId::ROUTING, tags)
        .is_none()
    {
        assert!(start.elapsed() < Duration::from_secs(20), "never prepared");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_pick_and_its_report_allocate_nothing() {
    let tags = RequestTags::new().with_zone("a");
    let keys: Vec<_> = (0..200).map(|n| format!("key-{n}")).collect();
    for missing_key in [MissingKey::P2c, MissingKey::RoundRobin, MissingKey::Random] {
        for instances in [1, 2, 10, 1_000] {
            let balancer = balancer(instances, missing_key).await;
            let pick = |request: &PickRequest<'_>| {
                let decision = balancer.pick(request).expect("one");
                assert!(!decision.pool().is_any());
                decision.first().begin().report(Outcome::Success);
            };
            let all = || {
                for key in &keys {
                    pick(&PickRequest::new().with_key(key));
                    pick(&PickRequest::new().with_key(key).with_tags(&tags));
                    pick(&PickRequest::new());
                    pick(&PickRequest::new().with_tags(&tags));
                    let _ = balancer.try_hop();
                }
            };
            all();
            prepared(&balancer, &tags).await;
            // This thread's first use of what is made once for each thread is behind us.
            let counted = allocations(all);
            assert_eq!(
                counted.count_total, 0,
                "{missing_key:?}, {instances} instances"
            );
        }
    }
}
