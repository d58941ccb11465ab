//! `Balancer::pick` on warm views of 10 to 10,000 instances.

#![allow(
    clippy::expect_used,
    reason = "a benchmark of something else than it says must not go on"
)]

use std::{
    hint::black_box,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ringfence_balancer::{Balancer, BalancerConfig, CompiledPolicy, PickRequest};
use ringfence_core::{
    Attribute, Instance, PlanId, RequestTags, RoutePlan, RoutePlans, Spill, StageTemplate,
};
use ringfence_discovery::{MemoryRegistry, ServiceKey};
use tokio::runtime::Runtime;

fn balancer(runtime: &Runtime, instances: usize, config: BalancerConfig) -> Balancer {
    let (registry, service) = (MemoryRegistry::new(), ServiceKey::new("bench"));
    let all = (0..instances).map(|n| {
        Instance::builder(format!("i{n}"), format!("h{n}:80"))
            .zone(["a", "b"][n % 2])
            .build()
            .expect("legal")
    });
    registry.replace(&service, all);
    runtime.block_on(async {
        let balancer = Balancer::builder(registry, service)
            .with_config(config)
            .with_policy(CompiledPolicy::of_plans(plans()))
            .build()
            .expect("in a runtime");
        balancer.ready().await.expect("the registry answers");
        balancer
    })
}

const ALL: usize = 0;
const BY_ZONE: usize = 1;
const SPILLING: usize = 2;

fn plans() -> RoutePlans {
    let local = || StageTemplate::untagged().and_requested(Attribute::Zone);
    let spill = Spill::default().with_permille(500).expect("legal");
    let plans = [
        vec![StageTemplate::untagged()],
        vec![local(), StageTemplate::untagged()],
        vec![local().with_spill(spill), StageTemplate::untagged()],
    ];
    let plans = plans.map(|stages| RoutePlan::of_stages(stages).expect("legal"));
    RoutePlans::new(plans)
}

fn pick(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let keys: Vec<_> = (0..1_024).map(|n| format!("user-{n}")).collect();
    let tags = RequestTags::new().with_zone("a");
    let mut group = criterion.benchmark_group("pick");
    for instances in [10, 100, 1_000, 10_000] {
        let balancer = balancer(&runtime, instances, BalancerConfig::default());
        for plan in [PlanId::ROUTING, PlanId::nth(BY_ZONE), PlanId::nth(SPILLING)] {
            while balancer
                .view()
                .is_none_or(|view| view.route(plan, &tags).is_none())
            {
                let _ = balancer.pick(&PickRequest::new().with_plan(plan).with_tags(&tags));
                thread::yield_now();
            }
        }
        let mut bench = |name, request: &dyn for<'a> Fn(&'a str) -> PickRequest<'a>| {
            let mut keys = keys.iter().cycle();
            group.bench_function(BenchmarkId::new(name, instances), |bencher| {
                bencher.iter(|| {
                    let key = keys.next().map_or("", String::as_str);
                    black_box(balancer.pick(&request(key)))
                });
            });
        };
        bench("key", &|key| PickRequest::new().with_key(key));
        bench("key, one candidate", &|key| {
            PickRequest::new().with_key(key).with_max_candidates(1)
        });
        for (name, plan) in [
            ("key, plan", ALL),
            ("key, plan of the zone", BY_ZONE),
            ("key, plan of the zone with spill", SPILLING),
        ] {
            let tags = &tags;
            let mut keys = keys.iter().cycle();
            group.bench_function(BenchmarkId::new(name, instances), |bencher| {
                bencher.iter(|| {
                    let request = PickRequest::new()
                        .with_plan(PlanId::nth(plan))
                        .with_tags(tags);
                    let key = keys.next().map_or("", String::as_str);
                    black_box(balancer.pick(&request.with_key(key)))
                });
            });
        }
        let tagged = PickRequest::new().with_tags(&tags);
        // What threads that pick at once share shows here.
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut keys = keys.iter().rev().cycle();
                while !stop.load(Ordering::Relaxed) {
                    let key = keys.next().map_or("", String::as_str);
                    let _ = black_box(balancer.pick(&PickRequest::new().with_key(key)));
                }
            });
            let mut keys = keys.iter().cycle();
            let id = BenchmarkId::new("key, beside another thread", instances);
            group.bench_function(id, |bencher| {
                bencher.iter(|| {
                    let key = keys.next().map_or("", String::as_str);
                    black_box(balancer.pick(&PickRequest::new().with_key(key)))
                });
            });
            stop.store(true, Ordering::Relaxed);
        });
        group.bench_function(BenchmarkId::new("tags, no key", instances), |bencher| {
            bencher.iter(|| black_box(balancer.pick(&tagged)));
        });
    }
    group.finish();
}

/// With bounded load: an idle owner needs no sum, one that is busy needs that of all.
fn bounded(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let keys: Vec<_> = (0..1_024).map(|n| format!("user-{n}")).collect();
    let mut group = criterion.benchmark_group("pick, bounded load");
    for instances in [10, 1_000] {
        let config = BalancerConfig::default().with_hash_balance_factor(125);
        let balancer = balancer(&runtime, instances, config.expect("in range"));
        let pick = |key: &str| balancer.pick(&PickRequest::new().with_key(key));
        let mut bench = |name| {
            let mut keys = keys.iter().cycle();
            group.bench_function(BenchmarkId::new(name, instances), |bencher| {
                bencher.iter(|| black_box(pick(keys.next().map_or("", String::as_str))));
            });
        };
        bench("idle");
        let begin = |n: usize| pick(&format!("other-{n}")).expect("one").first().begin();
        let _running: Vec<_> = (0..instances * 10).map(begin).collect();
        bench("busy");
    }
    group.finish();
}

criterion_group!(benches, pick, bounded);
criterion_main!(benches);
