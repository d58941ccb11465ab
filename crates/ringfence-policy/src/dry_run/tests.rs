use ringfence_core::Instance;

use super::*;
use crate::{PolicyContext, PolicyDocument};

fn policy(text: &str) -> CompiledPolicy {
    PolicyDocument::parse_and_compile(&format!("ringfence: 1\n{text}"), &PolicyContext::new())
        .expect(text)
}

fn snapshot() -> Arc<Snapshot> {
    let instance = |id: String, version: &str| {
        let address = format!("{id}:80");
        Instance::builder(id, address)
            .version(version)
            .build()
            .expect("legal")
    };
    let stable = (0..8).map(|i| instance(format!("stable-{i}"), "v1"));
    let gray = (0..2).map(|i| instance(format!("gray-{i}"), "v2"));
    Arc::new(Snapshot::new(stable.chain(gray)))
}

fn keyed(count: usize) -> Vec<Request<()>> {
    let samples = (0..count).map(|i| SampleRequest::from_key(format!("user-{i}")));
    samples
        .map(|sample| sample.to_request().expect("legal"))
        .collect()
}

fn compare(old: &str, new: &str, requests: &[Request<()>]) -> DryRun {
    dry_run(
        &policy(old),
        &policy(new),
        &snapshot(),
        &ViewConfig::default(),
        requests,
    )
}

fn release(percent: u32) -> String {
    format!(
        "gray: {{ next: {{ to: {{ version: v2 }}, percent: {percent} }} }}\nrules: [{{ name: all, gray: [next] }}]"
    )
}

#[test]
fn the_same_policy_moves_nobody() {
    let report = compare(&release(20), &release(20), &keyed(500));
    assert_eq!((report.requests, report.moved), (500, 0));
    assert!(report.examples.is_empty() && report.by_cause.is_empty());
    assert_eq!(report.to_string(), "0 of 500 requests would move\n");
}

#[test]
fn a_growing_release_moves_those_who_come_in_and_nobody_else() {
    let requests = keyed(2_000);
    let report = compare(&release(5), &release(20), &requests);
    assert!(
        (220..=380).contains(&report.moved),
        "{} of 2,000 for 15 %",
        report.moved
    );
    assert_eq!(
        report.by_cause.keys().collect::<Vec<_>>(),
        ["gray release, pool"]
    );
    assert_eq!(report.examples.len(), MAX_EXAMPLES);
    for example in &report.examples {
        let to = example.to.instance.as_deref().expect("there is a key");
        assert!(to.starts_with("gray-"), "{example:?}");
        assert_eq!(example.causes[0].to_string(), "gray release none -> next");
    }
    let (before, after): (usize, usize) = report
        .shares
        .iter()
        .filter(|(instance, _)| instance.starts_with("gray-"))
        .fold((0, 0), |sum, (_, share)| (sum.0 + share.0, sum.1 + share.1));
    assert_eq!(after - before, report.moved);
    assert!(
        serde_json::to_string(&report)
            .expect("it can be")
            .contains("gray release")
    );
}

#[test]
fn each_cause_is_told() {
    // Several, because one of eight stays where it is by chance.
    let sample = |i: u32| SampleRequest {
        method: "POST".to_owned(),
        path: format!("/pay?user={i}"),
        headers: [("x-user".to_owned(), format!("Alice-{i}"))].into(),
        tags: [("tenant".to_owned(), "acme".to_owned())].into(),
        key: Some(format!("k-{i}")),
        ..SampleRequest::default()
    };
    let request: Vec<_> = (0..20)
        .map(|i| sample(i).to_request().expect("legal"))
        .collect();
    let by_header = "rules: [{ name: a, key: [{ header: x-user }] }]";
    for (old, new, causes) in [
        (
            by_header,
            "rules: [{ name: a, key: [{ query: user }] }]",
            "key",
        ),
        (
            by_header,
            "rules: [{ name: b, key: [{ query: user }] }]",
            "rule, key",
        ),
        (
            by_header,
            "tenants: { acme: { mode: salted } }\nrules: [{ name: a, key: [{ header: x-user }] }]",
            "seed",
        ),
        (
            by_header,
            "tenants: { acme: { mode: dedicated } }\nrules: [{ name: a, key: [{ header: x-user }] }]",
            "pool",
        ),
        (by_header, "mode: off\nrules: [{ name: a }]", "rule, key"),
        (
            by_header,
            "rules: [{ name: a, key: [{ cookie: none }] }]",
            "key",
        ),
    ] {
        let report = compare(old, new, &request);
        assert_eq!(
            report.by_cause.keys().collect::<Vec<_>>(),
            [causes],
            "{new}\n{report}"
        );
        assert!(report.to_string().contains("POST /pay (Alice-"), "{report}");
    }
}

#[test]
fn bad_samples_are_errors() {
    assert_eq!(
        SampleRequest::parse_list("- { path: /a, hdrs: {} }")
            .expect_err("unknown")
            .path(),
        "[0].hdrs"
    );
    for (sample, part) in [
        ("{ method: G T }", "method: invalid HTTP method"),
        ("{ path: no path }", "path: invalid uri character"),
        (
            "{ path: carts }",
            "path: expected a path that begins with /",
        ),
        (
            "{ headers: { x: \"\\n\" } }",
            "header: failed to parse header value",
        ),
        (
            "{ headers: { \"x y\": z } }",
            "header: invalid HTTP header name",
        ),
    ] {
        let samples = SampleRequest::parse_list(&format!("- {sample}")).expect("a list");
        let error = samples[0].to_request().expect_err("not legal");
        assert_eq!(error.to_string(), part);
    }
}

#[test]
fn claims_and_peers_are_keys_too() {
    let sample = "- { claims: { sub: me }, peer: 10.1.2.3 }";
    let samples = SampleRequest::parse_list(sample).expect("a list");
    let request = [samples[0].to_request().expect("legal")];
    let rule =
        |key: &str| format!("rules: [{{ name: all, key: [{{ {key} }}], missing_key: reject }}]");
    for read in ["claim: sub", "peer: {}"] {
        let report = compare(&rule("claim: other"), &rule(read), &request);
        assert_eq!(report.moved, 1, "{read}\n{report}");
    }
}

/// No key, and so no instance before or after: but one of them serves it, and the other does not.
#[test]
fn who_is_refused_without_a_key_moves() {
    let rule = |missing: &str| format!("rules: [{{ name: all{missing} }}]");
    let requests = [SampleRequest::default().to_request().expect("legal")];
    let moved = |old: &str, new: &str| compare(&rule(old), &rule(new), &requests).moved;
    assert_eq!(moved("", ", missing_key: reject"), 1);
    assert_eq!(moved(", missing_key: reject", ", missing_key: p2c"), 1);
    assert_eq!(moved(", missing_key: reject", ", missing_key: reject"), 0);
    assert_eq!(moved("", ", missing_key: random"), 0, "the same pool");
}

#[test]
fn another_algorithm_is_told_as_the_cause() {
    let report = compare("ring: { algorithm: maglev }", "", &keyed(500));
    // Nine of ten keys lie elsewhere by chance.
    assert!(report.moved > 400, "{report}");
    assert_eq!(report.by_cause.get("ring"), Some(&report.moved), "{report}");
    let causes = &report.examples[0].causes;
    assert!(causes[0].from.starts_with("maglev "), "{causes:?}");
    assert!(causes[0].to.starts_with("ring "), "{causes:?}");

    let sizes = |size: u32| format!("ring: {{ algorithm: maglev, table_size: {size} }}");
    let report = compare(&sizes(65_537), &sizes(251), &keyed(500));
    assert_eq!(report.by_cause.get("ring"), Some(&report.moved), "{report}");
    assert!(report.moved > 0);
    let same = compare("ring: {}", "", &keyed(500));
    assert_eq!(same.moved, 0, "the usual settings, said or not");
}
