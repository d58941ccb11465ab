//! A pick allocates nothing.
#![allow(
    clippy::expect_used,
    reason = "helpers of tests, where a failure is to end the test"
)]

use std::time::{Duration, Instant};

use ringfence_balancer::{
    Balancer, BalancerConfig, CompiledPolicy, FailureKind, MissingKey, Outcome, OutlierConfig,
    PickRequest,
};
use ringfence_core::{
    Attribute, Instance, PlanId, RequestTags, RoutePlan, RoutePlans, ShardSeed, Spill,
    StageTemplate, TagValues,
};
use ringfence_discovery::{MemoryRegistry, ServiceKey};
use ringfence_testkit::allocations;

async fn balancer(instances: usize, missing_key: MissingKey) -> Balancer {
    bounded(instances, missing_key, 0).await
}

async fn bounded(instances: usize, missing_key: MissingKey, hash_balance_factor: u32) -> Balancer {
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
        .and_then(|config| config.with_hash_balance_factor(hash_balance_factor))
        .expect("valid");
    let balancer = Balancer::builder(registry, service)
        .with_config(config)
        .with_policy(policy())
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("ready");
    balancer
}

/// A fixed plan, one of the zone with spilling, one of a shard for each tenant, and one with a ring of its own.
const PLANS: usize = 4;

fn policy() -> CompiledPolicy {
    let local = StageTemplate::any()
        .and_requested(Attribute::Zone)
        .with_spill(Spill::default().with_permille(500).expect("valid"));
    let elsewhere = StageTemplate::any().and_not_requested(Attribute::Zone);
    let shard = StageTemplate::any().with_shard(5, ShardSeed::tenant());
    let plans: [Vec<StageTemplate>; PLANS] = [
        vec![StageTemplate::untagged()],
        vec![local, elsewhere],
        vec![shard.expect("valid"), StageTemplate::any()],
        vec![StageTemplate::untagged().with_ring_seed(7)],
    ];
    let plans = plans.map(|stages| RoutePlan::of_stages(stages).expect("valid"));
    CompiledPolicy::of_plans(RoutePlans::new(plans))
}

/// Tags that are nowhere but here, as those that a policy takes from a request.
struct Inline([(Attribute, &'static str); 2]);

impl TagValues for Inline {
    fn value(&self, attribute: &Attribute) -> Option<&str> {
        let found = self.0.iter().find(|(asked, _)| asked == attribute);
        found.map(|(_, value)| *value)
    }

    fn each(&self, visit: &mut dyn FnMut(&Attribute, &str)) {
        for (attribute, value) in &self.0 {
            visit(attribute, value);
        }
    }

    fn is_untagged(&self) -> bool {
        false
    }
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
    for missing_key in [
        MissingKey::P2c,
        MissingKey::LeastRequest,
        MissingKey::RoundRobin,
        MissingKey::Random,
    ] {
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

/// Back from a short ejection, on a trial that lasts.
async fn on_trial(balancer: &Balancer, key: &str) {
    for _ in 0..5 {
        let decision = balancer.pick(&PickRequest::new().with_key(key));
        let mut attempt = decision.expect("one").first().begin();
        attempt.report(Outcome::Failure(FailureKind::Status));
    }
    let mut rounds = 0;
    while balancer.status().on_trial == 0 {
        assert!(rounds < 60, "never back");
        rounds += 1;
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_pick_past_an_instance_on_trial_allocates_nothing() {
    let keys: Vec<_> = (0..200).map(|n| format!("key-{n}")).collect();
    let outlier = OutlierConfig::default()
        .with_base_ejection_time(Duration::from_secs(300))
        .and_then(|config| config.with_trial_successes(1_000));
    let (registry, service) = (MemoryRegistry::new(), ServiceKey::new("order"));
    let all = (0..10).map(|n| Instance::builder(format!("i{n}"), format!("h{n}:80")).build());
    registry.replace(&service, all.map(|instance| instance.expect("valid")));
    let balancer = Balancer::builder(registry, service)
        .with_config(BalancerConfig::default().with_outlier(outlier.expect("valid")))
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("ready");
    on_trial(&balancer, &keys[0]).await;
    let all = || {
        for key in &keys {
            for request in [PickRequest::new().with_key(key), PickRequest::new()] {
                let decision = balancer.pick(&request).expect("one");
                let mut attempt = decision.first().begin();
                let other = balancer.pick(&request).expect("another one");
                for candidate in other.candidates() {
                    drop(candidate.try_begin());
                }
                attempt.report(Outcome::Success);
            }
        }
    };
    all();
    let counted = allocations(all);
    assert_eq!(counted.count_total, 0);
    assert_eq!(balancer.status().on_trial, 1);
}

#[tokio::test]
async fn a_pick_that_passes_by_loaded_instances_allocates_nothing() {
    let request = PickRequest::new().with_key("hot");
    for instances in [2, 10, 1_000] {
        let balancer = bounded(instances, MissingKey::P2c, 125).await;
        let pick = || balancer.pick(&request).expect("one");
        // Far more than eight instances are passed by at the end.
        let mut running: Vec<_> = (0..2_000).map(|_| pick().first().begin()).collect();
        while !pick().is_overflow() {
            running.push(pick().first().begin());
        }
        let mut is_overflow = true;
        let counted = allocations(|| {
            for _ in 0..100 {
                is_overflow &= pick().is_overflow();
            }
        });
        assert!(is_overflow, "{instances} instances");
        assert_eq!(counted.count_total, 0, "{instances} instances");
        drop(running);
    }
}

#[tokio::test]
async fn a_pick_by_a_plan_allocates_nothing() {
    let inline = Inline([(Attribute::Zone, "a"), (Attribute::tenant(), "acme")]);
    let tags = RequestTags::new().with_zone("a").with_tenant("acme");
    let keys: Vec<_> = (0..200).map(|n| format!("key-{n}")).collect();
    for instances in [1, 2, 10, 1_000] {
        let balancer = balancer(instances, MissingKey::P2c).await;
        let all = || {
            let (mut picks, mut spilled) = (0_u32, 0_u32);
            for key in &keys {
                for plan in (0..PLANS).map(PlanId::nth) {
                    let request = PickRequest::new().with_plan(plan).with_salt(9);
                    for request in [
                        request,
                        request.with_tags(&tags),
                        request.with_tag_values(&inline),
                    ] {
                        for request in [request.with_key(key), request] {
                            let decision = balancer.pick(&request).expect("one");
                            picks += 1;
                            spilled += u32::from(decision.is_spilled());
                            decision.first().begin().report(Outcome::Success);
                        }
                    }
                }
            }
            (picks, spilled)
        };
        all();
        let start = Instant::now();
        let view = || balancer.view().expect("ready");
        while (0..PLANS).any(|plan| view().route(PlanId::nth(plan), &inline).is_none()) {
            assert!(start.elapsed() < Duration::from_secs(20), "never prepared");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let mut sums = (0, 0);
        let counted = allocations(|| sums = all());
        assert_eq!(counted.count_total, 0, "{instances} instances");
        assert_eq!(sums.0, 200 * 4 * 3 * 2);
        assert_eq!(sums.1 > 0, instances > 1, "some spill over where they can");
    }
}

#[tokio::test]
async fn asking_for_an_old_owner_allocates_nothing() {
    let (registry, service) = (MemoryRegistry::new(), ServiceKey::new("order"));
    let instance = |n: usize| {
        let built = Instance::builder(format!("i{n}"), format!("h{n}:80")).build();
        built.expect("valid")
    };
    registry.replace(&service, (0..10).map(instance));
    let config = BalancerConfig::default().with_movement_window(Duration::from_secs(60));
    let balancer = Balancer::builder(registry.clone(), service.clone())
        .with_config(config.expect("valid"))
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("ready");
    registry.replace(&service, (5..15).map(instance));
    let start = Instant::now();
    while balancer.movement().is_none() {
        assert!(start.elapsed() < Duration::from_secs(20), "never moved");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let keys: Vec<_> = (0..200).map(|n| format!("key-{n}")).collect();
    let mut moved = 0;
    let counted = allocations(|| {
        for key in &keys {
            let request = PickRequest::new().with_key(key.as_str());
            moved += usize::from(balancer.old_owner(&request).is_some());
        }
    });
    assert_eq!(counted.count_total, 0);
    assert!(moved > 50, "{moved}");
}
