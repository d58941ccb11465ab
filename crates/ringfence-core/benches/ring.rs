//! Picks, builds and updates of a ring at 10 to 10,000 instances of 160 points. The machine's caches and neighbours decide as much
//! as the ring: compare within one run.

#![allow(
    clippy::expect_used,
    reason = "a benchmark of something else than it says must not go on"
)]

use std::{hint::black_box, sync::Arc};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ringfence_core::{HashedKey, Instance, Pool, Ring, RingConfig, Selector, Snapshot};

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
        let (pool, config) = (pool(0..size), RingConfig::default());
        let ring = Ring::build(&pool, &config);
        let mut bench = |name: &str, pick: &dyn Fn(HashedKey<'_>) -> u64| {
            group.bench_function(BenchmarkId::new(name, size), |b| {
                let mut at = 0;
                b.iter(|| {
                    at += 1;
                    pick(config.hash_key(black_box(&keys[at & 0xFFFF])))
                });
            });
        };
        bench("owner", &|key| ring.owner(key).map_or(0, u64::from));
        bench("first 3 distinct", &|key| {
            ring.walk(key).take(3).map(u64::from).sum()
        });
        bench("half of the instances out", &|key| {
            let mut walk = ring.walk_where(key, |member| member & 1 == 0);
            walk.next().map_or(0, u64::from)
        });
        for (name, ring) in [
            ("owner, each key after the one before", &ring),
            (
                "owner of 8 probes, each key after the one before",
                &probed(&pool, 8),
            ),
        ] {
            // The next key depends on the last owner, so the full latency of a pick shows.
            group.bench_function(BenchmarkId::new(name, size), |b| {
                let mut at = 0;
                b.iter(|| {
                    let owner = ring.owner(config.hash_key(black_box(&keys[at & 0xFFFF])));
                    at += 1 + (owner.unwrap_or(0) & 1) as usize;
                    owner
                });
            });
        }
    }
    group.finish();
}

fn probed(pool: &Pool, probes: u32) -> Ring {
    let config = RingConfig::default().with_probes(probes).expect("legal");
    Ring::build(pool, &config)
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
        for (name, from, to) in [
            ("one instance more", &fewer, &all),
            ("one instance fewer", &all, &fewer),
            ("no change", &all, &all),
        ] {
            let ring = Arc::new(Ring::build(from, &config));
            group.bench_function(BenchmarkId::new(name, size), |b| {
                b.iter(|| ring.update(black_box(to)))
            });
        }
    }
    group.finish();
}

criterion_group!(benches, pick, build);
criterion_main!(benches);
