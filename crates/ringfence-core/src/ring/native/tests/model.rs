//! The layout written out plainly, and what is compared with it.

use super::{super::layout::PointSource, super::probes::MOST, pool, warp};
use crate::{
    pool::Pool,
    ring::{Engine, KeyHash, Ring, RingConfig, native::NativeRing},
};

/// All points of a ring in order.
pub(super) struct Model {
    /// Position, member and number of each.
    points: Vec<(u64, u32, u32)>,
    probes: u32,
}

impl Model {
    /// Of the members that have so many points.
    pub(super) fn of(pool: &Pool, ring: &Ring) -> Self {
        let seed = ring.config().seed();
        let mut points = Vec::new();
        for (member, instance) in (0..).zip(pool.iter()) {
            let source = PointSource::new(instance.id().as_str(), seed);
            points.extend((0..ring.points_of(member)).map(|i| (source.point(i), member, i)));
        }
        // Members are in id order.
        points.sort_unstable();
        Self {
            points,
            probes: ring.config().probes(),
        }
    }

    pub(super) fn points(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.points
            .iter()
            .map(|(position, member, _)| (*position, *member))
    }

    /// The member whose first point behind any probe is nearest, but for those `seen`.
    fn nearest(&self, key: u64, seen: &[u32]) -> Option<u32> {
        let mut best = None;
        for j in 0..self.probes {
            let probe = probe(key, j);
            let behind = self
                .points
                .partition_point(|(position, ..)| *position < probe);
            let (before, behind) = self.points.split_at(behind);
            let mut in_order = behind.iter().chain(before);
            let (position, member, _) = in_order.find(|(_, member, _)| !seen.contains(member))?;
            let distance = position.wrapping_sub(probe);
            if best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, *member));
            }
        }
        best.map(|(_, member)| member)
    }

    /// The first `most` members of a walk without those in `out`.
    pub(super) fn walk(&self, key: u64, out: &[u32], most: usize) -> Vec<u32> {
        let mut seen = out.to_vec();
        while let Some(member) = self.nearest(key, &seen) {
            seen.push(member);
            if seen.len() - out.len() == most {
                break;
            }
        }
        seen.split_off(out.len())
    }

    /// At the points, beside them, at the ends and, for each, at a position that differs in the last bits alone.
    pub(super) fn keys(&self) -> Vec<u64> {
        let every = self.points.len() / 40 + 1;
        let some = self.points.iter().step_by(every).chain(self.points.last());
        some.flat_map(|&(p, ..)| [p, p.wrapping_sub(1), p.wrapping_add(1), p ^ 0xFF])
            .chain([0, 1, u64::MAX, u64::MAX - 1, 1 << 63])
            .collect()
    }

    /// Compares a ring in all it says.
    pub(super) fn check(&self, ring: &Ring, keys: &[u64]) {
        assert!(ring.points().eq(self.points()), "points of {ring:?}");
        assert_eq!(ring.len(), self.points.len());
        for &key in keys {
            let hash = KeyHash::from_raw(key);
            let walk = self.walk(key, &[], 4);
            assert_eq!(ring.owner(hash), walk.first().copied(), "owner of {key:#x}");
            let walked: Vec<_> = ring.walk(hash).take(4).collect();
            assert_eq!(walked, walk, "walk of {key:#x}");
            let out = walk.get(..2.min(walk.len())).unwrap_or_default();
            let usable = |member| !out.contains(&member);
            let walked: Vec<_> = ring.walk_where(hash, usable).take(2).collect();
            assert_eq!(
                walked,
                self.walk(key, out, 2),
                "walk of {key:#x} without {out:?}"
            );
        }
    }
}

/// Probe `j` of a key, as the layout has it: output `j` of SplitMix64 seeded with the key's hash.
pub(super) fn probe(key: u64, j: u32) -> u64 {
    assert!((j as usize) < MOST);
    if j == 0 {
        return key;
    }
    let z = key.wrapping_add(u64::from(j).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

pub(super) fn native(ring: &Ring) -> &NativeRing {
    match &ring.engine {
        Engine::Native(native) => native,
        Engine::Other(_) => panic!("not the own ring"),
    }
}

pub(super) fn ring_of(weights: &[u32], config: &RingConfig) -> (Pool, Ring) {
    let named = (0..)
        .zip(weights)
        .map(|(i, &weight)| (format!("i{i:03}"), weight));
    let pool = pool(named);
    let ring = Ring::build(&pool, config);
    (pool, ring)
}

type Bend = fn(u64) -> u64;

/// What hashes do not make: points that agree in all bits or in all that a ring keeps, at the ends, and all in one place.
pub(super) const BENDS: [(&str, Bend); 10] = [
    ("as hashed", |p| p),
    ("all at 0", |_| 0),
    ("all at the end", |_| u64::MAX),
    ("all at one place", |_| 0x1234_5678_9ABC_DEF0),
    ("at both ends", |p| if p & 1 == 0 { 0 } else { u64::MAX }),
    ("few places", |p| p >> 60 << 60),
    ("few places, with last bits", |p| p >> 60 << 60 | (p & 0xF)),
    ("all in the first bucket", |p| p >> 30),
    ("all in the last bucket", |p| u64::MAX << 34 | p >> 30),
    ("last bits alone", |p| p & 0x3FF),
];

/// Calls `each` with each of them in force.
pub(super) fn bent(mut each: impl FnMut(&str)) {
    for (name, bend) in BENDS {
        let _warped = warp::warp(bend);
        each(name);
    }
}
