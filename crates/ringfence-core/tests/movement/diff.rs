//! Movement is exact.

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;
use ringfence_core::{
    Attribute, Basis, InstanceId, KeyHash, KeyShare, Match, Pool, PoolSpec, Ring, RingConfig,
    RingDiff, RoutePlans, Selector, View, ViewConfig, WithoutRanges,
};

use crate::{between, orders, ring_with, snapshot};

type Fleet = BTreeMap<String, u32>;

fn fleet() -> impl Strategy<Value = Fleet> {
    let weight = prop_oneof![3 => 1u32..300, 1 => Just(0)];
    prop::collection::btree_map("[a-f]{1,2}", weight, 0..12)
}

fn ring(fleet: &Fleet, points: u32) -> Arc<Ring> {
    let config = RingConfig::default().with_points_per_instance(points);
    let fleet = fleet.iter().map(|(id, weight)| (id.as_str(), *weight));
    ring_with(&config.expect("legal"), fleet)
}

fn owner(ring: &Ring, position: u64) -> Option<&InstanceId> {
    let member = ring.owner(KeyHash::from_raw(position))?;
    ring.member_id(member)
}

/// All positions where something can change, one before and one behind.
fn boundaries(rings: [&Ring; 2]) -> Vec<u64> {
    let points = rings.into_iter().flat_map(Ring::points);
    let around =
        |(position, _): (u64, u32)| [position.wrapping_sub(1), position, position.wrapping_add(1)];
    let mut all: Vec<u64> = points.flat_map(around).chain([0, u64::MAX]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn sums_of(diff: &RingDiff) -> BTreeMap<(Option<InstanceId>, Option<InstanceId>), u128> {
    let mut sums = BTreeMap::new();
    for range in diff.moved_ranges() {
        let width = u128::from(range.end - range.start) + 1;
        *sums
            .entry((range.from.cloned(), range.to.cloned()))
            .or_insert(0) += width;
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_diff_agrees_with_both_rings_at_every_boundary(old in fleet(), new in fleet(), points in 1u32..40) {
        let (before, after) = (ring(&old, points), ring(&new, points));
        let diff = between(&before, &after);
        let ranges: Vec<_> = diff.moved_ranges().collect();
        for position in boundaries([&before, &after]) {
            let (from, to) = (owner(&before, position), owner(&after, position));
            let found = ranges.iter().find(|r| (r.start..=r.end).contains(&position));
            prop_assert_eq!(found.map(|r| (r.from, r.to)), (from != to).then_some((from, to)), "at {}", position);
            prop_assert_eq!(diff.is_moved(KeyHash::from_raw(position)), from != to);
        }
        for pair in ranges.windows(2) {
            prop_assert!(pair[0].start <= pair[0].end && pair[0].end < pair[1].start);
            let touch = pair[0].end + 1 == pair[1].start;
            prop_assert!(!touch || (pair[0].from, pair[0].to) != (pair[1].from, pair[1].to), "not merged");
        }
    }

    #[test]
    fn the_shares_are_those_of_the_ranges_and_of_the_way_back(old in fleet(), new in fleet()) {
        let (before, after) = (ring(&old, 20), ring(&new, 20));
        let (there, back) = (between(&before, &after), between(&after, &before));
        let listed: BTreeMap<_, _> = there
            .moves()
            .map(|m| ((m.from.cloned(), m.to.cloned()), m.share.part()))
            .collect();
        prop_assert_eq!(&listed, &sums_of(&there));
        prop_assert_eq!(listed.values().sum::<u128>(), there.moved_share().part());
        prop_assert_eq!(there.moved_share(), back.moved_share());
        prop_assert_eq!(there.moved_ranges().len(), back.moved_ranges().len());
        prop_assert_eq!(RingDiff::share_between(&before, &after), Some(there.moved_share()));
        // What everyone has, by the ranges from a ring of nobody, is the whole.
        let all = between(&ring(&Fleet::new(), 20), &after);
        let whole = if after.is_empty() { 0 } else { 1 << 64 };
        prop_assert_eq!(all.moved_share(), KeyShare::new(whole, 1 << 64));
    }

    #[test]
    fn one_instance_takes_only_to_itself_and_leaves_only_from_itself(others in fleet(), weight in 1u32..300, more in 0u32..300) {
        let with = |weight| {
            let mut fleet = others.clone();
            fleet.insert("the-one".to_owned(), weight);
            ring(&fleet, 20)
        };
        let (without, light, heavy) = (ring(&others, 20), with(weight), with(weight + more));
        let is_the_one = |id: Option<&InstanceId>| id.is_some_and(|id| id.as_str() == "the-one");
        prop_assert!(between(&without, &light).moves().all(|m| is_the_one(m.to)));
        prop_assert!(between(&light, &without).moves().all(|m| is_the_one(m.from)));
        prop_assert!(between(&light, &heavy).moves().all(|m| is_the_one(m.to)), "a raised weight takes");
        prop_assert!(between(&heavy, &light).moves().all(|m| is_the_one(m.from)), "a lowered one gives");
    }
}

/// The movement that the layout's description has: 1224 of 5000 keys, all to the new one, then 1333, all from the one that left.
#[test]
fn the_vectors_of_the_layout() {
    let (three, four, left) = (
        orders(&[1, 2, 3]),
        orders(&[1, 2, 3, 4]),
        orders(&[1, 3, 4]),
    );
    let keys = || (1..=5_000).map(|n| format!("user-{n}"));
    let id = |id: Option<&InstanceId>| id.map(ToString::to_string);

    let joined = RingDiff::sampled(Arc::clone(&three), Arc::clone(&four), keys());
    assert_eq!(joined.basis(), Basis::Sample(5_000));
    assert_eq!(joined.moved_share(), KeyShare::new(1_224, 5_000));
    assert!(
        joined
            .moves()
            .all(|m| id(m.to).as_deref() == Some("order-svc-4"))
    );
    assert_eq!(joined.moved_ranges().len(), 0);

    let departed = RingDiff::sampled(Arc::clone(&four), Arc::clone(&left), keys());
    assert_eq!(departed.moved_share(), KeyShare::new(1_333, 5_000));
    assert!(
        departed
            .moves()
            .all(|m| id(m.from).as_deref() == Some("order-svc-2"))
    );

    // The ranges say the same of each key, and the exact share is near the counted one.
    for (exact, sampled) in [
        (between(&three, &four), joined),
        (between(&four, &left), departed),
    ] {
        let in_a_range = keys().filter(|key| {
            let hash = RingConfig::default().hash_key(key.as_bytes()).get();
            let found = exact
                .moved_ranges()
                .find(|r| (r.start..=r.end).contains(&hash));
            let owners = (
                exact.old_owner(key.as_bytes()),
                exact.new_owner(key.as_bytes()),
            );
            assert_eq!(
                found.map(|r| (r.from, r.to)),
                (owners.0 != owners.1).then_some(owners),
                "{key}"
            );
            found.is_some()
        });
        assert_eq!(in_a_range.count() as u128, sampled.moved_share().part());
        let (exact, counted) = (exact.moved_share().as_f64(), sampled.moved_share().as_f64());
        assert!((exact - counted).abs() < 0.02, "{exact} {counted}");
    }
}

#[test]
fn nothing_moves_between_equal_rings_and_everything_to_and_from_empty_ones() {
    let (some, none) = (orders(&[1, 2]), orders(&[]));
    assert!(between(&some, &orders(&[2, 1])).moved_share().is_zero());
    assert!(between(&none, &none).moved_share().is_zero());
    let all = between(&none, &some);
    assert_eq!(all.moved_share().as_f64(), 1.0);
    assert!(all.moves().all(|m| m.from.is_none() && m.to.is_some()));
    assert!(
        between(&some, &none)
            .moves()
            .all(|m| m.from.is_some() && m.to.is_none())
    );
    assert_eq!(all.old_owner(b"k"), None);
    assert!(all.new_owner(b"k").is_some());
    assert_eq!(
        RingDiff::sampled(some, none, [""; 0])
            .moved_share()
            .as_f64(),
        0.0
    );
}

#[test]
fn what_wraps_is_a_range_at_either_end() {
    let (before, after) = (orders(&[1]), orders(&[2]));
    let all = between(&before, &after);
    let ranges: Vec<_> = all.moved_ranges().map(|r| (r.start, r.end)).collect();
    assert_eq!(
        ranges,
        [(0, u64::MAX)],
        "neighbours that move alike are one"
    );

    let (before, after) = (orders(&[1, 2]), orders(&[2, 3]));
    let first = before.points().next().expect("points").1;
    assert_eq!(
        before.member_id(first).map(InstanceId::as_str),
        Some("order-svc-1")
    );
    let diff = between(&before, &after);
    let ends: Vec<_> = diff
        .moved_ranges()
        .filter(|r| r.start == 0 || r.end == u64::MAX)
        .collect();
    assert_eq!(ends.len(), 2, "{ends:?}");
    assert!(
        ends.iter()
            .all(|r| r.from.map(InstanceId::as_str) == Some("order-svc-1"))
    );
}

#[test]
fn rings_that_hash_keys_differently_have_no_ranges() {
    let seeded = |seed| {
        ring_with(
            &RingConfig::default().with_seed(seed),
            [("a", 100), ("b", 100)],
        )
    };
    let (one, other) = (seeded(0), seeded(7));
    let fault = RingDiff::between(Arc::clone(&one), Arc::clone(&other));
    assert_eq!(fault.err(), Some(WithoutRanges::HashedDifferently));
    assert_eq!(RingDiff::share_between(&one, &other), None);
    // The keys can be compared all the same.
    let keys = (0..4_000).map(|n| format!("k{n}"));
    let share = RingDiff::sampled(one, other, keys).moved_share().as_f64();
    assert!((0.4..0.6).contains(&share), "{share}");
}

#[test]
fn pools_of_two_views_are_compared_by_their_spec() {
    let view = |fleet: &[(&str, u32)]| {
        let (config, plans) = (ViewConfig::default(), RoutePlans::default());
        View::first(config, plans, snapshot(fleet.iter().copied()), |_| None)
    };
    let (before, after) = (view(&[("a", 100), ("b", 100)]), view(&[("a", 100)]));
    let spec = before.pools().next().expect("one").pool().spec().clone();
    let diff = RingDiff::of_views(&before, &after, &spec).expect("both have it");
    let moves = diff.expect("rings of points");
    let moves: Vec<_> = moves
        .moves()
        .map(|m| {
            (
                m.from.map(ToString::to_string),
                m.to.map(ToString::to_string),
            )
        })
        .collect();
    assert_eq!(moves, [(Some("b".to_owned()), Some("a".to_owned()))]);
    let other = Selector::any().and(Attribute::Zone, Match::is("az-9"));
    assert!(RingDiff::of_views(&before, &after, &PoolSpec::from(other)).is_none());
}

#[test]
fn members_are_found_by_their_ids() {
    let pool = Pool::select(&snapshot([("b", 100), ("a", 0)]), &Selector::any());
    let ring = Ring::build(&pool, &RingConfig::default());
    assert_eq!(ring.member_count(), 2);
    assert_eq!(ring.member_of("b"), Some(1));
    assert_eq!(
        ring.member_id(0).map(ToString::to_string),
        Some("a".to_owned())
    );
    assert_eq!((ring.member_of("c"), ring.member_id(2)), (None, None));
}
