use std::sync::Arc;

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
