use std::{collections::BTreeSet, sync::Arc};

use proptest::prelude::*;

use super::*;

fn matching() -> impl Strategy<Value = Match> {
    let values = prop::collection::vec("[ab]{0,2}", 0..3);
    prop_oneof![
        values.clone().prop_map(Match::one_of),
        values.prop_map(Match::none_of),
        Just(Match::present()),
        Just(Match::absent()),
    ]
}

fn attribute() -> impl Strategy<Value = Attribute> {
    prop_oneof![
        Just(Attribute::Version),
        Just(Attribute::Zone),
        Just(Attribute::tag("lane")),
        Just(Attribute::tag("nobody has it")),
    ]
}

proptest! {
    #[test]
    fn the_index_selects_what_a_scan_selects(
        labels in prop::collection::vec(("[ab]{0,2}", "[ab]{0,2}", "[ab]{0,2}"), 0..20),
        conditions in prop::collection::vec((attribute(), matching()), 0..4),
    ) {
        let instances = labels.iter().enumerate().map(|(i, (version, zone, lane))| {
            Instance::builder(format!("i-{i}"), "h:1").version(version).zone(zone).tag("lane", lane).build()
        });
        let snapshot = Arc::new(instances.collect::<Result<Snapshot, _>>().expect("legal"));
        let selector = conditions.into_iter().fold(Selector::any(), |selector, (attribute, matching)| {
            selector.and(attribute, matching)
        });
        let by_index = Pool::select_by(&TagIndex::new(&snapshot), &snapshot, &selector);
        let by_scan = Pool::select(&snapshot, &selector);
        prop_assert_eq!(by_index.members(), by_scan.members(), "{}", selector);
    }
}

fn registered(ids: impl IntoIterator<Item = String>) -> Arc<Snapshot> {
    let instances = ids
        .into_iter()
        .map(|id| Instance::builder(id, "h:1").build());
    Arc::new(instances.collect::<Result<Snapshot, _>>().expect("legal"))
}

fn members(snapshot: &Arc<Snapshot>, shard: Shard) -> BTreeSet<String> {
    let spec = PoolSpec::default().with_shard(shard);
    let pool = Pool::select_spec(snapshot, &spec);
    assert_eq!(pool.spec(), &spec);
    pool.iter().map(|i| i.id().to_string()).collect()
}

proptest! {
    /// So it is the same whoever lists the instances in whatever order, and one that comes or goes changes one member.
    #[test]
    fn an_instance_that_comes_or_goes_changes_a_shard_by_one_at_most(
        ids in prop::collection::btree_set("[a-z0-9-]{1,8}", 0..30), other in "[A-Z]{1,8}",
        size in 1u32..8, seed in any::<u64>(),
    ) {
        let shard = Shard::new(size, seed).expect("legal");
        let without = members(&registered(ids.clone()), shard);
        let with = members(&registered(ids.iter().cloned().chain([other.clone()])), shard);
        prop_assert_eq!(without.len(), ids.len().min(size as usize));
        prop_assert!(with.difference(&without).all(|id| *id == other), "{:?} {:?}", without, with);
        prop_assert!(without.difference(&with).count() <= 1, "{:?} {:?}", without, with);
        prop_assert!(with.contains(&other) || with == without, "{:?} {:?}", without, with);
    }

    #[test]
    fn a_shard_ignores_health_weight_and_where_an_instance_is(
        ids in prop::collection::btree_set("[a-z0-9-]{1,8}", 0..30), seed in any::<u64>(),
    ) {
        let shard = Shard::new(3, seed).expect("legal");
        let changed = ids.iter().enumerate().map(|(place, id)| {
            let instance = Instance::builder(id, format!("other:{}", place + 1)).healthy(place % 2 == 0);
            instance.weight(u32::try_from(place).expect("small") % 3).enabled(place % 5 != 0).build().expect("legal")
        });
        let changed = Arc::new(changed.collect());
        prop_assert_eq!(members(&changed, shard), members(&registered(ids), shard));
    }
}

#[test]
fn shards_of_different_tenants_have_few_members_in_common() {
    let snapshot = registered((0..100).map(|n| format!("i{n}")));
    let shards: Vec<_> = (0..200)
        .map(|tenant| {
            let seed = name_seed(&format!("tenant-{tenant}"));
            members(&snapshot, Shard::new(5, seed).expect("legal"))
        })
        .collect();
    let (mut pairs, mut common, mut equal) = (0.0, 0.0, 0);
    for (place, one) in shards.iter().enumerate() {
        for other in &shards[place + 1..] {
            let shared = one.intersection(other).count();
            pairs += 1.0;
            common += f64::from(u32::try_from(shared).expect("small"));
            equal += usize::from(shared >= 4);
        }
    }
    // By chance two have 5 * 5 / 100 members in common, and four or more in 6 of a million pairs.
    let mean = common / pairs;
    assert!((0.22..0.28).contains(&mean), "{mean}");
    assert!(equal <= 3, "{equal} of {pairs} pairs");
    let every: BTreeSet<_> = shards.iter().flatten().collect();
    assert_eq!(every.len(), 100, "no instance is left out");
}

/// A format: other clients compute the same.
#[test]
fn the_members_of_a_shard_are_a_format() {
    let snapshot = registered((1..=8).map(|n| format!("order-svc-{n}")));
    let shard = |seed| Vec::from_iter(members(&snapshot, Shard::new(2, seed).expect("legal")));
    assert_eq!(
        [shard(0), shard(name_seed("acme"))],
        [
            ["order-svc-5", "order-svc-7"],
            ["order-svc-3", "order-svc-4"]
        ]
    );
    assert!(Shard::new(0, 0).is_err() && Shard::new(1_000_001, 0).is_err());
}
