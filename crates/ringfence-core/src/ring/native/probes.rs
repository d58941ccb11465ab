//! Multi-probe lookup: several positions for one key, and the nearest point behind any of them.
//!
//! Appleton and O'Reilly, "Multi-Probe Consistent Hashing", 2015, on a ring that has several points for each instance.

use super::{
    cut::{Entry, Step},
    flat::Flat,
    layout::split_mix,
    owners::Owners,
    place::Place,
    points::Points,
    shards::Shards,
};
use crate::ring::RingConfig;

/// Most probes of a key.
pub(super) const MOST: usize = RingConfig::MAX_PROBES as usize;

/// How many positions a key is looked up at: its hash, and further outputs of SplitMix64 seeded with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Probes(u32);

/// A place for each probe, in their order.
pub(super) type Places = arrayvec::ArrayVec<Place, MOST>;

impl Probes {
    pub(super) fn new(probes: u32) -> Self {
        Self(probes)
    }

    #[inline]
    pub(super) fn is_plain(self) -> bool {
        self.0 <= 1
    }

    /// Member that owns a key.
    #[inline]
    pub(super) fn owner(self, key: u64, points: &Points, owners: &Owners) -> Option<u32> {
        let clear = match points {
            Points::Flat(flat) | Points::ProbedFlat(flat) => {
                self.clearly_nearest(key, flat, owners)
            }
            Points::Sharded(shards) | Points::ProbedSharded(shards) => {
                self.clearly_least_step(key, shards)
            }
        };
        match clear.and_then(|slot| owners.member(slot)) {
            Some(member) => Some(member),
            None => owners.member(self.searched_owner(key, points, owners)?),
        }
    }

    /// Slot of the point that is nearest whatever the bits are that are not kept; one of nobody where that point is in another
    /// shard than its probe. The processor looks for several at a time, as no search waits for another.
    #[inline(always)]
    fn clearly_least_step(self, key: u64, shards: &Shards) -> Option<u32> {
        let (mut least, mut second) = (Step::FARTHEST, Step::FARTHEST);
        for number in 0..self.0 {
            let step = shards.step(position(key, number));
            second = second.min(least.max(step));
            least = least.min(step);
        }
        // At no distance the point may lie before its probe.
        let is_clear = least.distance() > 0 && second.distance() - least.distance() > 1;
        is_clear.then_some(least.slot())
    }

    /// Slot of the point that is nearest whatever the bits are that are not kept.
    #[inline(always)]
    fn clearly_nearest(self, key: u64, flat: &Flat, owners: &Owners) -> Option<u32> {
        let cut = flat.cut;
        let (mut nearest, mut is_clear) = (Entry::default(), true);
        let (mut least, mut second) = (u64::MAX, u64::MAX);
        for number in 0..self.0 {
            let probe = position(key, number);
            let (place, point) = flat.successor(probe, owners)?;
            let kept = flat.kept_at(place);
            let distance = (kept << cut.dropped_bits()).wrapping_sub(probe);
            is_clear &= kept != cut.kept(probe);
            second = second.min(least.max(distance));
            nearest = if distance < least { point } else { nearest };
            least = least.min(distance);
        }
        (is_clear && second - least > cut.slack()).then_some(nearest.slot())
    }

    #[cold]
    #[inline(never)]
    fn searched_owner(self, key: u64, points: &Points, owners: &Owners) -> Option<u32> {
        let places = self.places(key, points, owners);
        points.slot(nearest(key, &places, points, owners))
    }

    /// The first point behind each probe.
    pub(super) fn places(self, key: u64, points: &Points, owners: &Owners) -> Places {
        let probes = (0..self.0).map(|probe| position(key, probe));
        let mut places = Places::new();
        for probe in probes.take(MOST) {
            let first = points.successor(probe, owners);
            places.push(first.map_or_else(Place::default, |(place, _)| place));
        }
        places
    }
}

#[inline]
fn position(key: u64, probe: u32) -> u64 {
    if probe == 0 {
        key
    } else {
        split_mix(key, probe)
    }
}

/// The place of least distance from its probe; of equal ones the first.
#[inline]
pub(super) fn nearest(key: u64, places: &[Place], points: &Points, owners: &Owners) -> Place {
    let slack = points.cut().slack();
    let (mut nearest, mut least, mut second) = (Place::default(), u64::MAX, u64::MAX);
    let mut is_clear = true;
    for (probe, place) in (0..).zip(places) {
        match points.least_distance(*place, position(key, probe)) {
            Some(distance) if distance < least => {
                second = least;
                (nearest, least) = (*place, distance);
            }
            Some(distance) => second = second.min(distance),
            None => is_clear = false,
        }
    }
    if is_clear && second - least > slack {
        return nearest;
    }
    exactly_nearest(key, places, points, owners)
}

/// By whole positions.
#[cold]
fn exactly_nearest(key: u64, places: &[Place], points: &Points, owners: &Owners) -> Place {
    let numbered = (0..).zip(places);
    let by_distance = numbered.min_by_key(|(probe, place)| {
        let point = points.position(**place, owners);
        point.wrapping_sub(position(key, *probe))
    });
    by_distance.map_or_else(Place::default, |(_, place)| *place)
}
