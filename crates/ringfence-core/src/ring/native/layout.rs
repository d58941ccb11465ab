//! Ring layout v1, a wire format: clients in other processes and languages compute the same numbers.
//!
//! - base of an instance = xxh3_64(id bytes, seed)
//! - its point `i`, from 0 = output `i + 1` of SplitMix64 seeded with the base
//! - order of points: (point, instance id, `i`)
//!
//! SplitMix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014. XXH3: Yann Collet, xxHash.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{ring::RingConfig, snapshot::Snapshot};

/// Version of the layout; part of the fingerprint.
pub(in crate::ring) const VERSION: u32 = 1;

const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Output `n`, from 1, of SplitMix64 with this seed.
#[inline]
pub(super) fn split_mix(seed: u64, n: u32) -> u64 {
    let z = seed.wrapping_add(u64::from(n).wrapping_mul(GOLDEN_GAMMA));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Where the points of one instance come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PointSource(u64);

impl PointSource {
    pub(super) fn new(id: &str, seed: u64) -> Self {
        Self(xxh3_64_with_seed(id.as_bytes(), seed))
    }

    /// `i` is below 2^26, see [`PointCounts`].
    #[inline]
    pub(super) fn point(self, i: u32) -> u64 {
        let point = split_mix(self.0, i.wrapping_add(1));
        #[cfg(test)]
        let point = super::tests::warp::warped(point);
        point
    }
}

/// How many points each instance of a snapshot has, with the cap on their sum applied.
#[derive(Clone, Copy)]
pub(in crate::ring) struct PointCounts {
    points_per_instance: u64,
    max_points: u64,
    /// Sum before the cap.
    total: u64,
}

impl PointCounts {
    pub(in crate::ring) fn new(snapshot: &Snapshot, config: &RingConfig) -> Self {
        let points_per_instance = config.points_per_instance().into();
        Self {
            points_per_instance,
            max_points: config.max_ring_points().into(),
            total: snapshot
                .instances()
                .iter()
                .map(|instance| uncapped(instance.effective_weight(), points_per_instance))
                .sum(),
        }
    }

    pub(in crate::ring) fn is_capped(self) -> bool {
        self.total > self.max_points
    }

    /// About how many all have together.
    pub(in crate::ring) fn expected(self) -> usize {
        usize::try_from(self.total.min(self.max_points)).unwrap_or(usize::MAX)
    }

    /// Of a member with this weight on the ring. The cap goes by the instances' own weights, so that nobody else's points change
    /// while a new one grows.
    pub(in crate::ring) fn of(self, ring_weight: u32) -> u32 {
        let count = uncapped(ring_weight, self.points_per_instance);
        let count = if count > 0 && self.is_capped() {
            // Both factors are below 2^30 and 2^27.
            (count * self.max_points / self.total).max(1)
        } else {
            count
        };
        // At most 65,536 * 1,000,000 / 100 points, within 32 bits.
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

fn uncapped(weight: u32, points_per_instance: u64) -> u64 {
    match u64::from(weight) {
        0 => 0,
        weight => ((points_per_instance * weight + 50) / 100).max(1),
    }
}
