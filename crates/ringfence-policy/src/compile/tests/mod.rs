mod refusals;

use ringfence_core::{PlanId, RequestTags};

use super::*;
use crate::{KeySecret, PolicyContext};

fn context() -> PolicyContext {
    PolicyContext::new()
        .with_zone("az-1")
        .with_secret("pepper", KeySecret::new([1; 16]))
        .with_function("shard", |_| None)
}

fn compiled(text: &str) -> CompiledPolicy {
    PolicyDocument::parse_and_compile(&format!("ringfence: 1\n{text}"), &context()).expect(text)
}

/// The stages of the first rule for a class of tenants and a release.
fn stages(
    policy: &CompiledPolicy,
    class: usize,
    release: Option<usize>,
    tags: &RequestTags,
) -> Vec<String> {
    let plan = policy.rules[0].plan(class, release);
    assert_ne!(plan, PlanId::ROUTING);
    let plan = policy.plans().get(plan).expect("it is there");
    plan.stages(tags).iter().map(ToString::to_string).collect()
}

const OUTSIDE: &str = "version!=canary|gray, gray absent, tenant absent";

#[test]
fn a_rule_without_pools_heeds_the_version_that_is_asked_for() {
    let policy = compiled("rules: [{ name: a }]");
    let tags = RequestTags::new();
    assert_eq!(stages(&policy, 0, None, &tags), [OUTSIDE]);
    assert_eq!(
        stages(&policy, 0, None, &tags.with_version("v2")),
        ["version=v2, gray absent, tenant absent", OUTSIDE]
    );
}

#[test]
fn releases_are_kept_out_of_every_other_pool() {
    let policy = compiled(
        "gray: { lane: { to: { lane: blue } }, next: { to: { version: next, disk: ssd }, marker: version, else: fail } }\n\
         rules: [{ name: a, gray: [lane, next], pools: [{ require: { version: stable, zone: local } }, { require: { version: stable } }] }]",
    );
    let tags = RequestTags::new();
    let stable = ["zone=az-1, ", ""]
        .map(|zone| format!("version=stable, {zone}gray absent, lane absent, tenant absent"));
    assert_eq!(stages(&policy, 0, None, &tags), stable);
    assert_eq!(
        stages(&policy, 0, Some(0), &tags),
        [
            "version=stable, zone=az-1, gray absent, lane=blue, tenant absent",
            "version=stable, gray absent, lane=blue, tenant absent",
            &stable[0],
            &stable[1],
        ]
    );
    assert_eq!(
        stages(&policy, 0, Some(1), &tags),
        [
            "version=next, zone=az-1, disk=ssd, gray absent, lane absent, tenant absent",
            "version=next, disk=ssd, gray absent, lane absent, tenant absent",
        ],
        "it fails rather than go to the baseline"
    );
}

#[test]
fn each_kind_of_tenant_has_its_pools() {
    let policy = compiled(
        "tenants: { a: { mode: dedicated }, b: { mode: dedicated, strict: false }, c: { mode: own_ring }, d: { mode: salted },\n\
           e: { mode: shuffle_shard, size: 3 }, g: { mode: shuffle_shard, size: 3, strict: false }, f: { mode: shuffle_shard, size: 3 }, default: { mode: shared } }\n\
         rules: [{ name: a, pools: [{}] }]",
    );
    let of = |tenant: &str| {
        let class = policy.tenants.class(tenant);
        stages(
            &policy,
            class.plan,
            None,
            &RequestTags::new().with_tenant(tenant),
        )
    };
    let own = |tenant: &str| format!("version!=canary|gray, gray absent, tenant={tenant}");
    assert_eq!(of("a"), [own("a")]);
    assert_eq!(of("b"), [own("b"), OUTSIDE.to_owned()]);
    assert_eq!(
        of("c"),
        [format!(
            "{OUTSIDE}, ring seed {:016x}",
            ringfence_core::name_seed("c")
        )]
    );
    assert_eq!(of("d"), [OUTSIDE]);
    for tenant in ["e", "f"] {
        let seed = ringfence_core::name_seed(tenant);
        assert_eq!(
            of(tenant),
            [format!("{OUTSIDE}, shard of 3 by {seed:016x}")]
        );
    }
    let seed = ringfence_core::name_seed("g");
    let shard = format!("{OUTSIDE}, shard of 3 by {seed:016x}");
    assert_eq!(of("g"), [shard, OUTSIDE.to_owned()]);
    assert_eq!(
        policy.tenants.class("e").plan,
        policy.tenants.class("f").plan
    );
    assert_eq!(of("nobody named it"), [OUTSIDE]);
}

#[test]
fn the_own_zone_goes_first_and_keys_that_leave_it_do_not_come_back() {
    let policy = compiled(
        "zone: { prefer_local: true }\nrules: [{ name: a, pools: [{ prefer: { lane: blue } }] }]",
    );
    let with = |zone: &str, lane: &str| {
        format!("version!=canary|gray, {zone}gray absent, {lane}tenant absent")
    };
    assert_eq!(
        stages(&policy, 0, None, &RequestTags::new()),
        [
            with("zone=az-1, ", "lane=blue, "),
            with("zone!=az-1, ", "lane=blue, "),
            with("", "lane=blue, "),
            with("zone=az-1, ", ""),
            with("zone!=az-1, ", ""),
            with("", ""),
        ]
    );
}

#[test]
fn an_unknown_zone_is_no_preference() {
    for local in [
        "zone: { prefer_local: true, local: '' }",
        "zone: { prefer_local: true }",
    ] {
        let text = format!(
            "ringfence: 1\n{local}\nrules: [{{ name: a, pools: [{{ require: {{ zone: local }} }}, {{ prefer: {{ zone: local }} }}] }}]"
        );
        let policy =
            PolicyDocument::parse_and_compile(&text, &PolicyContext::new()).expect("legal");
        assert_eq!(
            stages(&policy, 0, None, &RequestTags::new()),
            [OUTSIDE],
            "{local}"
        );
    }
}

#[test]
fn a_strict_rule_ends_where_instances_are_registered() {
    let policy = compiled(
        "rules: [{ name: a, strict: true, pools: [{ require: { env: x }, prefer: { zone: local } }, { require: { env: z } }] }]",
    );
    let with = |env: &str, zone: &str| {
        format!("version!=canary|gray, {zone}env={env}, gray absent, tenant absent")
    };
    assert_eq!(
        stages(&policy, 0, None, &RequestTags::new()),
        [
            with("x", "zone=az-1, "),
            with("x", ""),
            format!("strict {}", with("x", "")),
            with("z", ""),
            format!("strict {}", with("z", "")),
        ]
    );
}

#[test]
fn rules_that_route_alike_share_their_plans() {
    let rules: Vec<_> = (0..100)
        .map(|i| format!("{{ name: r{i}, match: [{{ path: {{ exact: /{i} }} }}] }}"))
        .collect();
    let policy = compiled(&format!("rules: [{}]", rules.join(", ")));
    assert_eq!(policy.plans().len(), 1);
    assert_eq!(policy.rules.len(), 101);
}

#[test]
fn a_rule_for_those_who_ask_for_a_release_may_name_its_value() {
    compiled(
        "gray: { r: { to: { lane: blue } } }\n\
         rules: [{ name: a, match: [{ tags: { lane: { exact: blue } } }], pools: [{ require: { lane: blue } }] }]",
    );
}

/// To be in a release takes its tag, a tenant or the percentage. A tag that any part of the program or a trusted header sets
/// for other reasons is no way in.
#[test]
fn asking_for_the_value_of_a_release_is_no_way_into_it() {
    let policy = compiled(
        "gray: { next: { to: { version: next } }, lane: { to: { lane: blue } } }\n\
         rules: [{ name: a }, { name: b, pools: [{ require: { lane: { from: request } } }, {}] }]",
    );
    let tags = RequestTags::new()
        .with_version("next")
        .with_tag("lane", "blue");
    let outside = "version!=canary|gray|next, gray absent, lane absent, tenant absent";
    // What is asked for and kept out at once is nowhere.
    assert_eq!(
        stages(&policy, 0, None, &tags),
        [
            "version=next, version!=next, gray absent, lane absent, tenant absent",
            outside
        ]
    );
    let rule = &policy.rules[1];
    let plan = policy.plans().get(rule.plan(0, None)).expect("it is there");
    let shown: Vec<_> = plan.stages(&tags).iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "version!=canary|gray|next, gray absent, lane=blue, lane!=blue, tenant absent",
            outside
        ]
    );
}

#[test]
fn a_stopped_release_is_stopped_for_rules_that_name_its_value_too() {
    let stages_of = |enabled: bool| {
        let policy = compiled(&format!(
            "gray: {{ r: {{ to: {{ lane: blue }}, enabled: {enabled} }} }}\n\
             rules: [{{ name: a, match: [{{ tags: {{ lane: {{ exact: blue }} }} }}], pools: [{{ require: {{ lane: blue }} }}] }}]",
        ));
        stages(
            &policy,
            0,
            None,
            &RequestTags::new().with_tag("lane", "blue"),
        )
    };
    let with = |lane: &str| {
        [format!(
            "version!=canary|gray, gray absent, lane={lane}, tenant absent"
        )]
    };
    assert_eq!(stages_of(true), with("blue"));
    assert_eq!(
        stages_of(false),
        with(""),
        "no instance has one of no values"
    );
}

#[test]
fn rings_of_their_own_are_bounded() {
    let tenants: Vec<_> = (0..600)
        .map(|i| format!("t{i}: {{ mode: own_ring }}"))
        .collect();
    let text = |pool: &str| {
        let tenants = tenants.join(", ");
        format!("ringfence: 1\ntenants: {{ {tenants} }}\nrules: [{{ name: a, pools: [{pool}] }}]")
    };
    let compile = |pool: &str| PolicyDocument::parse_and_compile(&text(pool), &context());
    // The rule for unmatched requests shares the rings; only its plan for others heeds the version that is asked for.
    assert_eq!(compile("{}").expect("legal").plans().len(), 602);
    let error = compile("{ require: { env: x } }").expect_err("twice 600");
    assert_eq!((error.path(), error.line()), ("tenants", Some(2)));
}

#[test]
fn plans_alone_decide_nothing() {
    let plans = compiled("rules: [{ name: a }]").plans().clone();
    let policy = CompiledPolicy::of_plans(plans);
    assert_eq!(policy.plans().len(), 1);
    let request = http::Request::new(());
    assert!(
        policy
            .evaluate(&crate::RequestHead::of(&request), 0)
            .is_none()
    );
}
