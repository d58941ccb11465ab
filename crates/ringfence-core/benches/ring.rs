//! Picks, builds and updates of a ring at 10 to 10,000 instances of 160 points.

#![allow(
    clippy::expect_used,
    reason = "a benchmark of something else than it says must not go on"
)]

use std::{hint::black_box, sync::Arc};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ringfence_core::{Instance, KeyHash, Pool, Ring, RingConfig, Selector, Snapshot};

const SIZES: [u32; 4] = [10, 100, 1_000, 10_000];

fn pool(instances: std::ops::Range<u32>) -> Pool {
    let snapshot: Snapshot = instances
        .map(|i| {
            Instance::builder(
                format!("node-{i}"),
                format!("10.0.{}.{}:80", i / 256, i % 256),
            )
            .build()
            .expect("legal")
        })
        .collect();
    Pool::select(&Arc::new(snapshot), &Selector::any())
}

/// 16-byte keys without a pattern.
fn keys() -> Vec<[u8; 16]> {
    (0..1u64 << 16)
        .map(|i| {
            let mut key = [0; 16];
            for (half, seed) in key.chunks_mut(8).zip([1, 2]) {
                half.copy_from_slice(
                    &RingConfig::default()
                        .with_seed(seed)
                        .hash_key(&i.to_le_bytes())
                        .get()
                        .to_le_bytes(),
                );
            }
            key
        })
        .collect()
}

fn pick(c: &mut Criterion) {
    let keys = keys();
    let mut group = c.benchmark_group("pick");
    group.throughput(Throughput::Elements(1));
    for size in SIZES {
        let config = RingConfig::default();
        let ring = Ring::build(&pool(0..size), &config);
        // The next key depends on the last owner, so the full latency of a pick shows.
        group.bench_function(BenchmarkId::new("owner", size), |b| {
            let mut at = 0;
            b.iter(|| {
                let owner = ring.owner(config.hash_key(black_box(&keys[at & 0xFFFF])));
                at += 1 + (owner.unwrap_or(0) & 1) as usize;
                owner
            });
        });
        group.bench_function(BenchmarkId::new("first 3 distinct", size), |b| {
            let mut at = 0;
            b.iter(|| {
                at += 1;
                ring.walk(config.hash_key(black_box(&keys[at & 0xFFFF])))
                    .take(3)
                    .map(u64::from)
                    .sum::<u64>()
            });
        });
        group.bench_function(BenchmarkId::new("half of the instances out", size), |b| {
            let mut at = 0;
            b.iter(|| {
                at += 1;
                let key: KeyHash = config.hash_key(black_box(&keys[at & 0xFFFF])).hash();
                ring.walk_where(key, |member| member & 1 == 0).next()
            });
        });
    }
    group.finish();
}

fn build(c: &mut Criterion) {
    let mut group = c.benchmark_group("build");
    group.sample_size(10);
    for size in SIZES {
        let (fewer, all, config) = (pool(0..size - 1), pool(0..size), RingConfig::default());
        group.throughput(Throughput::Elements(u64::from(size)));
        group.bench_function(BenchmarkId::new("new", size), |b| {
            b.iter(|| Ring::build(black_box(&all), &config))
        });
        let ring = Arc::new(Ring::build(&fewer, &config));
        group.bench_function(BenchmarkId::new("one instance more", size), |b| {
            b.iter(|| ring.update(black_box(&all)))
        });
    }
    group.finish();
}

criterion_group!(benches, pick, build);
criterion_main!(benches);
