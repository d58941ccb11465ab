//! A generated tonic client in the layer.

use std::time::{Duration, Instant};

use ringfence::{
    Balancer, BalancerConfig, Discovery, Instance, KeySource, MemoryRegistry, Ringfence,
    RingfenceLayer, RoutingKey, ServiceKey, TonicConnector,
};
use ringfence_echo::{EchoClient, EchoRequest};
use tonic::{Request, Status};

/// The generated client in the layer.
pub type Echo = EchoClient<Ringfence<TonicConnector>>;

/// The service that all tests call.
#[must_use]
pub fn service() -> ServiceKey {
    ServiceKey::new("echo")
}

/// A registry in memory that has these instances.
pub fn registry(instances: impl IntoIterator<Item = Instance>) -> MemoryRegistry {
    let registry = MemoryRegistry::new();
    registry.replace(service(), instances);
    registry
}

/// A balancer that applies every change at once.
pub fn balancer(source: impl Discovery) -> Balancer {
    let config = BalancerConfig::default()
        .with_update_merge_window(Duration::ZERO)
        .unwrap();
    Balancer::builder(source, service())
        .with_config(config)
        .build()
        .unwrap()
}

/// A client of the balancer, which takes keys from the request's extensions.
#[must_use]
pub fn echo(balancer: &Balancer) -> Echo {
    let layer = RingfenceLayer::new(balancer.clone()).with_key(KeySource::extension());
    EchoClient::new(layer.wrap(TonicConnector::new()))
}

/// Says which instance answered.
///
/// # Errors
/// That of the call.
pub async fn call(echo: &Echo, key: &str) -> Result<String, Status> {
    let mut request = Request::new(EchoRequest::new(key));
    request
        .extensions_mut()
        .insert(RoutingKey::from(key.to_owned()));
    Ok(echo.clone().unary(request).await?.into_inner().instance)
}

/// Waits until something holds that others bring about; for half a minute at most, which only a defect needs.
pub async fn until(mut holds: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < limit, "waited in vain");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Waits until the balancer's view has this many instances.
pub async fn until_instances(balancer: &Balancer, count: usize) {
    until(|| {
        balancer
            .view()
            .is_some_and(|view| view.snapshot().len() == count)
    })
    .await;
}
