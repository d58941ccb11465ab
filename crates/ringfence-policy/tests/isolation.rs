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
        (1u32..4, any::<bool>())
            .prop_map(|(size, strict)| TenantMode::ShuffleShard { size, strict }),
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
        |_| None,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn nobody_gets_where_he_does_not_belong(
        document in document(),
        rows in rows(),
        tenant in prop::sample::select(vec!["", "acme", "globex"]),
        asked in prop::sample::select(vec!["", "v1", "v2", "gray"]),
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
        request.extensions_mut().insert(RequestTags::new().with_tenant(tenant).with_version(asked));
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
            // The last attempt is for the pool behind.
            let pools = [Some(chosen.pool), chosen.next];
            let all = || pools.into_iter().flatten().flat_map(|pool| pool.pool().iter());
            for instance in all() {
                let version = instance.version();
                prop_assert!(is_in || version != Some("v2"), "not in the release, but on {instance:?}");
                let is_asked = version == Some(asked);
                prop_assert!(is_asked || !matches!(version, Some("gray" | "canary")), "{instance:?}");
                prop_assert!(instance.tag("gray").is_none() && instance.tag("lane").is_none(), "{instance:?}");
                match instance.tag("tenant") {
                    None => {}
                    Some(owner) => prop_assert!(is_dedicated && owner == tenant, "{tenant:?} on {instance:?}"),
                }
            }
            if let Some((_, TenantMode::Dedicated { strict: true })) = evaluation.tenant {
                prop_assert!(all().all(|instance| instance.tag("tenant") == Some(tenant)));
            }
            let fails = document.gray.get("next").is_some_and(|release| release.otherwise == GrayElse::Fail);
            if is_in && fails {
                prop_assert!(all().all(|instance| instance.version() == Some("v2")));
            }
        }
    }
}

/// What a tenant did to its instances is not done to those of others, unless the policy says so.
#[test]
fn a_shard_that_fails_takes_nobody_else_with_it() {
    let served = |strict: bool, threshold: u8| {
        let document = PolicyDocument::default()
            .with_tenant("acme", TenantMode::ShuffleShard { size: 2, strict })
            .with_rule(Rule::named("all"));
        let policy = document.compile(&PolicyContext::new()).expect("legal");
        let fleet = |sick: &[String]| {
            let instances = (0..12).map(|i| {
                let id = format!("i-{i}");
                let healthy = !sick.contains(&id);
                let builder = Instance::builder(id, "h:1").healthy(healthy);
                builder.build().expect("legal")
            });
            Arc::new(Snapshot::new(instances))
        };
        let config = ViewConfig::default().with_panic_threshold(threshold);
        let config = config.expect("in range");
        let mut request = Request::new(());
        request
            .extensions_mut()
            .insert(RequestTags::new().with_tenant("acme"));
        let ids = |snapshot: Arc<Snapshot>| {
            let view = View::first(config.clone(), policy.plans().clone(), snapshot, |_| None);
            let evaluation = policy.evaluate(&RequestHead::of(&request), 0);
            let evaluation = evaluation.expect("not off");
            let route = view.resolve(&view.key(evaluation.plan, &evaluation.tags));
            let pool = route.choose(Some(b"k"), || 0).map(|chosen| chosen.pool);
            let reached = pool.map(|pool| {
                let reached = pool.eligible().iter();
                reached
                    .filter_map(|member| pool.pool().instance(*member))
                    .map(|instance| instance.id().to_string())
                    .collect::<Vec<_>>()
            });
            reached.unwrap_or_default()
        };
        let shard = ids(fleet(&[]));
        assert_eq!(shard.len(), 2);
        let one = ids(fleet(&shard[..1]));
        assert_eq!(one, shard[1..], "a shard does not change with health");
        let served = ids(fleet(&shard));
        (shard, served)
    };
    let (shard, without_panic) = served(true, 0);
    assert!(without_panic.is_empty(), "it fails: {without_panic:?}");
    assert_eq!(served(true, 50), (shard.clone(), shard.clone()), "in panic");
    for threshold in [0, 50] {
        let (_, shared) = served(false, threshold);
        assert_eq!(shared.len(), 10, "all that are usable");
        assert!(shared.iter().all(|id| !shard.contains(id)));
    }
}
