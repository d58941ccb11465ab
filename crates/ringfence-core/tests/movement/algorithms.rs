//! Movement with the algorithms besides the own ring.

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;
use ringfence_core::{
    Basis, EnvoyRing, HashAlgorithm, InstanceId, Jump, Ketama, KetamaVariant, KeyHash, KeyShare,
    Maglev, Nginx, Ring, RingConfig, RingDiff, SlotTable, Slots, WithoutRanges,
};

use crate::ring_with;

type Fleet = BTreeMap<String, u32>;

fn with(algorithm: impl Into<HashAlgorithm>) -> RingConfig {
    RingConfig::default().with_algorithm(algorithm)
}

/// Those that divide the key space into ranges.
fn ranged() -> Vec<RingConfig> {
    let id = |id: &str| InstanceId::try_new(id).expect("legal");
    let table = SlotTable::new(1, [(5..=5_000, id("a")), (5_001..=9_000, id("b"))]);
    vec![
        with(
            EnvoyRing::default()
                .with_ring_sizes(64, 512)
                .expect("legal"),
        ),
        with(Nginx::default()),
        with(Ketama::default()),
        with(Ketama::new(KetamaVariant::Dubbo)),
        with(Slots::default()),
        with(Slots::default().with_table(table.expect("legal"))),
    ]
}

fn fleet() -> impl Strategy<Value = Fleet> {
    let weight = prop_oneof![3 => 1u32..5, 1 => Just(0)];
    prop::collection::btree_map("[a-f]{1}", weight, 0..5)
}

fn ring(config: &RingConfig, fleet: &Fleet) -> Arc<Ring> {
    ring_with(
        config,
        fleet.iter().map(|(id, weight)| (id.as_str(), *weight)),
    )
}

fn owner(ring: &Ring, hash: u64) -> Option<&InstanceId> {
    ring.member_id(ring.owner(KeyHash::from_raw(hash))?)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_diff_agrees_with_both_rings_at_every_boundary_and_for_every_key(old in fleet(), new in fleet()) {
        for config in ranged() {
            let (before, after) = (ring(&config, &old), ring(&config, &new));
            let diff = RingDiff::between(Arc::clone(&before), Arc::clone(&after)).expect("ranges");
            prop_assert_eq!(diff.basis(), Basis::KeySpace);
            prop_assert!(diff.moved_ranges().len() <= RingDiff::steps_between(&before, &after) + 1);
            let ranges: Vec<_> = diff.moved_ranges().collect();
            let find = |hash: u64| {
                let place = ranges.partition_point(|r| r.end < hash);
                ranges.get(place).filter(|r| r.start <= hash).map(|r| (r.from, r.to))
            };
            let last = u64::try_from(diff.moved_share().whole() - 1).expect("64 bits");
            let points = before.points().chain(after.points());
            let around = points.flat_map(|(at, _)| [at.saturating_sub(1), at, at + u64::from(at < last)]);
            let keys = (0..2_000).map(|n| config.hash_key(format!("key-{n}").as_bytes()).get());
            for hash in around.chain(keys).chain([0, last]) {
                let (from, to) = (owner(&before, hash), owner(&after, hash));
                prop_assert_eq!(find(hash), (from != to).then_some((from, to)), "{:?} at {}", config, hash);
            }
            let widths = ranges.iter().map(|r| u128::from(r.end - r.start) + 1);
            prop_assert_eq!(widths.sum::<u128>(), diff.moved_share().part());
            prop_assert!(ranges.iter().all(|r| r.end <= last));
        }
    }

    #[test]
    fn the_shares_of_a_table_are_counted_slot_by_slot(old in fleet(), new in fleet()) {
        let config = with(Maglev::default().with_table_size(1_009).expect("prime"));
        let (before, after) = (ring(&config, &old), ring(&config, &new));
        let diff = RingDiff::between(Arc::clone(&before), Arc::clone(&after)).expect("one table");
        let moved = (0..1_009).filter(|slot| owner(&before, *slot) != owner(&after, *slot)).count();
        let share = KeyShare::new(moved as u128, 1_009);
        prop_assert_eq!((diff.basis(), diff.moved_share()), (Basis::Table(1_009), share));
        prop_assert_eq!(RingDiff::share_between(&before, &after), Some(share));
        prop_assert_eq!(diff.moved_ranges().len(), 0);
    }
}

fn two() -> Fleet {
    [("a".to_owned(), 100), ("b".to_owned(), 100)].into()
}

#[test]
fn those_without_ranges_say_so_and_can_be_sampled() {
    let probing = RingConfig::default().with_probes(5).expect("legal");
    let jump = Jump::default();
    for config in [with(HashAlgorithm::Rendezvous), with(jump), probing] {
        let three: Fleet = two().into_iter().chain([("c".to_owned(), 100)]).collect();
        let (before, after) = (ring(&config, &two()), ring(&config, &three));
        let diff = RingDiff::between(Arc::clone(&before), Arc::clone(&after));
        assert_eq!(diff.err(), Some(WithoutRanges::NotByPosition), "{config:?}");
        assert_eq!(RingDiff::share_between(&before, &after), None);
        let keys = (0..3_000).map(|n| format!("key-{n}"));
        let sampled = RingDiff::sampled(before, after, keys);
        let share = sampled.moved_share().as_f64();
        assert!((0.28..0.39).contains(&share), "{config:?}: {share}");
        assert!(
            sampled
                .moves()
                .all(|m| m.to.map(InstanceId::as_str) == Some("c"))
        );
    }
}

#[test]
fn rings_of_different_algorithms_have_no_ranges_in_common() {
    let mut configs = ranged();
    configs.truncate(5);
    configs.remove(3);
    configs.push(RingConfig::default());
    for (at, here) in configs.iter().enumerate() {
        for (other, there) in configs.iter().enumerate() {
            let diff = RingDiff::between(ring(here, &two()), ring(there, &two()));
            assert_eq!(diff.is_ok(), at == other, "{here:?} {there:?}");
        }
    }
    let size = |size| with(Maglev::default().with_table_size(size).expect("prime"));
    let diff = RingDiff::between(ring(&size(101), &two()), ring(&size(103), &two()));
    assert_eq!(diff.err(), Some(WithoutRanges::NotByPosition));
}
