//! Deciding a request allocates nothing.

use std::{hint::black_box, sync::Arc};

use http::Request;
use ringfence_core::{Instance, RequestTags, Snapshot, View, ViewConfig};
use ringfence_policy::{KeySecret, PolicyContext, PolicyDocument, RequestHead, TagAuthority};
use ringfence_testkit::allocations;

const POLICY: &str = "
ringfence: 1
mode: { enforce_percent: 50 }
zone: { prefer_local: true }
gray:
  first: { to: { version: v2 }, percent: 10, tenants: [acme] }
  second: { to: { lane: blue }, percent: 50 }
tenants:
  acme: { mode: dedicated }
  globex: { mode: salted }
  default: { mode: shuffle_shard, size: 3 }
rules:
  - { name: a, match: [{ path: { exact: /a } }, { headers: { x-env: { one_of: [a, b] } }, tags: { env: { exact: q } } }] }
  - { name: b, match: [{ grpc: { service: s.S, method: M } }], key: [{ cookie: none }] }
  - name: c
    match: [{ path: { prefix: /c }, methods: [POST] }]
    tags_from_headers: { x-tenant: { tag: tenant, trusted: true }, x-lane: { tag: lane } }
    key:
      - { claim: sub }
      - { cookie: none }
      - { query: none }
      - all:
          - { header: x-tenant }
          - { header: x-user, normalise: [trim, uuid_lower, case_fold_ascii, percent_decode_unreserved, trailing_slash, nfc] }
          - { header: id-bin }
          - { path_segment: 1 }
    keyed_hash: pepper
    gray: [first, second]
";

#[test]
fn deciding_and_finding_the_route_allocate_nothing() {
    let authority = TagAuthority::new();
    let context = PolicyContext::new()
        .with_zone("az-1")
        .with_secret("pepper", KeySecret::new([7; 16]))
        .with_authority(&authority);
    let policy = PolicyDocument::parse_and_compile(POLICY, &context).expect("legal");
    let instance = Instance::builder("a", "h:1").build().expect("legal");
    let plans = policy.plans().clone();
    let first = View::first(
        ViewConfig::default(),
        plans.clone(),
        Arc::new(Snapshot::new([instance])),
        |_| None,
    );
    let request = |tenant: &str| {
        let mut request = Request::post("/c/d?user=1")
            .header("x-tenant", tenant)
            .header("x-lane", "blue")
            .header("x-user", " 6BA7B810-9DAD-11D1-80B4-00C04FD430C8 ")
            .header("id-bin", "AAECAw==")
            .header("cookie", "a=b; c=d")
            .body(())
            .expect("legal");
        request
            .extensions_mut()
            .insert(authority.gray("second", "tester"));
        request
            .extensions_mut()
            .insert(RequestTags::new().with_version("v9"));
        request
    };
    for tenant in ["acme", "globex", "anybody"] {
        let request = request(tenant);
        let warm = policy
            .evaluate(&RequestHead::of(&request), 7)
            .expect("not off");
        let key = first.key(warm.plan, &warm.tags);
        let view = first.next(plans.clone(), Arc::clone(first.snapshot()), [key], |_| None);
        let info = allocations(|| {
            let head = RequestHead::of(&request);
            let evaluation = policy.evaluate(&head, 7).expect("not off");
            assert_eq!(evaluation.rule(), "c");
            assert_eq!(evaluation.key_bytes().map(<[u8]>::len), Some(8));
            assert_eq!(
                evaluation.gray.as_ref().map(|gray| gray.release),
                Some("second")
            );
            assert_eq!(evaluation.tenant.map(|(name, _)| name), Some(tenant));
            let route = view.route(evaluation.plan, &evaluation.tags);
            assert!(route.is_some(), "it is prepared");
            black_box((evaluation, route));
        });
        assert_eq!(info.count_total, 0, "{tenant}");
    }
}
