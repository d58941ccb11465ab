mod gray;
mod index;
mod share;
mod trust;

use http::Request;
use proptest::prelude::*;
use ringfence_core::{Attribute, RequestTags, TagValues};

use super::*;
use crate::{
    AuditEvent, AuditReason, PolicyContext, PolicyDocument, RoutingKey, TagAuthority,
    VerifiedClaims,
};

fn compiled(text: &str) -> CompiledPolicy {
    compiled_with(text, &PolicyContext::new())
}

fn compiled_with(text: &str, context: &PolicyContext) -> CompiledPolicy {
    PolicyDocument::parse_and_compile(&format!("ringfence: 1\n{text}"), context).expect(text)
}

fn request(path: &str, headers: &[(&str, &str)]) -> Request<()> {
    let mut builder = Request::post(path);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(()).expect("legal")
}

fn keyed(key: &str) -> Request<()> {
    let mut request = request("/", &[]);
    request
        .extensions_mut()
        .insert(RoutingKey::from(key.to_owned()));
    request
}

fn evaluate<'a>(policy: &'a CompiledPolicy, request: &'a Request<()>) -> Evaluation<'a> {
    policy
        .evaluate(&RequestHead::of(request), 0)
        .expect("not off")
}

#[test]
fn the_first_rule_that_matches_decides() {
    let policy = compiled(
        "rules:\n\
         - { name: get, match: [{ methods: [GET] }] }\n\
         - { name: pay, match: [{ grpc: { service: s.C, method: Pay } }] }\n\
         - { name: service, match: [{ grpc: { service: s.C } }] }\n\
         - { name: several, match: [{ path: { exact: /x } }, { path: { prefix: /y/ }, headers: { x-a: { exact: '1' }, x-b: { present: true } } }] }\n\
         - { name: absent, match: [{ headers: { x-a: { present: false }, x-c: { regex: '[a-c]+' } } }] }\n\
         - { name: tagged, match: [{ tags: { env: { one_of: [q, r] } } }] }\n",
    );
    for (path, headers, rule) in [
        ("/s.C/Pay", &[][..], "pay"),
        ("/s.C/Cancel", &[], "service"),
        ("/s.Ca/Pay", &[], "default"),
        ("/x?y", &[], "several"),
        ("/y/1", &[("x-a", "1"), ("x-b", "")], "several"),
        (
            "/y/1",
            &[("x-a", "2"), ("x-a", "1"), ("x-b", "")],
            "several",
        ),
        ("/y/1", &[("x-a", "1")], "default"),
        ("/z", &[("x-c", "abc")], "absent"),
        ("/z", &[("x-c", "abcd")], "default"),
        ("/z", &[("env", "q")], "default"),
    ] {
        let request = request(path, headers);
        assert_eq!(
            evaluate(&policy, &request).rule(),
            rule,
            "{path} {headers:?}"
        );
    }
    let mut tagged = request("/z", &[]);
    tagged
        .extensions_mut()
        .insert(RequestTags::new().with_tag("env", "r"));
    let evaluation = evaluate(&policy, &tagged);
    assert_eq!((evaluation.rule(), evaluation.rule_index()), ("tagged", 5));
}

#[test]
fn many_headers_are_matched_too() {
    let rules: Vec<_> = (0..40)
        .map(|i| format!("{{ name: r{i}, match: [{{ headers: {{ x-{i}: {{ exact: a }} }} }}] }}"))
        .collect();
    let policy = compiled(&format!("rules: [{}]", rules.join(", ")));
    for i in [0, 15, 16, 39] {
        let request = request("/", &[(&format!("x-{i}"), "a")]);
        assert_eq!(evaluate(&policy, &request).rule(), format!("r{i}"));
    }
}

#[test]
fn modes_say_who_decides() {
    let of = |mode: &str, rule_mode: &str| {
        let policy = compiled(&format!(
            "mode: {mode}\nrules: [{{ name: a, mode: {rule_mode} }}]"
        ));
        policy
            .evaluate(&RequestHead::of(&keyed("k")), 0)
            .map(|evaluation| evaluation.decides)
    };
    for (mode, rule, decides) in [
        ("off", "enforce", None),
        ("enforce", "off", None),
        ("observe", "enforce", Some(Decides::BaselineObserved)),
        ("enforce", "observe", Some(Decides::BaselineObserved)),
        ("enforce", "enforce", Some(Decides::Policy)),
        ("{ enforce_percent: 0 }", "enforce", Some(Decides::Baseline)),
        ("enforce", "{ enforce_percent: 100 }", Some(Decides::Policy)),
    ] {
        assert_eq!(of(mode, rule), decides, "{mode} {rule}");
    }
    let half = compiled("mode: { enforce_percent: 50 }");
    let keyless = request("/", &[]);
    let decides = |draw| {
        half.evaluate(&RequestHead::of(&keyless), draw)
            .map(|evaluation| evaluation.decides)
    };
    assert_eq!(
        (decides(0), decides(u64::MAX)),
        (Some(Decides::Policy), Some(Decides::Baseline))
    );
}

#[test]
fn only_salted_tenants_have_a_salt() {
    let policy = compiled("tenants: { a: { mode: salted }, b: { mode: shared } }");
    let salt = |tenant: &str| {
        let mut request = keyed("k");
        request
            .extensions_mut()
            .insert(RequestTags::new().with_tenant(tenant));
        evaluate(&policy, &request).salt
    };
    assert_eq!((salt("a"), salt("b")), (name_seed("a"), 0));
}
