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
           e: { mode: shuffle_shard, size: 3 }, f: { mode: shuffle_shard, size: 3 }, default: { mode: shared } }\n\
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

#[test]
fn what_does_not_fit_together_is_refused_with_its_place() {
    let gray = "gray: { r: { to: { version: v2 } } }";
    for (text, path, line, reason) in [
        (
            "rules: [{ name: a }, { name: a }]",
            "rules[1].name",
            2,
            "there is another rule `a`",
        ),
        (
            "rules: [{ name: ' ' }]",
            "rules[0].name",
            2,
            "a rule needs a name",
        ),
        (
            "rules: [{ name: default }]",
            "rules[0].name",
            2,
            "is the name of the rule for requests that no other matches",
        ),
        (
            "rules:\n- name: a\n  gray: [chekout]\ngray:\n  checkout: { to: { version: v2 } }",
            "rules[0].gray[0]",
            4,
            "no release `chekout`, did you mean `checkout`?",
        ),
        (
            "gray:\n  r: { to: {} }",
            "gray.r.to",
            3,
            "needs what its instances have",
        ),
        (
            "gray:\n  r: { to: { a: x, b: z } }",
            "gray.r",
            3,
            "`marker` must say",
        ),
        (
            "gray:\n  r: { to: { a: x }, marker: b }",
            "gray.r.marker",
            3,
            "`b` is not in `to`",
        ),
        (
            "gray:\n  r: { to: { tenant: x } }",
            "gray.r.to.tenant",
            3,
            "cannot be a release",
        ),
        (
            "tenants:\n  default: { mode: own_ring }",
            "tenants.default",
            3,
            "use `salted`",
        ),
        (
            "tenants:\n  a: { mode: shuffle_shard, size: 0 }",
            "tenants.a.size",
            3,
            "shard size is 0",
        ),
        (
            "zone: { overprovisioning_factor: 99 }",
            "zone.overprovisioning_factor",
            2,
            "is 99",
        ),
        (
            "zone: { spill_permille: { elsewhere: 1001 } }",
            "zone.spill_permille.elsewhere",
            2,
            "is 1001",
        ),
        (
            "rules: [{ name: a, key: [{ function: shart }] }]",
            "rules[0].key[0].function",
            2,
            "did you mean `shard`?",
        ),
        (
            "rules: [{ name: a, key: [{ header: 'a b' }] }]",
            "rules[0].key[0].header",
            2,
            "is no header name",
        ),
        (
            "rules: [{ name: a, key: [{ all: [{ peer: {} }] }] }]",
            "rules[0].key[0].all",
            2,
            "at least two",
        ),
        (
            "rules: [{ name: a, keyed_hash: salt }]",
            "rules[0].keyed_hash",
            2,
            "no secret `salt`, there is: pepper",
        ),
        (
            "rules: [{ name: a, limits: { max_attempts: 9 } }]",
            "rules[0].limits.max_attempts",
            2,
            "allowed is 1..=8",
        ),
        (
            "rules: [{ name: a, limits: { max_key_len: 0 } }]",
            "rules[0].limits.max_key_len",
            2,
            "allowed is 1..=",
        ),
        (
            "rules: [{ name: a, match: [{ path: { regex: '(' } }] }]",
            "rules[0].match[0].path.regex",
            2,
            "unclosed group",
        ),
        (
            "rules: [{ name: a, match: [{ methods: ['G T'] }] }]",
            "rules[0].match[0].methods[0]",
            2,
            "is no method",
        ),
        (
            "rules: [{ name: a, match: [{ grpc: { service: a/b } }] }]",
            "rules[0].match[0].grpc.service",
            2,
            "written apart",
        ),
        (
            "rules: [{ name: a, pools: [{ require: { tenant: x } }] }]",
            "rules[0].pools[0].require.tenant",
            2,
            "said in `tenants`",
        ),
        (
            "rules: [{ name: a, pools: [{ require: { version: local } }] }]",
            "rules[0].pools[0].require.version",
            2,
            "only zone and region",
        ),
        (
            "rules: [{ name: a, pools: [{ min_share: 101 }] }]",
            "rules[0].pools",
            2,
            "min_share is 101",
        ),
        (
            "rules: [{ name: a, tags_from_headers: { x-a: { tag: '' } } }]",
            "rules[0].tags_from_headers.x-a.tag",
            2,
            "a tag needs a name",
        ),
        (
            &format!("{gray}\nrules: [{{ name: a, pools: [{{ require: {{ version: v2 }} }}] }}]"),
            "rules[0].pools[0].require.version",
            3,
            "belongs to release `r`",
        ),
        (
            &format!(
                "{gray}\nrules: [{{ name: a, match: [{{}}, {{ tags: {{ version: {{ exact: v2 }} }} }}], pools: [{{ require: {{ version: v2 }} }}] }}]"
            ),
            "rules[0].pools[0].require.version",
            3,
            "belongs to release `r`",
        ),
    ] {
        let text = format!("ringfence: 1\n{text}");
        let error = PolicyDocument::parse_and_compile(&text, &context()).expect_err(&text);
        assert_eq!(error.path(), path, "{error}");
        assert_eq!(error.line(), Some(line), "{error}");
        assert!(error.reason().contains(reason), "{error}");
    }
}
