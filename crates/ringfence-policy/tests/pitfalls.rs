//! Faults that other systems had, replayed with a policy.
#![allow(
    clippy::expect_used,
    reason = "helpers of tests, where a failure is to end the test"
)]

use std::{collections::BTreeMap, sync::Arc};

use http::Request;
use ringfence_core::{Instance, Snapshot, View, ViewConfig};
use ringfence_policy::{
    CompiledPolicy, PolicyContext, PolicyDocument, RequestHead, RoutingKey, TagAuthority,
};

const KEYS: usize = 20_000;

fn view(policy: &CompiledPolicy, instances: Vec<Instance>) -> View {
    let snapshot = Arc::new(Snapshot::new(instances));
    View::first(
        ViewConfig::default(),
        policy.plans().clone(),
        snapshot,
        |_| None,
    )
}

fn owner(policy: &CompiledPolicy, view: &View, request: &Request<()>) -> Option<Arc<Instance>> {
    let head = RequestHead::of(request);
    let evaluation = policy.evaluate(&head, 0)?;
    let resolve = || Arc::new(view.resolve(&view.key(evaluation.plan, &evaluation.tags)));
    let route = view
        .route(evaluation.plan, &evaluation.tags)
        .map_or_else(resolve, Arc::clone);
    let chosen = route.choose(evaluation.key_bytes(), || 0)?;
    let hash = chosen
        .pool
        .hash_key(evaluation.key_bytes()?, evaluation.salt);
    let member = chosen.pool.walk(hash).next()?;
    chosen.pool.pool().instance(member).cloned()
}

fn keyed(i: usize) -> Request<()> {
    let mut request = Request::new(());
    request
        .extensions_mut()
        .insert(RoutingKey::from(format!("user-{i}")));
    request
}

/// How many keys each group of instances gets; nobody's go under the empty name.
fn shares(
    policy: &CompiledPolicy,
    view: &View,
    prepare: impl Fn(&mut Request<()>),
    group: impl Fn(&Instance) -> String,
) -> BTreeMap<String, usize> {
    let mut shares = BTreeMap::new();
    for i in 0..KEYS {
        let mut request = keyed(i);
        prepare(&mut request);
        let owner = owner(policy, view, &request);
        *shares
            .entry(owner.map(|owner| group(&owner)).unwrap_or_default())
            .or_default() += 1;
    }
    shares
}

fn instance(id: &str, lane: &str) -> Instance {
    Instance::builder(id, "h:1")
        .tag("lane", lane)
        .build()
        .expect("legal")
}

fn names(shares: &BTreeMap<String, usize>) -> Vec<&str> {
    shares.keys().map(String::as_str).collect()
}

/// B21: gray traffic leaks.
#[test]
fn no_colour_gets_what_is_of_another() {
    let authority = TagAuthority::new();
    let context = PolicyContext::new().with_authority(&authority);
    let compiled = |otherwise: &str| {
        let text = format!(
            "ringfence: 1\n\
             gray: {{ gray: {{ to: {{ lane: gray }}, else: {otherwise} }}, blue: {{ to: {{ lane: blue }} }} }}\n\
             rules: [{{ name: all, gray: [gray, blue] }}]"
        );
        PolicyDocument::parse_and_compile(&text, &context).expect("legal")
    };
    let all = || {
        vec![
            instance("A", "gray"),
            instance("B", " gray "),
            instance("C", "blue"),
            instance("D", ""),
        ]
    };
    let of = |policy: &CompiledPolicy, instances: Vec<Instance>, release: &str| {
        let view = view(policy, instances);
        let tag = |request: &mut Request<()>| {
            if !release.is_empty() {
                request
                    .extensions_mut()
                    .insert(authority.gray(release, "tester"));
            }
        };
        shares(policy, &view, tag, |owner| owner.id().to_string())
    };
    let without = |gone: &[&str]| {
        let mut left = all();
        left.retain(|instance| !gone.contains(&instance.id().as_str()));
        left
    };
    let policy = compiled("baseline");
    assert_eq!(
        names(&of(&policy, all(), "")),
        ["D"],
        "no tag: untagged only"
    );
    assert_eq!(
        names(&of(&policy, without(&["D"]), "")),
        [""],
        "without any: nobody, not everybody"
    );
    assert_eq!(
        names(&of(&policy, all(), "gray")),
        ["A", "B"],
        "white space does not count"
    );
    assert_eq!(
        names(&of(&policy, without(&["A", "B"]), "gray")),
        ["D"],
        "never another colour"
    );
    assert_eq!(
        names(&of(&compiled("fail"), without(&["A", "B"]), "gray")),
        [""],
        "strict"
    );
    assert_eq!(names(&of(&policy, all(), "GRAY")), ["D"], "case counts");
    let mut shouting = all();
    shouting.push(instance("E", "GRAY"));
    assert_eq!(
        names(&of(&policy, shouting, "")),
        ["D"],
        "a value that no release has is no less tagged"
    );
    let dev = |request: &mut Request<()>| {
        request
            .extensions_mut()
            .insert(ringfence_core::RequestTags::new().with_tag("env", "DEV"));
    };
    let plain = view(&policy, vec![instance("D", "")]);
    let shares = shares(&policy, &plain, dev, |owner| owner.id().to_string());
    assert_eq!(
        names(&shares),
        ["D"],
        "what the caller is does not have to be what the instances are"
    );
}

fn zoned(zones: &[(&str, usize, usize)]) -> Vec<Instance> {
    let each = zones.iter().flat_map(|(zone, count, usable)| {
        (0..*count).map(move |i| {
            let builder = Instance::builder(format!("{zone}-{i}"), "h:1").zone(*zone);
            builder.healthy(i < *usable).build().expect("legal")
        })
    });
    each.collect()
}

fn by_zone(client: &str, pool: &str, zones: &[(&str, usize, usize)]) -> BTreeMap<String, usize> {
    let text = format!(
        "ringfence: 1\nzone: {{ prefer_local: true, spill_permille: {{ few: 100 }} }}\nrules: [{{ name: all, pools: [{pool}] }}]"
    );
    let policy = PolicyDocument::parse_and_compile(&text, &PolicyContext::new().with_zone(client))
        .expect("legal");
    let view = view(&policy, zoned(zones));
    shares(
        &policy,
        &view,
        |_| {},
        |owner| owner.zone().unwrap_or("none").to_owned(),
    )
}

/// B43: zone preference.
#[test]
fn the_own_zone_gets_what_it_can_carry() {
    let near =
        |share: usize, permille: usize| (share * 1_000).abs_diff(permille * KEYS) < 15 * KEYS;
    let all_well = [("a", 4, 4), ("b", 4, 4), ("c", 4, 4)];
    assert_eq!(names(&by_zone("a", "{}", &all_well)), ["a"]);

    let lonely = [("a", 1, 1), ("b", 4, 4), ("c", 4, 4)];
    assert_eq!(
        names(&by_zone("a", "{ min_usable: 2 }", &lonely)),
        ["b", "c"],
        "one is not enough"
    );

    for client in ["", "x"] {
        let shares = by_zone(client, "{}", &all_well);
        assert_eq!(
            names(&shares),
            ["a", "b", "c"],
            "unknown zone {client:?}: no preference"
        );
    }
    let all_out = [("a", 4, 0), ("b", 4, 4), ("c", 4, 4)];
    assert_eq!(names(&by_zone("a", "{}", &all_out)), ["b", "c"]);

    let one_back = by_zone("a", "{}", &[("a", 4, 1), ("b", 4, 4), ("c", 4, 4)]);
    assert!(
        near(one_back["a"], 350),
        "one of four carries 25 % * 1.4: {one_back:?}"
    );

    let nowhere = [("", 4, 4)];
    assert_eq!(names(&by_zone("a", "{}", &nowhere)), ["none"]);
    assert_eq!(
        names(&by_zone("a", "{}", &[("b", 4, 4)])),
        ["b"],
        "only elsewhere"
    );

    let published = by_zone("few", "{}", &[("few", 4, 4), ("b", 4, 4)]);
    assert!(
        near(published["b"], 100),
        "the published share leaves: {published:?}"
    );
}

/// B43: what spills is told by the key, so that the same keys spill on every client, and more of them as more is lost.
#[test]
fn the_same_keys_spill_and_more_of_them() {
    let text = "ringfence: 1\nzone: { prefer_local: true }\nrules: [{ name: all, pools: [{}] }]";
    let policy = || {
        PolicyDocument::parse_and_compile(text, &PolicyContext::new().with_zone("a"))
            .expect("legal")
    };
    let spilled = |usable: usize| -> Vec<usize> {
        let policy = policy();
        let view = view(&policy, zoned(&[("a", 10, usable), ("b", 10, 10)]));
        let elsewhere = |i: &usize| {
            owner(&policy, &view, &keyed(*i)).is_some_and(|owner| owner.zone() == Some("b"))
        };
        (0..KEYS).filter(elsewhere).collect()
    };
    let mut before = spilled(10);
    assert!(before.is_empty());
    for usable in (0..10).rev() {
        let now = spilled(usable);
        assert_eq!(now, spilled(usable), "another client");
        assert!(
            before.iter().all(|key| now.binary_search(key).is_ok()),
            "with {usable} left some came back"
        );
        before = now;
    }
    assert_eq!(before.len(), KEYS);
}

/// B45: points for small weights. On the ring of a tenant, in a shard and in a pool of few every instance with a weight is
/// reached, however small it is; without instances there is no owner and no panic.
#[test]
fn small_weights_are_reached_in_every_kind_of_pool() {
    let text = "ringfence: 1\n\
        tenants: { own: { mode: own_ring }, default: { mode: shuffle_shard, size: 3 } }\n\
        rules: [{ name: all }]";
    let policy = PolicyDocument::parse_and_compile(text, &PolicyContext::new()).expect("legal");
    let weighted = |weights: &[(&str, u32)]| {
        let each = weights.iter().map(|(id, weight)| {
            let builder = Instance::builder(*id, "h:1").weight(*weight);
            builder.build().expect("legal")
        });
        each.collect::<Vec<_>>()
    };
    for tenant in ["", "own", "other"] {
        let tag = |request: &mut Request<()>| {
            let tags = ringfence_core::RequestTags::new().with_tenant(tenant);
            request.extensions_mut().insert(tags);
        };
        let of = |weights: &[(&str, u32)]| {
            let view = view(&policy, weighted(weights));
            shares(&policy, &view, tag, |owner| owner.id().to_string())
        };
        let small = of(&[("A", 1_024), ("B", 1_024), ("C", 5)]);
        assert_eq!(names(&small), ["A", "B", "C"], "tenant {tenant:?}");
        assert!(small["C"] < KEYS / 10, "tenant {tenant:?}: {small:?}");
        assert_eq!(names(&of(&[("A", 7)])), ["A"], "tenant {tenant:?}");
        assert_eq!(names(&of(&[("A", 0)])), [""], "tenant {tenant:?}");
        assert_eq!(names(&of(&[])), [""], "tenant {tenant:?}");
    }
}
