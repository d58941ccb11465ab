//! What deciding a request costs: the rule that matches is the last of 1, 10 or 100.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "the macro's function has no docs, and a bench may panic"
)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use http::Request;
use ringfence_policy::{CompiledPolicy, PolicyContext, PolicyDocument, RequestHead};

fn policy(rules: usize, matching: impl Fn(usize) -> String) -> CompiledPolicy {
    let rules: Vec<_> = (0..rules)
        .map(|i| {
            format!(
                "{{ name: r{i}, match: [{}], key: [{{ header: x-user, normalise: [trim] }}], gray: [next] }}",
                matching(i)
            )
        })
        .collect();
    let text = format!(
        "ringfence: 1\ngray: {{ next: {{ to: {{ version: v2 }}, percent: 5 }} }}\nrules: [{}]",
        rules.join(", ")
    );
    PolicyDocument::parse_and_compile(&text, &PolicyContext::new()).unwrap()
}

fn evaluate(c: &mut Criterion) {
    let mut group = c.benchmark_group("evaluate");
    for rules in [1, 10, 100] {
        let last = rules - 1;
        let request = Request::post(format!("/shop.v1.Service{last}/Pay"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("x-user", "6ba7b810-9dad-11d1-80b4-00c04fd430c8")
            .header("x-env", format!("env-{last}"))
            .body(())
            .unwrap();
        let by_method = policy(rules, |i| {
            format!("{{ grpc: {{ service: shop.v1.Service{i}, method: Pay }} }}")
        });
        let by_header = policy(rules, |i| {
            format!("{{ methods: [POST], headers: {{ x-env: {{ exact: env-{i} }} }} }}")
        });
        let by_prefix = policy(rules, |i| {
            format!("{{ path: {{ prefix: /shop.v1.Service{i}/P }} }}")
        });
        for (name, policy) in [
            ("method", by_method),
            ("header", by_header),
            ("prefix", by_prefix),
        ] {
            let head = RequestHead::of(&request);
            assert_eq!(policy.evaluate(&head, 0).unwrap().rule_index(), last);
            group.bench_function(format!("{rules} rules by {name}"), |b| {
                b.iter(|| black_box(policy.evaluate(black_box(&head), 7)).is_some());
            });
        }
    }
    group.finish();
}

criterion_group!(benches, evaluate);
criterion_main!(benches);
