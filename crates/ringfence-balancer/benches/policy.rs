//! What a policy adds to a request: reading the key and picking without one, and with one whose last of 1, 10 or 100 rules
//! matches and gives gray release, zones and the key.
#![allow(
    clippy::expect_used,
    reason = "a benchmark of something else than it says must not go on"
)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use http::Request;
use ringfence_balancer::{Balancer, CompiledPolicy, PickRequest, PolicyContext};
use ringfence_core::Instance;
use ringfence_discovery::{MemoryRegistry, ServiceKey};
use ringfence_policy::{PolicyDocument, RequestHead};
use tokio::runtime::Runtime;

const INSTANCES: usize = 100;
/// As the default number of attempts.
const CANDIDATES: usize = 3;

fn policy(rules: usize) -> CompiledPolicy {
    let rules: Vec<_> = (0..rules)
        .map(|n| {
            format!(
                "{{ name: r{n}, match: [{{ grpc: {{ service: shop.v1.Service{n}, method: Pay }} }}], \
                 key: [{{ header: x-user }}], gray: [next], \
                 pools: [{{ require: {{ zone: local }} }}, {{}}] }}"
            )
        })
        .collect();
    let text = format!(
        "ringfence: 1\ngray: {{ next: {{ to: {{ version: v2 }}, percent: 5 }} }}\nrules: [{}]",
        rules.join(", ")
    );
    let context = PolicyContext::new().with_zone("a");
    PolicyDocument::parse_and_compile(&text, &context).expect("legal")
}

fn balancer(runtime: &Runtime, policy: Option<CompiledPolicy>) -> Balancer {
    let (registry, service) = (MemoryRegistry::new(), ServiceKey::new("bench"));
    let all = (0..INSTANCES).map(|n| {
        Instance::builder(format!("i{n}"), format!("h{n}:80"))
            .zone(["a", "b"][n % 2])
            .version(if n % 10 == 0 { "v2" } else { "" })
            .build()
            .expect("legal")
    });
    registry.replace(&service, all);
    runtime.block_on(async {
        let builder = Balancer::builder(registry, service);
        let builder = match policy {
            Some(policy) => builder.with_policy(policy),
            None => builder,
        };
        let balancer = builder.build().expect("in a runtime");
        balancer.ready().await.expect("the registry answers");
        balancer
    })
}

fn request(rules: usize, user: usize) -> Request<()> {
    Request::post(format!("/shop.v1.Service{}/Pay", rules - 1))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("x-user", format!("user-{user}"))
        .body(())
        .expect("legal")
}

fn whole_pick(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let mut group = criterion.benchmark_group("pick of a request");
    let plain = balancer(&runtime, None);
    let requests: Vec<_> = (0..1_024).map(|user| request(1, user)).collect();
    let mut next = requests.iter().cycle();
    group.bench_function("without a policy", |bencher| {
        bencher.iter(|| {
            let request = next.next().expect("endless");
            let key = request
                .headers()
                .get("x-user")
                .map_or("", |user| user.to_str().expect("visible"));
            let pick = PickRequest::new().with_key(key);
            black_box(plain.pick(&pick.with_max_candidates(CANDIDATES))).expect("one")
        });
    });
    for rules in [1, 10, 100] {
        let governed = balancer(&runtime, Some(policy(rules)));
        let requests: Vec<_> = (0..1_024).map(|user| request(rules, user)).collect();
        let pick = |request: &Request<()>| {
            let head = RequestHead::of(request);
            governed
                .read(|current| {
                    let evaluation = current.evaluate(&head).expect("a rule matches");
                    assert_eq!(evaluation.rule_index(), rules - 1);
                    current.pick_by(&evaluation, CANDIDATES)
                })
                .expect("a view")
                .expect("one")
        };
        for request in &requests {
            pick(request);
        }
        let mut next = requests.iter().cycle();
        group.bench_function(BenchmarkId::new("with a policy", rules), |bencher| {
            bencher.iter(|| black_box(pick(next.next().expect("endless"))));
        });
    }
    group.finish();
}

criterion_group!(benches, whole_pick);
criterion_main!(benches);
