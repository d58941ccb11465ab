//! Requests without trusted tags never get to gray or dedicated instances, whatever the policy and the instances.
#![allow(
    clippy::expect_used,
    reason = "helpers of integration tests are not seen as tests"
)]

use std::sync::Arc;

use http::Request;
use proptest::prelude::*;
use ringfence_core::{Instance, RequestTags, Snapshot, View, ViewConfig};
use ringfence_policy::{
    CompiledPolicy, GrayElse, GrayRelease, Percent, PolicyContext, PolicyDocument, PoolStage,
    RequestHead, RoutingKey, Rule, TagMatch, TenantMode, ZonePolicy,
};

fn value() -> impl Strategy<Value = TagMatch> {
    prop_oneof![
        prop::sample::select(vec!["v1", "a", "b"]).prop_map(TagMatch::is),
        Just(TagMatch::Request),
    ]
}

fn pool() -> impl Strategy<Value = PoolStage> {
    let name = || prop::sample::select(vec!["version", "zone", "env"]);
    let some = || prop::collection::btree_map(name().prop_map(str::to_owned), value(), 0..2);
    (some(), some(), 1u32..3).prop_map(|(require, mut prefer, min_usable)| {
        prefer.retain(|name, _| !require.contains_key(name));
        PoolStage {
            require,
            prefer,
            min_usable,
            ..PoolStage::default()
        }
    })
}

fn tenant_mode() -> impl Strategy<Value = TenantMode> {
    prop_oneof![
        Just(TenantMode::Shared),
        Just(TenantMode::Salted),
        any::<bool>().prop_map(|strict| TenantMode::Dedicated { strict }),
        (1u32..4).prop_map(|size| TenantMode::ShuffleShard { size }),
    ]
}

prop_compose! {
    fn document()(
        pools in prop::collection::vec(pool(), 0..3),
        percent in 0u8..=100,
        enabled in any::<bool>(),
        fail in any::<bool>(),
        prefer_local in any::<bool>(),
        strict in any::<bool>(),
        named in tenant_mode(),
        default in tenant_mode(),
    ) -> PolicyDocument {
        let release = GrayRelease {
            percent: Percent::try_from(f64::from(percent)).expect("legal"),
            enabled,
            otherwise: if fail { GrayElse::Fail } else { GrayElse::Baseline },
            ..GrayRelease::to("version", "v2")
        };
        let mut document = PolicyDocument {
            zone: ZonePolicy { prefer_local, ..ZonePolicy::default() },
            ..PolicyDocument::default()
        }
        .with_gray("next", release)
        .with_gray("lane", GrayRelease::to("lane", "blue"))
        .with_tenant("acme", named)
        .with_rule(Rule { gray: vec!["next".to_owned()], pools, strict, ..Rule::named("all") });
        document.tenants.default = default;
        document
    }
}

/// Version, zone, tenant, lane, gray, health.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    bool,
);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let one_of = |values: &'static [&'static str]| prop::sample::select(values);
    let row = (
        one_of(&["", "v1", "v2", "gray", "canary"]),
        one_of(&["", "a", "b"]),
        one_of(&["", "", "acme", "globex"]),
        one_of(&["", "", "blue", "red"]),
        one_of(&["", "", "x"]),
        prop::bool::weighted(0.8),
    );
    prop::collection::vec(row, 0..12)
}

fn view(policy: &CompiledPolicy, rows: &[Row]) -> View {
    let instances =
        rows.iter()
            .enumerate()
            .map(|(i, (version, zone, tenant, lane, gray, healthy))| {
                Instance::builder(format!("i-{i}"), "h:1")
                    .version(*version)
                    .zone(*zone)
                    .tag("tenant", *tenant)
                    .tag("lane", *lane)
                    .tag("gray", *gray)
                    .healthy(*healthy)
                    .build()
                    .expect("legal")
            });
    let snapshot = Arc::new(Snapshot::new(instances));
    View::first(
        ViewConfig::default(),
        policy.plans().clone(),
        snapshot,
        |_| false,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn nobody_gets_where_he_does_not_belong(
        document in document(),
        rows in rows(),
        tenant in prop::sample::select(vec!["", "acme", "globex"]),
        key in "[a-z]{1,8}",
        hostile in any::<bool>(),
    ) {
        let policy = document.compile(&PolicyContext::new().with_zone("a")).expect("legal");
        let view = view(&policy, &rows);
        let mut builder = Request::get("/");
        if hostile {
            builder = builder.header("version", "v2").header("tenant", "globex").header("gray", "x").header("lane", "blue");
        }
        let mut request = builder.body(()).expect("legal");
        request.extensions_mut().insert(RoutingKey::from(key));
        if !tenant.is_empty() {
            request.extensions_mut().insert(RequestTags::new().with_tenant(tenant));
        }
        let head = RequestHead::of(&request);
        let evaluation = policy.evaluate(&head, 0).expect("not off");
        let is_in = evaluation.gray.is_some();
        let is_dedicated = matches!(evaluation.tenant, Some((_, TenantMode::Dedicated { .. })));
        let route = view.resolve(&view.key(evaluation.plan, &evaluation.tags));
        for stage in route.stages() {
            let Some(prepared) = view.route(evaluation.plan, &evaluation.tags) else { break };
            prop_assert!(prepared.stages().contains(stage));
        }
        if let Some(chosen) = route.choose(evaluation.key_bytes(), || 0) {
            for instance in chosen.pool.pool().iter() {
                let version = instance.version();
                prop_assert!(is_in || version != Some("v2"), "not in the release, but on {instance:?}");
                prop_assert!(!matches!(version, Some("gray" | "canary")), "{instance:?}");
                prop_assert!(instance.tag("gray").is_none() && instance.tag("lane").is_none(), "{instance:?}");
                match instance.tag("tenant") {
                    None => {}
                    Some(owner) => prop_assert!(is_dedicated && owner == tenant, "{tenant:?} on {instance:?}"),
                }
            }
            if let Some((_, TenantMode::Dedicated { strict: true })) = evaluation.tenant {
                prop_assert!(chosen.pool.pool().iter().all(|instance| instance.tag("tenant") == Some(tenant)));
            }
        }
    }
}
