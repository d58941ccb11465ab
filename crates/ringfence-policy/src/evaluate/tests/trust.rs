//! Whose tags are believed.

use super::*;

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

/// A client that adds its own line to what the gateway sets must not win, whichever of them comes first.
#[test]
fn trusted_headers_that_contradict_themselves_are_not_believed() {
    let policy = compiled(
        "rules: [{ name: a, tags_from_headers: { x-tenant: { tag: tenant, trusted: true } } }]",
    );
    for (values, tenant) in [
        (&["acme"][..], Some("acme")),
        (&["acme", "acme"], Some("acme")),
        (&["acme", "globex"], None),
        (&["globex", "acme"], None),
        (&["", "acme"], None),
        (&["acme", "acme", "ACME"], None),
        (&["acme,globex"], Some("acme,globex")),
    ] {
        let headers: Vec<_> = values.iter().map(|value| ("x-tenant", *value)).collect();
        let request = request("/", &headers);
        let evaluation = evaluate(&policy, &request);
        assert_eq!(
            evaluation.tenant.map(|(name, _)| name),
            tenant,
            "{values:?}"
        );
        let events = evaluation.audit("shop");
        let told: Vec<_> = events
            .iter()
            .map(|event| (&*event.tag, event.reason))
            .collect();
        match tenant {
            Some(tenant) => {
                assert_eq!(
                    told,
                    [(&*format!("tenant={tenant}"), AuditReason::TrustedHeader)]
                );
            }
            None => {
                let tag = format!("tenant={}", values.join(", "));
                assert_eq!(told, [(&*tag, AuditReason::ContradictoryHeader)]);
            }
        }
    }
}

#[test]
fn who_is_told_in_the_audit_is_bounded() {
    let policy = compiled("rules: [{ name: a }]");
    let mut request = request("/", &[]);
    let claims = VerifiedClaims::from_iter([("sub", "x".repeat(100_000))]);
    request.extensions_mut().insert(claims);
    request
        .extensions_mut()
        .insert(RequestTags::new().with_tenant("y".repeat(100_000)));
    for event in evaluate(&policy, &request).audit("shop") {
        let len = event.who.len() + event.tag.len();
        assert!(
            len < 2_000,
            "{len} bytes of one event are kept while it waits"
        );
    }
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

proptest! {
    #[test]
    fn no_header_panics_and_no_tag_is_empty_or_untrimmed(
        value in prop::collection::vec(prop_oneof![32u8..127, 128u8..=255, Just(b'\t')], 0..60),
        path in "/[!-~&&[^?#\"<>\\\\^`{|}]]{0,40}",
    ) {
        let policy = compiled(
            "tenants: { default: { mode: dedicated } }\n\
             rules:\n\
             - { name: a, match: [{ headers: { x-r: { regex: 'a.*' } } }, { path: { regex: '/[a-f]+' } }] }\n\
             - { name: b, tags_from_headers: { x-t: { tag: tenant, trusted: true }, x-u: { tag: version } }, key: [{ header: x-t, normalise: [trim, nfc, json_canonical] }, { path_segment: 1 }] }",
        );
        let mut request = request("/", &[]);
        if let Ok(uri) = path.parse() {
            *request.uri_mut() = uri;
        }
        for name in ["x-r", "x-t", "x-u", "x-t"] {
            request.headers_mut().append(name, http::HeaderValue::from_bytes(&value).expect("legal"));
        }
        let evaluation = evaluate(&policy, &request);
        if let Some((tenant, _)) = evaluation.tenant {
            prop_assert!(!tenant.is_empty() && tenant.trim() == tenant);
        }
        prop_assert_eq!(evaluation.key.key.is_some(), evaluation.key_source().is_some());
        for event in evaluation.audit("shop") {
            prop_assert!(!event.to_string().chars().any(char::is_control), "{event:?}");
        }
    }
}
