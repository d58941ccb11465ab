//! The in-memory registry and the static list.

use std::sync::Arc;

use futures_util::StreamExt as _;
use ringfence_core::{Health, Snapshot};
use ringfence_discovery::{
    Discovery, MemoryRegistry, RegistryError, ServiceKey, ServiceState, StaticDiscovery,
    Supervisor, WatchConfig,
};

use crate::script::{during, instance, next_change, secs};

fn order() -> ServiceKey {
    ServiceKey::new("order")
}

async fn state(registry: &MemoryRegistry) -> ServiceState {
    registry.fetch(&order()).await.expect("never fails").state
}

#[tokio::test]
async fn unknown_known_empty_and_removed_differ() {
    let registry = MemoryRegistry::new();
    assert_eq!(state(&registry).await, ServiceState::NoSuchService);
    assert!(registry.list(order()).is_none() && registry.services().is_empty());
    assert!(registry.register(order(), instance("a")).is_none());
    assert_eq!(state(&registry).await.instance_count(), 1);
    assert_eq!(registry.deregister(order(), "a"), Some(instance("a")));
    assert_eq!(
        state(&registry).await,
        ServiceState::Instances(Arc::new(Snapshot::empty()))
    );
    assert_eq!(registry.services(), [order()]);
    assert!(registry.remove_service(order()));
    assert!(!registry.remove_service(order()));
    assert_eq!(state(&registry).await, ServiceState::NoSuchService);
    assert!(registry.deregister(order(), "a").is_none());
    assert_eq!(registry.revision(), 3, "only changes count");
}

#[tokio::test]
async fn every_change_is_seen_and_revisions_rise() {
    let (registry, order) = (MemoryRegistry::new(), order());
    let mut watch = registry.watch(&order);
    let mut last = None;
    let mut next = async || {
        let update = watch.next().await.expect("endless").expect("no errors");
        assert!(update.revision > last);
        last = update.revision;
        update.state
    };
    assert_eq!(next().await, ServiceState::NoSuchService);
    registry.replace(&order, [instance("a"), instance("b")]);
    assert_eq!(next().await.instance_count(), 2);
    registry.set_health(&order, "a", Health::Unhealthy).unwrap();
    let snapshot = next().await;
    let a = |state: &ServiceState| state.as_snapshot().unwrap().get("a").unwrap().clone();
    assert!(!a(&snapshot).is_healthy());
    registry.set_weight(&order, "a", 7).unwrap();
    assert_eq!(a(&next().await).weight().get(), 7);
    registry.set_enabled(&order, "a", false).unwrap();
    assert!(!a(&next().await).is_enabled());
    registry
        .update(&order, "a", |a| a.zone("z").tag("k", "v"))
        .unwrap();
    assert_eq!(a(&next().await).tag("k"), Some("v"));
    // Saying again what is known is no change.
    registry.set_weight(&order, "a", 7).unwrap();
    registry.register(&order, instance("b"));
    assert!(futures_util::FutureExt::now_or_never(watch.next()).is_none());
}

#[test]
fn impossible_changes_are_refused_and_change_nothing() {
    let (registry, order) = (MemoryRegistry::new(), order());
    registry.register(&order, instance("a"));
    let error = registry.set_weight(&order, "b", 1).unwrap_err();
    assert_eq!(error.to_string(), "service `order` has no instance `b`");
    let error = registry.set_weight(&order, "a", u32::MAX).unwrap_err();
    assert!(matches!(error, RegistryError::Instance(_)));
    assert_eq!(registry.revision(), 1);
}

/// Names that were only asked for are not kept.
#[tokio::test]
async fn asking_for_many_unknown_services_keeps_none() {
    let registry = MemoryRegistry::new();
    for n in 0..1_000 {
        let key = ServiceKey::new(format!("s{n}"));
        let _ = registry.watch(&key).next().await;
        let _ = registry.fetch(&key).await;
    }
    let kept = format!("{registry:?}").matches("ServiceKey").count();
    assert!(kept <= 1, "{kept} kept");
}

#[tokio::test(start_paused = true)]
async fn only_the_newest_of_many_changes_waits_for_a_slow_watcher() {
    let (registry, order) = (MemoryRegistry::new(), order());
    registry.register(&order, instance("a"));
    let mut supervisor = Supervisor::new(
        Arc::new(registry.clone()),
        order.clone(),
        WatchConfig::default(),
    );
    assert_eq!(next_change(&mut supervisor).await, "a");
    for weight in 1..=5_000 {
        registry.set_weight(&order, "a", weight).unwrap();
    }
    let ringfence_discovery::Event::Snapshot(accepted) = supervisor.next().await else {
        panic!("a snapshot")
    };
    assert_eq!(accepted.snapshot.get("a").unwrap().weight().get(), 5_000);
    assert!(
        during(&mut supervisor, secs(600)).await.is_empty(),
        "and never stale"
    );
}

#[tokio::test(start_paused = true)]
async fn a_static_list_is_given_once_and_never_stale() {
    let source = StaticDiscovery::new()
        .with_service("order", [instance("b"), instance("a")])
        .with_service(ServiceKey::new("order").with_namespace("prod"), []);
    let source: Arc<dyn Discovery> = Arc::new(source);
    let mut supervisor = Supervisor::new(source.clone(), order(), WatchConfig::default());
    assert_eq!(next_change(&mut supervisor).await, "ab");
    assert!(during(&mut supervisor, secs(3_600)).await.is_empty());
    let unknown = source.fetch(&ServiceKey::new("cart")).await.unwrap();
    assert_eq!(unknown.state, ServiceState::NoSuchService);
}
