//! Who is in a release, and what is recorded of it.

use super::*;

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
