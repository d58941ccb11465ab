use std::{collections::BTreeMap, time::Duration};

use ringfence_balancer::{
    Balancer, BalancerConfig, CallOutcome, FailureKind, Outcome, PickRequest,
};
use ringfence_core::Instance;
use ringfence_discovery::MemoryRegistry;
use ringfence_metrics::Metrics;

pub(crate) fn instance(n: usize) -> Instance {
    at(n, &format!("10.0.0.{n}:80"))
}

pub(crate) fn at(n: usize, address: &str) -> Instance {
    Instance::builder(format!("i{n}"), address)
        .build()
        .expect("legal")
}

pub(crate) fn config() -> BalancerConfig {
    let config = BalancerConfig::default();
    config
        .with_update_merge_window(Duration::ZERO)
        .expect("in range")
}

/// Three instances of `order`.
pub(crate) async fn fleet(metrics: &Metrics) -> (MemoryRegistry, Balancer) {
    let registry = MemoryRegistry::new();
    registry.replace("order", (0..3).map(instance));
    let balancer = Balancer::builder(registry.clone(), "order")
        .with_config(config())
        .with_observer(metrics.clone());
    (registry, balancer.build_ready().await.expect("ready"))
}

/// One call as the layer makes it.
pub(crate) fn call(balancer: &Balancer, key: &str, outcome: CallOutcome) {
    let mut call = balancer.observe_call().expect("observed");
    let decision = balancer
        .pick(&PickRequest::new().with_key(key))
        .expect("an owner");
    call.decided(decision.choice(), None);
    call.attempt();
    let mut attempt = decision.first().begin();
    attempt.report(match outcome {
        CallOutcome::Success => Outcome::Success,
        _ => Outcome::Failure(FailureKind::Status),
    });
    call.end(outcome, Some(decision.instance().id()));
}

/// Series of a text with their values.
pub(crate) fn series(text: &str) -> BTreeMap<String, f64> {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let series = lines.map(|line| {
        let (name, value) = line.rsplit_once(' ').expect("a value");
        (name.to_owned(), value.parse().expect("a number"))
    });
    let count = series.clone().count();
    let series: BTreeMap<_, _> = series.collect();
    assert_eq!(series.len(), count, "a series is there twice");
    series
}

pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
