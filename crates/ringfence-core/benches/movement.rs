//! Sweeping two rings for what moves when one instance comes, at 100 to 10,000 instances of 160 points.

#![allow(
    clippy::expect_used,
    reason = "a benchmark of something else than it says must not go on"
)]

use std::{hint::black_box, sync::Arc};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ringfence_core::{Instance, Pool, Ring, RingConfig, RingDiff, Selector, Snapshot};

fn ring(instances: u32) -> Arc<Ring> {
    let instance = |n| Instance::builder(format!("node-{n}"), "10.0.0.1:80").build();
    let snapshot: Snapshot = (0..instances)
        .map(|n| instance(n).expect("legal"))
        .collect();
    let pool = Pool::select(&Arc::new(snapshot), &Selector::any());
    Arc::new(Ring::build(&pool, &RingConfig::default()))
}

fn sweep(c: &mut Criterion) {
    let mut group = c.benchmark_group("movement");
    for size in [100, 1_000, 10_000] {
        let (before, after) = (ring(size), ring(size + 1));
        group.throughput(Throughput::Elements((before.len() + after.len()) as u64));
        group.bench_function(BenchmarkId::new("share", size), |b| {
            b.iter(|| black_box(RingDiff::share_between(&before, &after)));
        });
        group.bench_function(BenchmarkId::new("diff", size), |b| {
            b.iter(|| RingDiff::between(Arc::clone(&before), Arc::clone(&after)));
        });
    }
    group.finish();
}

criterion_group!(benches, sweep);
criterion_main!(benches);
