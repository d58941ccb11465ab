//! What must hold for every set of instances.
#![allow(
    clippy::expect_used,
    reason = "helpers of tests, where a failure is to end the test"
)]

use std::{collections::BTreeMap, iter, sync::Arc};

use proptest::prelude::*;
use ringfence_core::{
    Absence, Attribute, EnvoyRing, Instance, KeyHash, Match, PlanId, Pool, RequestTags, Ring,
    RingConfig, RoutePlans, Selector, Snapshot, View, ViewConfig,
};

/// Ids with weights; `drained` ones have weight 0.
type Fleet = BTreeMap<String, u32>;

fn fleet(size: std::ops::Range<usize>) -> impl Strategy<Value = Fleet> {
    prop::collection::btree_map(
        "[a-z0-9/:._-]{1,12}",
        prop_oneof![3 => 1u32..300, 1 => Just(0)],
        size,
    )
}

fn pool_of(fleet: impl IntoIterator<Item = (String, u32)>) -> Pool {
    let instances = fleet.into_iter().map(|(id, weight)| {
        Instance::builder(id, "10.0.0.1:80")
            .weight(weight)
            .build()
            .expect("legal")
    });
    Pool::select(&Arc::new(instances.collect()), &Selector::any())
}

fn ring_of(fleet: &Fleet) -> (Pool, Ring) {
    let pool = pool_of(fleet.clone());
    // Few points make small sets collide and interleave more.
    let config = RingConfig::default()
        .with_points_per_instance(40)
        .expect("legal");
    let ring = Ring::build(&pool, &config);
    (pool, ring)
}

fn ids(pool: &Pool, members: impl Iterator<Item = u32>) -> Vec<&str> {
    members
        .filter_map(|member| pool.instance(member))
        .map(|i| i.id().as_str())
        .collect()
}

fn owner(fleet: &(Pool, Ring), key: u64) -> Option<&str> {
    ids(&fleet.0, fleet.1.owner(KeyHash::from_raw(key)).into_iter()).pop()
}

/// Keys at every point of either ring, where any disagreement must show, and beside them.
fn keys(rings: [&Ring; 2]) -> Vec<u64> {
    rings
        .iter()
        .flat_map(|ring| ring.points())
        .flat_map(|(position, _)| [position.wrapping_sub(1), position, position.wrapping_add(1)])
        .chain([0, u64::MAX])
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_first_of_a_walk_are_those_that_are_visited_at_once(
        fleet in fleet(1..20), out in any::<u32>(), probes in 1..4_u32, raw in any::<u64>(), most in 0..12_usize,
    ) {
        let pool = pool_of(fleet);
        let ring = RingConfig::default().with_probes(probes).expect("in range");
        let view = View::first(
            ViewConfig::default().with_ring(ring),
            RoutePlans::default(),
            Arc::clone(pool.snapshot()),
            |place| (out >> (place % 32) & 1 == 1).then_some(Absence::Ejected),
        );
        let route = view.resolve(&RequestTags::new().into());
        let Some((_, pool)) = route.chosen() else {
            return Ok(());
        };
        for raw in [raw, 0, u64::MAX] {
            let key = KeyHash::from_raw(raw);
            let mut walk = pool.walk(key);
            let one_by_one: Vec<u32> = iter::from_fn(|| walk.next()).take(most).collect();
            let mut at_once = Vec::new();
            pool.visit_first(key, most, |member| at_once.push(member));
            prop_assert_eq!(at_once, one_by_one);
        }
    }

    #[test]
    fn the_order_in_which_instances_are_listed_does_not_matter(
        shuffled in fleet(0..20).prop_flat_map(|f| Just(f.into_iter().collect::<Vec<_>>()).prop_shuffle()),
    ) {
        let (given, sorted) = (pool_of(shuffled.clone()), pool_of(shuffled.into_iter().collect::<Fleet>()));
        let config = RingConfig::default();
        let (given, sorted) = (Ring::build(&given, &config), Ring::build(&sorted, &config));
        prop_assert!(given.points().eq(sorted.points()));
        prop_assert_eq!(given.fingerprint(), sorted.fingerprint());
    }

    #[test]
    fn an_instance_that_comes_or_goes_moves_nothing_between_the_others(
        others in fleet(0..15), id in "[A-Z]{1,8}", weight in 1u32..300,
    ) {
        let mut with = others.clone();
        with.insert(id.clone(), weight);
        let (without, with) = (ring_of(&others), ring_of(&with));
        for key in keys([&without.1, &with.1]) {
            let (before, after) = (owner(&without, key), owner(&with, key));
            prop_assert!(before == after || after == Some(id.as_str()), "key {key}: {before:?} to {after:?}");
        }
    }

    #[test]
    fn a_heavier_instance_only_gains(
        others in fleet(1..15), id in "[A-Z]{1,8}", weight in 0u32..300, more in 1u32..300,
    ) {
        let weighing = |weight| {
            let mut fleet = others.clone();
            fleet.insert(id.clone(), weight);
            ring_of(&fleet)
        };
        let (light, heavy) = (weighing(weight), weighing(weight + more));
        for key in keys([&light.1, &heavy.1]) {
            let (before, after) = (owner(&light, key), owner(&heavy, key));
            prop_assert!(before == after || after == Some(id.as_str()), "key {key}: {before:?} to {after:?}");
        }
    }

    #[test]
    fn skipping_instances_equals_a_ring_without_them(
        fleet in fleet(1..15), out in prop::collection::vec(any::<bool>(), 15),
    ) {
        let (pool, ring) = ring_of(&fleet);
        let is_out = |member: u32| out[member as usize];
        let left: Fleet = (0..).zip(&fleet).filter(|(i, _)| !is_out(*i)).map(|(_, (id, w))| (id.clone(), *w)).collect();
        let rebuilt = ring_of(&left);
        for key in keys([&ring, &rebuilt.1]) {
            let key = KeyHash::from_raw(key);
            prop_assert_eq!(
                ids(&pool, ring.walk_where(key, |member| !is_out(member))),
                ids(&rebuilt.0, rebuilt.1.walk(key))
            );
        }
    }

    #[test]
    fn a_walk_gives_every_instance_with_points_once(fleet in fleet(0..25), key in any::<u64>()) {
        let built = ring_of(&fleet);
        let mut walk = ids(&built.0, built.1.walk(KeyHash::from_raw(key)));
        prop_assert_eq!(walk.first().copied(), owner(&built, key));
        walk.sort_unstable();
        let expected: Vec<_> = fleet.iter().filter(|(_, w)| **w > 0).map(|(id, _)| id.as_str()).collect();
        prop_assert_eq!(walk, expected);
    }

    #[test]
    fn updates_one_after_another_equal_a_new_ring(fleets in prop::collection::vec(fleet(0..12), 1..6)) {
        let mut ring: Option<Arc<Ring>> = None;
        for fleet in &fleets {
            let (pool, fresh) = ring_of(fleet);
            let updated = match &ring {
                Some(ring) => ring.update(&pool),
                None => Arc::new(Ring::build(&pool, fresh.config())),
            };
            prop_assert!(updated.points().eq(fresh.points()));
            prop_assert_eq!(updated.fingerprint(), fresh.fingerprint());
            for key in keys([&updated, &fresh]) {
                prop_assert_eq!(updated.owner(KeyHash::from_raw(key)), fresh.owner(KeyHash::from_raw(key)));
            }
            ring = Some(updated);
        }
    }

    #[test]
    fn a_route_without_a_ring_of_its_own_chooses_as_a_prepared_one(
        fleet in fleet(1..15), kinds in prop::collection::vec((0u8..3, 0u8..3, any::<bool>(), any::<bool>()), 15),
        ask in (0u8..4, 0u8..4),
    ) {
        const VERSIONS: [&str; 4] = ["", "v2", "gray", "unknown"];
        const ZONES: [&str; 4] = ["", "a", "b", "unknown"];
        let snapshot: Snapshot = fleet.iter().zip(&kinds).map(|((id, weight), (version, zone, healthy, enabled))| {
            Instance::builder(id, "10.0.0.1:80")
                .weight(*weight)
                .version(VERSIONS[usize::from(*version)])
                .zone(ZONES[usize::from(*zone)])
                .healthy(*healthy)
                .enabled(*enabled)
                .build()
                .expect("legal")
        }).collect();
        let tags = RequestTags::new().with_version(VERSIONS[usize::from(ask.0)]).with_zone(ZONES[usize::from(ask.1)]);
        let bare = View::first(ViewConfig::default(), RoutePlans::default(), Arc::new(snapshot), |index| (index % 5 == 4).then_some(Absence::Ejected));
        let prepared = bare.next(RoutePlans::default(), Arc::clone(bare.snapshot()), [tags.clone().into()], |index| (index % 5 == 4).then_some(Absence::Ejected));
        let (resolved, prepared) = (bare.resolve(&tags.clone().into()), prepared.route(PlanId::ROUTING, &tags).expect("prepared"));
        prop_assert_eq!(resolved.stages(), prepared.stages());
        match (resolved.chosen(), prepared.chosen()) {
            (None, None) => {}
            (Some((a, resolved)), Some((b, prepared))) => {
                prop_assert_eq!(a, b);
                let ring = prepared.ring().expect("a prepared route has a ring");
                for key in keys([ring, bare.whole_ring()]) {
                    let key = KeyHash::from_raw(key);
                    prop_assert!(resolved.walk(key).eq(prepared.walk(key)), "{key:?}");
                }
            }
            (a, b) => prop_assert!(false, "{a:?} and {b:?}"),
        }
    }

    #[test]
    fn no_text_from_outside_panics(
        id in any::<String>(), address in any::<String>(), text in any::<String>(), weight in any::<u32>(),
    ) {
        let built = Instance::builder(&id, &address)
            .version(&text)
            .zone(&text)
            .weight(weight)
            .tag(&text, &id)
            .build();
        if let Ok(instance) = built {
            let snapshot = Arc::new(Snapshot::new([instance]));
            let view = View::first(ViewConfig::default(), RoutePlans::default(), snapshot, |_| None);
            let _ = view.resolve(&RequestTags::new().with_version(&text).with_tag(&id, &text).into());
        }
        let _ = address.parse::<ringfence_core::Address>();
        let _ = address.parse::<ringfence_core::Scheme>();
    }
}

/// What other pools do to the cap shows on a ring whose own points stay.
#[test]
fn an_update_renews_whether_the_ring_is_capped() {
    let config = RingConfig::default()
        .with_points_per_instance(1)
        .and_then(|config| config.with_max_ring_points(1))
        .expect("in range");
    let of_first = |count: usize| {
        let instance = |n: usize| {
            let version = if n == 0 { "v1" } else { "v2" };
            let instance = Instance::builder(format!("n{n}"), "h:1").version(version);
            instance.build().expect("legal")
        };
        let snapshot: Snapshot = (0..count).map(instance).collect();
        let first = Selector::any().and(Attribute::Version, Match::is("v1"));
        Pool::select(&Arc::new(snapshot), &first)
    };
    let alone = Arc::new(Ring::build(&of_first(1), &config));
    assert!(!alone.is_capped());
    assert!(alone.update(&of_first(2)).is_capped());
}

/// Each step would change the points of all if they were counted by what a newcomer has for now.
#[test]
fn a_slow_start_leaves_envoys_points_of_others_alone() {
    let instances = (0..100).map(|n| Instance::builder(format!("n{n}"), format!("h{n}:1")).build());
    let snapshot = instances.collect::<Result<Snapshot, _>>();
    let snapshot = Arc::new(snapshot.expect("legal"));
    let config = RingConfig::default().with_algorithm(EnvoyRing::default());
    let counts = |weight: u32| {
        let growing = snapshot.with_ring_weights(|i| (i.id().as_str() == "n7").then_some(weight));
        let ring = Ring::build(&Pool::select(&growing, &Selector::any()), &config);
        (0..100).map(|n| ring.points_of(n)).collect::<Vec<_>>()
    };
    let whole = counts(100);
    for weight in [5, 10, 50, 95] {
        let newcomer = snapshot.index_of("n7").expect("it is there");
        for (member, (now, then)) in counts(weight).into_iter().zip(&whole).enumerate() {
            let most = if member == newcomer { *then } else { 1 };
            assert!(
                now.abs_diff(*then) <= most,
                "{member} at {weight}: {now}, {then}"
            );
        }
    }
}
