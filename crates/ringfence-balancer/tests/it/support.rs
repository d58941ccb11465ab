use std::time::Duration;

use ringfence_balancer::{Balancer, BalancerConfig, FailureKind, InFlight, Outcome, PickRequest};
use ringfence_core::Instance;
use ringfence_discovery::{MemoryRegistry, ServiceKey};

pub(crate) fn service() -> ServiceKey {
    ServiceKey::new("order")
}

/// Instance `n`: id `i<n>` at `10.0.0.<n>:80`.
pub(crate) fn instance(n: usize) -> Instance {
    weighted(n, 100)
}

pub(crate) fn weighted(n: usize, weight: u32) -> Instance {
    Instance::builder(format!("i{n}"), format!("10.0.{}.{}:80", n / 200, n % 200))
        .weight(weight)
        .build()
        .expect("valid")
}

pub(crate) fn registry(instances: impl IntoIterator<Item = Instance>) -> MemoryRegistry {
    let registry = MemoryRegistry::new();
    registry.replace(service(), instances);
    registry
}

pub(crate) async fn balancer(registry: &MemoryRegistry, config: BalancerConfig) -> Balancer {
    let balancer = Balancer::builder(registry.clone(), service())
        .with_config(config)
        .build()
        .expect("in a runtime");
    balancer.ready().await.expect("the registry answers");
    balancer
}

/// Lets the task do what is due now.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Lets the task do what waits for the merge window.
pub(crate) async fn merged() {
    tokio::time::sleep(Duration::from_millis(250)).await;
}

pub(crate) fn owner(balancer: &Balancer, key: &str) -> String {
    let decision = balancer
        .pick(&PickRequest::new().with_key(key))
        .expect("an owner");
    decision.instance().id().to_string()
}

pub(crate) fn key(n: usize) -> String {
    format!("key-{n}")
}

pub(crate) fn owners(balancer: &Balancer, keys: usize) -> Vec<String> {
    (0..keys).map(|n| owner(balancer, &key(n))).collect()
}

/// A key that the instance owns.
pub(crate) fn key_of(balancer: &Balancer, id: &str) -> String {
    (0..10_000)
        .map(key)
        .find(|key| owner(balancer, key) == id)
        .expect("it owns some key")
}

pub(crate) fn begin(balancer: &Balancer, key: &str) -> InFlight {
    let request = PickRequest::new().with_key(key);
    balancer.pick(&request).expect("an owner").first().begin()
}

pub(crate) fn fail(balancer: &Balancer, key: &str, times: usize) {
    for _ in 0..times {
        begin(balancer, key).report(Outcome::Failure(FailureKind::Connect));
    }
}

/// Lets this time pass.
pub(crate) async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}
