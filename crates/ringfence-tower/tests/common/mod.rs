//! A service in an in-memory registry, and keys that lead where a test wants them.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::expect_used,
    reason = "each test binary uses its own part"
)]

use std::time::Duration;

use ringfence_balancer::{
    Balancer, BalancerBuilder, BalancerConfig, CompiledPolicy, OutlierConfig, PickRequest,
};
use ringfence_core::{Instance, Scheme};
use ringfence_discovery::{MemoryRegistry, ServiceKey};
use ringfence_policy::{PolicyContext, PolicyDocument};
use ringfence_tower::{KeySource, RingfenceLayer, RoutingKey};

pub const SERVICE: &str = "orders.internal";

pub struct Cluster {
    pub registry: MemoryRegistry,
    pub service: ServiceKey,
    pub balancer: Balancer,
}

/// No merge window, so that a test sees each change at once; no ejection unless it is the subject.
pub fn config() -> BalancerConfig {
    BalancerConfig::default()
        .with_update_merge_window(Duration::ZERO)
        .expect("in range")
        .with_outlier(OutlierConfig::off())
}

impl Cluster {
    pub async fn start(instances: &[(&str, &str)]) -> Self {
        Self::with_config(instances, config()).await
    }

    pub async fn with_config(instances: &[(&str, &str)], config: BalancerConfig) -> Self {
        let instances = instances.iter().map(|(id, at)| instance(id, at));
        Self::build(instances, |balancer| balancer.with_config(config)).await
    }

    /// Instances and a policy in YAML.
    pub async fn with_policy(instances: impl IntoIterator<Item = Instance>, text: &str) -> Self {
        let policy = policy(text);
        let set_up = |balancer: BalancerBuilder| balancer.with_config(config()).with_policy(policy);
        Self::build(instances, set_up).await
    }

    pub async fn build(
        instances: impl IntoIterator<Item = Instance>,
        set_up: impl FnOnce(BalancerBuilder) -> BalancerBuilder,
    ) -> Self {
        let registry = MemoryRegistry::new();
        let service = ServiceKey::new(SERVICE);
        registry.replace(&service, instances);
        let balancer = set_up(Balancer::builder(registry.clone(), service.clone())).build();
        let balancer = balancer.expect("inside of a runtime");
        balancer.ready().await.expect("the registry answers");
        Self {
            registry,
            service,
            balancer,
        }
    }

    pub fn layer(&self) -> RingfenceLayer {
        RingfenceLayer::new(self.balancer.clone()).with_key(KeySource::extension())
    }

    /// A key whose candidates are these instances, in this order.
    pub fn key(&self, order: &[&str]) -> RoutingKey {
        let found = (0..100_000).map(|n| format!("key-{n}")).find(|key| {
            let decision = self.balancer.pick(&PickRequest::new().with_key(key));
            let decision = decision.expect("has instances");
            let ids = decision.candidates().map(|c| c.instance().id().as_str());
            ids.zip(order).all(|(id, wanted)| id == *wanted)
        });
        RoutingKey::from(found.expect("some key has this order"))
    }

    pub fn in_flight(&self, id: &str) -> u64 {
        let key = self.key(&[id]);
        let decision = self
            .balancer
            .pick(&PickRequest::new().with_key(key.as_bytes()));
        decision.expect("has instances").first().in_flight()
    }

    pub fn register(&self, id: &str, address: &str) {
        self.registry.register(&self.service, instance(id, address));
    }

    pub async fn until(&self, condition: impl Fn(&Balancer) -> bool) {
        until(|| condition(&self.balancer)).await;
    }
}

pub fn policy(text: &str) -> CompiledPolicy {
    PolicyDocument::parse_and_compile(text, &PolicyContext::new()).expect("a legal policy")
}

pub fn instance(id: &str, address: &str) -> Instance {
    let (scheme, address) = match address.strip_prefix("https://") {
        Some(address) => (Scheme::Https, address),
        None => (Scheme::Http, address),
    };
    let instance = Instance::builder(id, address).scheme(scheme);
    instance.build().expect("a valid instance")
}

pub async fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

pub fn keyed<B>(mut request: http::Request<B>, key: &RoutingKey) -> http::Request<B> {
    request.extensions_mut().insert(key.clone());
    request
}

/// `ServiceExt::oneshot` under a name of its own: that trait's `then` hides the probe's.
pub trait Once<R>: tower::Service<R> + Sized {
    fn once(self, request: R) -> tower::util::Oneshot<Self, R> {
        tower::util::Oneshot::new(self, request)
    }
}

impl<S: tower::Service<R>, R> Once<R> for S {}

/// Polls a future once, as its task would.
pub async fn poll_once<F: Future + Unpin>(future: &mut F) -> std::task::Poll<F::Output> {
    std::future::poll_fn(|cx| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(cx)))
        .await
}
