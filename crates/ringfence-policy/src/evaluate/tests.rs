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
fn tags_count_only_from_whom_they_may_come() {
    let authority = TagAuthority::new();
    let context = PolicyContext::new().with_authority(&authority);
    let policy = compiled_with(
        "rules: [{ name: a, tags_from_headers: { x-tenant: { tag: tenant, trusted: true }, x-version: { tag: version } } }]",
        &context,
    );
    let tenant = |request: &Request<()>| {
        let evaluation = evaluate(&policy, request);
        assert_eq!(evaluation.strip(), ["x-version"]);
        assert_eq!(evaluation.tags.get(&Attribute::Version), None);
        evaluation.tenant.map(|(name, _)| name.to_owned())
    };
    let mut request = request("/", &[("x-tenant", " h "), ("x-version", "gray")]);
    assert_eq!(tenant(&request).as_deref(), Some("h"));
    let stranger = TagAuthority::new().tags(RequestTags::new().with_tenant("forged"), "m");
    request.extensions_mut().insert(stranger);
    assert_eq!(tenant(&request).as_deref(), Some("h"));
    request
        .extensions_mut()
        .insert(RequestTags::new().with_tenant("p"));
    assert_eq!(tenant(&request).as_deref(), Some("p"));
    request
        .extensions_mut()
        .insert(authority.tags(RequestTags::new().with_tenant("t"), "me"));
    assert_eq!(tenant(&request).as_deref(), Some("t"));
}

#[test]
fn all_tags_are_visited_once_and_in_order() {
    let policy = compiled(
        "rules: [{ name: a, tags_from_headers: { x-a: { tag: aa, trusted: true }, x-t: { tag: tenant, trusted: true } } }]",
    );
    let mut request = request("/", &[("x-a", "1"), ("x-t", "h")]);
    let tags = RequestTags::new()
        .with_tenant("p")
        .with_zone("z")
        .with_tag("aa", "");
    request.extensions_mut().insert(tags.clone());
    let evaluation = evaluate(&policy, &request);
    assert_eq!(evaluation.tags.to_tags(), tags.with_tag("aa", "1"));
    assert!(!evaluation.tags.is_untagged());
    let bare = self::request("/", &[]);
    assert!(evaluate(&policy, &bare).tags.is_untagged());
}

const RELEASES: &str = "gray:\n\
    \x20 list: { to: { version: v2 }, tenants: [acme] }\n\
    \x20 all: { to: { lane: blue }, percent: 100 }\n\
    \x20 stopped: { to: { lane: red }, percent: 100, enabled: false }\n\
    rules: [{ name: a, gray: [stopped, list, all] }]";

#[test]
fn a_request_is_in_the_release_of_its_tag_then_of_its_tenant_then_of_its_key() {
    let authority = TagAuthority::new();
    let policy = compiled_with(RELEASES, &PolicyContext::new().with_authority(&authority));
    let gray = |request: &Request<()>| {
        evaluate(&policy, request)
            .gray
            .map(|gray| (gray.release.to_owned(), gray.why))
    };
    let mut request = keyed("k");
    assert_eq!(gray(&request), Some(("all".into(), GrayWhy::Percent)));
    request
        .extensions_mut()
        .insert(RequestTags::new().with_tenant("acme"));
    assert_eq!(gray(&request), Some(("list".into(), GrayWhy::Tenant)));
    request.extensions_mut().insert(authority.gray("all", "me"));
    assert_eq!(gray(&request), Some(("all".into(), GrayWhy::Tag)));
    for (tag, why) in [
        (authority.gray("stopped", "me"), "it is stopped"),
        (authority.gray("other", "me"), "nobody knows it"),
        (TagAuthority::new().gray("all", "me"), "it is forged"),
    ] {
        request.extensions_mut().insert(tag);
        assert_eq!(
            gray(&request),
            Some(("list".into(), GrayWhy::Tenant)),
            "{why}"
        );
    }
    let keyless = self::request("/", &[]);
    assert_eq!(
        gray(&keyless),
        None,
        "without a key nobody is in by percentage"
    );
}

#[test]
fn without_an_authority_no_token_counts() {
    let policy = compiled(RELEASES);
    let mut request = request("/", &[]);
    request
        .extensions_mut()
        .insert(TagAuthority::new().gray("all", "me"));
    assert_eq!(evaluate(&policy, &request).gray, None);
}

#[test]
fn every_use_of_a_tag_is_audited() {
    let authority = TagAuthority::new();
    let policy = compiled_with(
        &format!("{} ", RELEASES.replace("name: a", "name: a, tags_from_headers: { x-t: { tag: tenant }, x-lane: { tag: lane }, x-other: { tag: other } }")),
        &PolicyContext::new().with_authority(&authority),
    );
    let events = |request: &Request<()>| -> Vec<(String, String, AuditReason)> {
        let events: Vec<AuditEvent> = evaluate(&policy, request).audit("shop");
        assert!(
            events
                .iter()
                .all(|event| event.service == "shop" && event.rule == "a")
        );
        events
            .into_iter()
            .map(|event| (event.who, event.tag, event.reason))
            .collect()
    };
    let event = |who: &str, tag: &str, reason| (who.to_owned(), tag.to_owned(), reason);
    let mut request = request("/", &[("x-other", "1")]);
    assert_eq!(events(&request), [], "nothing to tell");
    request
        .headers_mut()
        .insert("x-lane", "blue\u{e4}".parse().unwrap());
    request
        .extensions_mut()
        .insert(VerifiedClaims::from_iter([("sub", "u-1")]));
    request
        .extensions_mut()
        .insert(RequestTags::new().with_tenant("acme"));
    assert_eq!(
        events(&request),
        [
            event("u-1", "gray=list", AuditReason::TenantListed),
            event("u-1", "tenant=acme", AuditReason::Program),
            event("u-1", "lane=blue\u{e4}", AuditReason::UntrustedHeader),
        ]
    );
    request.headers_mut().remove("x-lane");
    request
        .extensions_mut()
        .insert(authority.tags(RequestTags::new().with_tenant("t"), "gateway"));
    for (tag, reason) in [
        (authority.gray("all", "tester"), AuditReason::Authority),
        (authority.gray("stopped", "tester"), AuditReason::Stopped),
        (authority.gray("other", "tester"), AuditReason::NotInRule),
        (
            TagAuthority::new().gray("all", "tester"),
            AuditReason::ForeignAuthority,
        ),
    ] {
        let name = format!("gray={}", tag.release());
        request.extensions_mut().insert(tag);
        assert_eq!(
            events(&request),
            [
                event("tester", &name, reason),
                event("gateway", "tenant=t", AuditReason::Authority)
            ]
        );
    }
    request
        .extensions_mut()
        .insert(TagAuthority::new().tags(RequestTags::new().with_tenant("x"), "mallory"));
    request.extensions_mut().remove::<RequestTags>();
    assert_eq!(
        events(&request)[1],
        event("mallory", "tenant=x", AuditReason::ForeignAuthority)
    );
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

/// The share of keys that are in, which of them, and what a policy at a percentage says of a key.
fn is_in(name: &str, percent: f64, key: &str) -> bool {
    let policy = compiled(&format!(
        "gray: {{ {name}: {{ to: {{ version: v2 }}, percent: {percent} }} }}\nrules: [{{ name: a, gray: [{name}] }}]"
    ));
    evaluate(&policy, &keyed(key)).gray.is_some()
}

#[test]
fn the_share_is_what_it_says() {
    let policy = compiled(
        "gray: { r: { to: { version: v2 }, percent: 5 } }\nrules: [{ name: a, gray: [r] }]",
    );
    let keys = (0..100_000).map(|i| keyed(&format!("user-{i}")));
    let gray = keys
        .filter(|request| evaluate(&policy, request).gray.is_some())
        .count();
    assert!((4_700..=5_300).contains(&gray), "{gray} of 100,000 for 5 %");
}

#[test]
fn who_is_in_is_a_format() {
    let first = (0..).find(|i| is_in("checkout-v2", 5.0, &format!("user-{i}")));
    let hash = |i: u32| {
        let seed = xxh3_64_with_seed(b"checkout-v2", 0x6772_6179);
        u128::from(xxh3_64_with_seed(format!("user-{i}").as_bytes(), seed)) * 100 < (5 << 64)
    };
    assert_eq!(first, (0..).find(|i| hash(*i)));
}

#[test]
fn releases_choose_independently() {
    let both = (0..2_000).filter(|i| {
        let key = format!("user-{i}");
        is_in("one", 30.0, &key) && is_in("other", 30.0, &key)
    });
    let both = both.count();
    assert!((110..=250).contains(&both), "{both} of 2,000 for 9 %");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whoever_is_in_stays_in_while_the_share_rises(key in "\\PC{1,20}", mut shares in prop::collection::vec(0u16..=10_000, 2..8)) {
        shares.sort_unstable();
        let mut was_in = false;
        for share in shares {
            let is_in = is_in("r", f64::from(share) / 100.0, &key);
            prop_assert!(is_in || !was_in, "fell out at {share}");
            prop_assert_eq!(is_in, self::is_in("r", f64::from(share) / 100.0, &key), "it is sticky");
            was_in = is_in;
        }
    }
}

/// What the index must not change: the first rule that matches, asked one after the other.
fn first_by_scan(rules: &[(usize, usize, usize)], path: &str, headers: &[String]) -> String {
    let accepts = |(kind, a, b): &(usize, usize, usize)| match kind {
        0 => path == format!("/s{a}/m{b}"),
        1 => path.starts_with(&format!("/s{a}/")),
        2 => headers.iter().any(|value| *value == format!("v{a}")),
        3 => path.starts_with(&format!("/s{a}")),
        4 => headers.is_empty(),
        _ => path == format!("/s{a}/m{b}") || headers.iter().any(|value| *value == format!("v{b}")),
    };
    rules
        .iter()
        .position(accepts)
        .map_or("default".to_owned(), |place| format!("r{place}"))
}

fn written(place: usize, (kind, a, b): (usize, usize, usize)) -> String {
    let matching = match kind {
        0 => format!("{{ grpc: {{ service: s{a}, method: m{b} }} }}"),
        1 => format!("{{ grpc: {{ service: s{a} }} }}"),
        2 => format!("{{ headers: {{ x-v: {{ exact: v{a} }} }} }}"),
        3 => format!("{{ path: {{ prefix: /s{a} }} }}"),
        4 => "{ headers: { x-v: { present: false } } }".to_owned(),
        _ => format!(
            "{{ path: {{ exact: /s{a}/m{b} }} }}, {{ headers: {{ x-v: {{ exact: v{b} }} }} }}"
        ),
    };
    format!("{{ name: r{place}, match: [{matching}] }}")
}

proptest! {
    #[test]
    fn the_index_finds_what_a_scan_finds(
        rules in prop::collection::vec((0usize..6, 0usize..3, 0usize..3), 0..12),
        service in 0usize..4, method in 0usize..4,
        values in prop::collection::vec(0usize..4, 0..3),
    ) {
        let texts: Vec<_> = rules.iter().enumerate().map(|(i, rule)| written(i, *rule)).collect();
        let policy = compiled(&format!("rules: [{}]", texts.join(", ")));
        let path = format!("/s{service}/m{method}");
        let values: Vec<_> = values.iter().map(|v| format!("v{v}")).collect();
        let headers: Vec<_> = values.iter().map(|value| ("x-v", &**value)).collect();
        let request = request(&path, &headers);
        prop_assert_eq!(evaluate(&policy, &request).rule(), first_by_scan(&rules, &path, &values));
    }
}
