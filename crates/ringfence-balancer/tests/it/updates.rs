use std::time::Duration;

use ringfence_balancer::{Balancer, BalancerConfig, PickError, PickRequest};
use ringfence_core::{Instance, RequestTags, RingConfig};
use ringfence_discovery::ErrorKind;
use ringfence_testkit::ScriptedDiscovery;

use crate::support::*;

/// Snapshots are applied by the task, not by requests, and do not queue (B02).
#[tokio::test(start_paused = true)]
async fn updates_apply_without_any_request() {
    let registry = registry([]);
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    for port in 1..=5_000 {
        let only = Instance::builder("only", format!("10.0.0.1:{port}"));
        registry.replace(service(), [only.build().expect("valid")]);
        if port % 7 == 0 {
            tokio::task::yield_now().await;
        }
    }
    settle().await;
    let decision = balancer
        .pick(&PickRequest::new().with_key("k"))
        .expect("one");
    assert_eq!(decision.instance().address().port(), 5_000);
    let status = balancer.status();
    assert_eq!((status.instances, status.nodes), (1, 1), "{status:?}");
}

/// An instance that is still starting gets nothing; once it is up, the very next request may use it, though none came
/// meanwhile (B02).
#[tokio::test(start_paused = true)]
async fn an_instance_that_becomes_healthy_is_used_by_the_next_request() {
    let starting = instance(2).to_builder().healthy(false).build();
    let registry = registry([instance(1), starting.expect("valid")]);
    let config = BalancerConfig::default()
        .with_panic_threshold(0)
        .expect("valid");
    let balancer = balancer(&registry, config).await;
    assert!(owners(&balancer, 100).iter().all(|id| id == "i1"));
    tokio::time::sleep(Duration::from_secs(60)).await;
    registry
        .set_health(service(), "i2", ringfence_core::Health::Healthy)
        .expect("there");
    settle().await;
    let picks = balancer.status().counters.picks;
    let next = (0..).map(key).find(|key| owner(&balancer, key) == "i2");
    assert!(next.is_some());
    assert_eq!(picks, 100, "no request before");
}

#[tokio::test(start_paused = true)]
async fn scale_out_moves_keys_to_the_newcomer_only_and_back() {
    let registry = registry((0..6).map(instance));
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    let before = owners(&balancer, 2_000);
    registry.register(service(), instance(6));
    merged().await;
    let after = owners(&balancer, 2_000);
    let moved = before.iter().zip(&after).filter(|(a, b)| a != b).count();
    assert!(before.iter().zip(&after).all(|(a, b)| a == b || b == "i6"));
    assert!((150..450).contains(&moved), "{moved} of 2,000, ideal 286");
    registry.deregister(service(), "i6");
    settle().await;
    assert_eq!(owners(&balancer, 2_000), before);
}

#[tokio::test(start_paused = true)]
async fn a_health_flip_rebuilds_no_ring_and_moves_nobody_else() {
    let registry = registry((0..10).map(instance));
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    let tags = RequestTags::new().with_tag("tier", "none");
    let ring = balancer.view().expect("ready");
    let before = owners(&balancer, 2_000);
    registry
        .set_health(service(), "i3", ringfence_core::Health::Unhealthy)
        .expect("there");
    settle().await;
    let flipped = balancer.view().expect("ready");
    assert!(flipped.epoch() > ring.epoch());
    assert!(std::sync::Arc::ptr_eq(
        ring.whole_ring(),
        flipped.whole_ring()
    ));
    for (before, after) in before.iter().zip(owners(&balancer, 2_000)) {
        assert_eq!(*before == after, before != "i3", "{before} {after}");
    }
    assert_eq!(balancer.status().usable, 9);
    registry
        .set_health(service(), "i3", ringfence_core::Health::Healthy)
        .expect("there");
    settle().await;
    assert_eq!(owners(&balancer, 2_000), before);
    assert!(balancer.pick(&PickRequest::new().with_tags(&tags)).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_changed_tag_takes_effect_and_keeps_the_node() {
    let registry = registry((0..3).map(instance));
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    let key = key_of(&balancer, "i1");
    let running = begin(&balancer, &key);
    let tagged = instance(1).to_builder().tag("shard", "7").build();
    registry.register(service(), tagged.expect("valid"));
    merged().await;
    let tags = RequestTags::new().with_tag("shard", "7");
    let request = PickRequest::new().with_key(&key).with_tags(&tags);
    let decision = balancer.pick(&request).expect("one");
    assert_eq!(decision.instance().tag("shard"), Some("7"));
    assert_eq!(decision.first().in_flight(), 1);
    drop(running);
    assert_eq!(decision.first().in_flight(), 0);
}

/// An error is not an empty list.
#[tokio::test(start_paused = true)]
async fn the_death_of_the_registry_keeps_the_pool() {
    let registry = ScriptedDiscovery::new();
    registry.push_instances((0..3).map(instance));
    let builder = Balancer::builder(registry.clone(), service());
    let balancer = builder.build().expect("in a runtime");
    balancer.ready().await.expect("the registry answers");
    let before = owners(&balancer, 100);
    registry.go_down(ErrorKind::Unavailable);
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(owners(&balancer, 100), before);
    assert!(balancer.status().stale_for > Some(Duration::from_secs(60)));
}

/// Settings belong to the builder, not to the first ring (B54).
#[tokio::test(start_paused = true)]
async fn ring_settings_survive_updates() {
    let registry = registry((0..3).map(instance));
    let ring = RingConfig::default()
        .with_points_per_instance(40)
        .expect("valid");
    let config = BalancerConfig::default().with_ring(ring);
    let balancer = balancer(&registry, config).await;
    for n in 3..6 {
        registry.register(service(), instance(n));
        merged().await;
        let view = balancer.view().expect("ready");
        assert_eq!(view.whole_ring().len(), 40 * (n + 1));
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_service_is_not_an_empty_one() {
    let registry = ringfence_discovery::MemoryRegistry::new();
    let builder = Balancer::builder(registry.clone(), service());
    let balancer = builder.build().expect("in a runtime");
    assert!(matches!(
        balancer.ready().await,
        Err(PickError::NoSuchService { .. })
    ));
    assert!(!balancer.is_ready());
    registry.replace(service(), []);
    settle().await;
    balancer.ready().await.expect("it exists");
    let error = balancer.pick(&PickRequest::new()).expect_err("empty");
    assert!(matches!(error, PickError::NoInstances { .. }), "{error}");
    registry.register(service(), instance(1));
    settle().await;
    assert_eq!(owner(&balancer, "k"), "i1", "0 to 1 does not wait");
}

#[tokio::test(start_paused = true)]
async fn large_views_are_built_beside_the_runtime() {
    let registry = registry((0..3_000).map(instance));
    let balancer = balancer(&registry, BalancerConfig::default()).await;
    let before = owners(&balancer, 300);
    registry.deregister(service(), "i77");
    let mut waited = 0;
    while balancer.status().instances == 3_000 {
        settle().await;
        waited += 1;
        assert!(waited < 100);
    }
    for (before, after) in before.iter().zip(owners(&balancer, 300)) {
        assert!(*before == after || before == "i77");
    }
}
