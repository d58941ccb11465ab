//! The circle, cut into equal parts for drawing.

use std::collections::BTreeMap;

use ringfence_core::{HashAlgorithm, KeyHash, Ring};

use super::{MAX_INSTANCES, MAX_STEPS};

/// Parts that the circle is divided into for drawing.
pub(super) const SLICES: usize = 720;
/// Owners that are told of a slice; those with the largest shares.
pub(super) const OWNERS: usize = 8;

/// Of each slice: its owners with their shares of it in thousandths.
pub(super) type Slices = Vec<Vec<(usize, u32)>>;

/// How many positions the key space has, and its slices; `None` where neighbouring keys have nothing in common, and where going
/// over the ring would take too long.
pub(super) fn slices_of(ring: &Ring) -> Option<(u128, Slices)> {
    if ring.is_empty() || ring.arc_steps() > MAX_STEPS {
        return None;
    }
    let of_points = |last| Some(slices(arcs(ring.points(), last), last));
    match ring.config().algorithm() {
        HashAlgorithm::Maglev(maglev) => of_points(u64::from(maglev.table_size()).checked_sub(1)?),
        HashAlgorithm::Slots(_) => {
            let last = ring.last_position()?;
            let owned = (0..=last).map(|slot| (slot, ring.owner(KeyHash::from_raw(slot))));
            Some(slices(owned, last))
        }
        _ => of_points(ring.last_position()?),
    }
}

/// The last position of each arc with its owner; each begins behind the one before, and the last one ends with the space.
fn arcs(
    points: impl Iterator<Item = (u64, u32)>,
    last: u64,
) -> impl Iterator<Item = (u64, Option<u32>)> {
    let mut points = points.peekable();
    // Keys behind the last point are those of the first one.
    let first = points.peek().map(|(_, member)| *member);
    let mut before = None;
    let own = points.filter(move |(position, _)| before.replace(*position) != Some(*position));
    own.map(|(position, member)| (position, Some(member)))
        .chain([(last, first)])
}

fn slices(arcs: impl Iterator<Item = (u64, Option<u32>)>, last: u64) -> (u128, Slices) {
    let space = u128::from(last) + 1;
    // A space of fewer positions than slices is drawn whole.
    let count = SLICES.min(usize::try_from(space).unwrap_or(SLICES));
    let mut slices: Vec<Slice> = (0..count).map(|_| Slice::default()).collect();
    let mut start = 0u128;
    for (position, owner) in arcs {
        let end = u128::from(position) + 1;
        if let Some(owner) = owner.filter(|_| end > start) {
            for (slice, part) in parts(start, end, space, count) {
                if let Some(slice) = slices.get_mut(slice) {
                    slice.add(owner, part);
                }
            }
        }
        start = start.max(end);
    }
    let told = slices.into_iter().map(|slice| slice.told(space));
    (space, told.collect())
}

/// How much of each slice lies in a range, in positions times the number of slices, so that their borders are whole numbers.
fn parts(start: u128, end: u128, space: u128, count: usize) -> impl Iterator<Item = (usize, u128)> {
    // A space has at most 2^64 positions, and there are fewer than 2^10 slices.
    let (start, end) = (start * count as u128, end * count as u128);
    let slices = start / space..=(end - 1) / space;
    slices.map(move |slice| {
        let (from, to) = (slice * space, (slice + 1) * space);
        let place = usize::try_from(slice).unwrap_or(usize::MAX);
        (place, end.min(to) - start.max(from))
    })
}

/// One part of the circle, with its owners in the order in which they begin.
#[derive(Default)]
struct Slice {
    owners: Vec<u32>,
    parts: BTreeMap<u32, u128>,
}

impl Slice {
    fn add(&mut self, owner: u32, part: u128) {
        let known = self.parts.entry(owner).or_insert_with(|| {
            self.owners.push(owner);
            0
        });
        *known += part;
    }

    fn told(self, space: u128) -> Vec<(usize, u32)> {
        let mut parts: Vec<u128> = self.parts.values().copied().collect();
        parts.sort_unstable_by(|a, b| b.cmp(a));
        let least = parts.get(OWNERS - 1).copied().unwrap_or(0);
        let told = self.owners.iter().filter_map(|owner| {
            let part = *self.parts.get(owner)?;
            let place = *owner as usize;
            let permille = u32::try_from((part * 1000 + space / 2) / space).unwrap_or(1000);
            (part >= least && permille > 0 && place < MAX_INSTANCES).then_some((place, permille))
        });
        told.collect()
    }
}
