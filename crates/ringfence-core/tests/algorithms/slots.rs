use ringfence_core::{InstanceId, SlotTable, Slots};

use crate::fleet::{THREE, fleet, weighted};

fn id(id: &str) -> InstanceId {
    InstanceId::try_new(id).expect("legal")
}

#[test]
fn keys_have_the_slots_of_redis() {
    let fleet = fleet(&THREE, Slots::default());
    for (key, slot) in [
        ("foo", 12_182),
        ("bar", 5_061),
        ("user1000", 3_443),
        ("{user1000}.following", 3_443),
        ("foo{}{bar}", 8_363),
        ("foo{{bar}}zap", 4_015),
        ("foo{bar}{zap}", 5_061),
        ("", 0),
        // 0x31c3 modulo 16,384.
        ("123456789", 0x31c3),
    ] {
        assert_eq!(
            fleet.ring.config().hash_key(key.as_bytes()).get(),
            slot,
            "{key}"
        );
    }
}

#[test]
fn without_a_table_ranges_go_by_weight_in_the_order_given() {
    let hosts = weighted([100, 100, 200]);
    let bounds = |hosts: &[(&str, u32)]| {
        let fleet = fleet(hosts, Slots::default());
        let owner = |slot: u16| {
            let key = ringfence_core::KeyHash::from_raw(slot.into());
            fleet.id(fleet.ring.owner(key).unwrap()).to_owned()
        };
        let changes = (1..SlotTable::SLOTS).filter(|slot| owner(*slot) != owner(slot - 1));
        let mut owners = vec![(0, owner(0))];
        owners.extend(changes.map(|slot| (slot, owner(slot))));
        owners
    };
    let named = |bounds: [(u16, usize); 3]| {
        bounds
            .map(|(slot, host)| (slot, hosts[host].0.to_owned()))
            .to_vec()
    };
    assert_eq!(bounds(&hosts), named([(0, 0), (4_096, 1), (8_192, 2)]));
    let reversed = [hosts[2], hosts[1], hosts[0]];
    assert_eq!(bounds(&reversed), named([(0, 2), (8_192, 1), (12_288, 0)]));
}

/// What a table says holds; slots of those who left or take no traffic go by rendezvous and come back.
#[test]
fn a_table_holds_and_nobody_elses_slots_move() {
    let table = |second: &str| {
        let ranges = [
            (0..=4_999, id(THREE[0].0)),
            (5_000..=9_999, id(second)),
            (10_000..=15_999, id(THREE[2].0)),
        ];
        Slots::default().with_table(SlotTable::new(3, ranges).expect("legal"))
    };
    let slots = table(THREE[1].0);
    let whole = fleet(&THREE, slots.clone());
    assert_eq!(
        whole.counts().into_values().collect::<Vec<_>>(),
        [5_000, 5_000, 6_000]
    );
    let owner_of = |fleet: &crate::fleet::Fleet, slot: u16| {
        let key = ringfence_core::KeyHash::from_raw(slot.into());
        fleet.id(fleet.ring.owner(key).unwrap()).to_owned()
    };
    for gone in [
        fleet(&[THREE[0], THREE[2]], slots.clone()),
        fleet(&weighted([100, 0, 100]), slots),
    ] {
        let mut took = [0, 0];
        for slot in 0..SlotTable::SLOTS {
            let (before, after) = (owner_of(&whole, slot), owner_of(&gone, slot));
            if before != after {
                assert_eq!(before, THREE[1].0);
                took[usize::from(after == THREE[2].0)] += 1;
            }
        }
        let [first, third] = took;
        assert!(first > 2_400 && third > 2_400, "{took:?}");
    }
    // The last 384 are nobody's.
    let spread: std::collections::BTreeSet<_> = (16_000..16_384)
        .map(|slot| owner_of(&whole, slot))
        .collect();
    assert_eq!(spread.len(), 3);
    // An instance that is not there: its slots are nobody's.
    let stranger = fleet(&THREE, table("stranger"));
    assert_eq!(stranger.counts()[THREE[1].0], 0);
}

#[test]
fn moved_slots_are_listed() {
    let table = |epoch, ranges: &[(std::ops::RangeInclusive<u16>, &str)]| {
        let ranges = ranges
            .iter()
            .map(|(slots, owner)| (slots.clone(), id(owner)));
        SlotTable::new(epoch, ranges).expect("legal")
    };
    let old = table(1, &[(0..=99, "a"), (100..=199, "b"), (300..=16_383, "c")]);
    let new = table(2, &[(50..=149, "b"), (0..=49, "a"), (150..=16_383, "c")]);
    let moved: Vec<_> = old.moved_to(&new).collect();
    let told: Vec<_> = moved
        .iter()
        .map(|m| {
            (
                m.slots.clone(),
                m.from.as_ref().map(InstanceId::as_str),
                m.to.as_ref().map(InstanceId::as_str),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (50..=99, Some("a"), Some("b")),
            (150..=199, Some("b"), Some("c")),
            (200..=299, None, Some("c")),
        ]
    );
    assert_eq!(old.moved_to(&old).count(), 0);
    assert_eq!(
        (new.epoch(), new.owner(149).map(InstanceId::as_str)),
        (2, Some("b"))
    );
    assert_eq!(new.owner(16_384), None);
}

#[test]
fn tables_are_checked() {
    for ranges in [
        vec![(std::ops::RangeInclusive::new(5, 4), id("a"))],
        vec![(0..=16_384, id("a"))],
        vec![(0..=5, id("a")), (5..=6, id("b"))],
        vec![(7..=9, id("a")), (0..=7, id("b"))],
        vec![(7..=9, id("a")), (7..=9, id("a"))],
    ] {
        assert!(SlotTable::new(1, ranges.clone()).is_err(), "{ranges:?}");
    }
    assert!(SlotTable::new(1, (0..20_000).map(|_| (1..=1, id("a")))).is_err());
    let each = (0..16_384).map(|slot| (slot..=slot, id("a")));
    assert_eq!(SlotTable::new(1, each).unwrap().ranges().len(), 16_384);
}
