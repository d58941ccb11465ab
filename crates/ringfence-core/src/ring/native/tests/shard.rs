//! Shards of all shapes against plain scans, and changed ones against new ones.

use proptest::prelude::*;

use super::super::{
    cut::{Cut, Entry},
    owners::Owners,
    patch::{Change, patch},
    shard::Shard,
};

/// Kept bits as hashes give them, and as they do not: all alike, at both ends, in one part, in few places.
const BENDS: [fn(u32) -> u32; 7] = [
    |low| low,
    |_| 0,
    |_| u32::MAX,
    |low| if low & 1 == 0 { 0 } else { u32::MAX },
    |low| low >> 4,
    |low| 0xF000_0000 | low >> 4,
    |low| low >> 28 << 28,
];

/// What a shard finds is the first point that is greater, or it finds nothing; a search finds the first that is not less.
fn check(points: &[Entry], shard: &Shard, low: u32) {
    let from = points.partition_point(|point| point.low() < low);
    assert_eq!(shard.search(low), from, "search for {low:#x}");
    let behind = points.get(from).copied().unwrap_or(Entry::PADDING);
    match shard.find(low) {
        Some(found) => {
            assert_eq!(found, (from, behind), "{low:#x}");
            assert!(behind.low() > low, "{low:#x} is left to a search");
        }
        None => assert!(
            behind.low() == low || is_crowded(points, low),
            "{low:#x} is found at once"
        ),
    }
}

/// Whether more points of a sixteenth of the shard lie before than are compared.
fn is_crowded(points: &[Entry], low: u32) -> bool {
    let before = points.iter().filter(|point| point.low() < low);
    let in_part = before.filter(|point| point.low() >> 28 == low >> 28);
    in_part.count() > 7 || points.len() > 255
}

fn sorted(lows: &[u32]) -> Vec<Entry> {
    let mut points: Vec<_> = (0..)
        .zip(lows)
        .map(|(slot, low)| Entry::new(*low, slot))
        .collect();
    points.sort_unstable();
    points
}

#[test]
fn an_empty_shard_finds_padding() {
    let shard = Shard::new(&mut Vec::new());
    assert_eq!(shard.points(), []);
    for low in [0, 1, u32::MAX - 1] {
        assert_eq!(shard.find(low), Some((0, Entry::PADDING)));
    }
    assert_eq!(shard.find(u32::MAX), None);
    assert_eq!(shard.search(u32::MAX), 0);
}

/// At the ends of parts, of windows and of what one byte counts.
#[test]
fn shards_of_any_length_find_what_a_scan_finds() {
    for len in (0..40).chain(247..270).chain([1_000]) {
        let even =
            |n: u32| u32::try_from(u64::from(n) * (1 << 32) / u64::from(len + 1)).expect("32 bits");
        for bend in BENDS {
            let lows: Vec<u32> = (0..len).map(|n| bend(even(n))).collect();
            let points = sorted(&lows);
            let shard = Shard::new(&mut points.clone());
            assert_eq!(shard.points(), points);
            let parts = (0..16).map(|part| part << 28);
            for low in lows.into_iter().chain(parts).chain([u32::MAX]) {
                for low in [low.saturating_sub(1), low, low.saturating_add(1)] {
                    check(&points, &shard, low);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_shard_finds_what_a_scan_finds(
        lows in prop::collection::vec(any::<u32>(), 0..300),
        bend in 0..BENDS.len(),
        keys in prop::collection::vec(any::<u32>(), 32),
    ) {
        let lows: Vec<u32> = lows.into_iter().map(BENDS[bend]).collect();
        let points = sorted(&lows);
        let shard = Shard::new(&mut points.clone());
        for low in lows.into_iter().chain(keys) {
            check(&points, &shard, low);
        }
    }

    /// Across the length up to which the starts of parts are exact, in both directions.
    #[test]
    fn a_changed_shard_is_as_a_new_one(
        first in prop::collection::vec(any::<u32>(), 0..280),
        changes in prop::collection::vec((any::<u32>(), any::<bool>()), 0..60),
        bend in 0..BENDS.len(),
    ) {
        let cut = Cut::new(1);
        let position = |low: u32| u64::from(low) << cut.dropped_bits();
        let owners = Owners::new(Vec::new(), Vec::new());
        // Kept bits that differ need no owners to be brought into order.
        let mut lows: Vec<u32> = first.into_iter().map(BENDS[bend]).collect();
        lows.sort_unstable();
        lows.dedup();
        let entry = |low: &u32| Entry::new(*low, 7);
        let shard = Shard::new(&mut lows.iter().map(entry).collect());
        let mut made = Vec::new();
        for (low, is_added) in changes {
            let low = BENDS[bend](low);
            match lows.binary_search(&low) {
                Err(place) if is_added && !made.iter().any(|(changed, _)| *changed == low) => {
                    lows.insert(place, low);
                    made.push((low, true));
                }
                _ if !is_added && !lows.is_empty() => {
                    let low = lows[low as usize % lows.len()];
                    if !made.iter().any(|(changed, _)| *changed == low) {
                        lows.retain(|other| *other != low);
                        made.push((low, false));
                    }
                }
                _ => {}
            }
        }
        let made = made.into_iter();
        let mut changes: Vec<_> = made.map(|(low, is_added)| Change::new(cut, position(low), 7, is_added)).collect();
        changes.sort_unstable();
        let mut points = Vec::new();
        patch(&mut points, shard.points(), &changes, &owners, cut);
        let patched = shard.patched(&mut points, &changes);
        prop_assert_eq!(patched, Shard::new(&mut lows.iter().map(entry).collect()));
    }
}
