//! What moves between two rings, and how what belongs to the keys follows.
#![allow(
    clippy::expect_used,
    reason = "helpers of tests, where a failure is to end the test"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "tests need some time to start from"
)]

mod algorithms;
mod diff;
mod migration;
mod window;

use std::sync::Arc;

use ringfence_core::{Instance, Pool, Ring, RingConfig, RingDiff, Selector, Snapshot};

fn snapshot<'a>(fleet: impl IntoIterator<Item = (&'a str, u32)>) -> Arc<Snapshot> {
    let instance = |(id, weight)| {
        // Algorithms of others hash the address.
        let builder = Instance::builder(id, format!("{id}:80")).weight(weight);
        builder.build().expect("legal")
    };
    Arc::new(fleet.into_iter().map(instance).collect())
}

fn ring_with<'a>(
    config: &RingConfig,
    fleet: impl IntoIterator<Item = (&'a str, u32)>,
) -> Arc<Ring> {
    let pool = Pool::select(&snapshot(fleet), &Selector::any());
    Arc::new(Ring::build(&pool, config))
}

/// The ring of `order-svc-<n>`, each of weight 100.
fn orders(numbers: &[usize]) -> Arc<Ring> {
    let ids: Vec<_> = numbers.iter().map(|n| format!("order-svc-{n}")).collect();
    ring_with(
        &RingConfig::default(),
        ids.iter().map(|id| (id.as_str(), 100)),
    )
}

fn between(before: &Arc<Ring>, after: &Arc<Ring>) -> RingDiff {
    RingDiff::between(Arc::clone(before), Arc::clone(after)).expect("rings of points")
}
