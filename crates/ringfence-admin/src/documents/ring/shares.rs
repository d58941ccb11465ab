//! How large the part of each member is.

use ringfence_core::{HashAlgorithm, KeyShare, Ring};
use serde::Serialize;

use super::MAX_STEPS;

/// Most keys by which shares are found where the algorithm has no ranges.
pub(super) const SAMPLE: usize = 16_384;
/// Keys below which a sample says nothing.
pub(super) const MIN_SAMPLE: usize = 256;

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Basis {
    /// The whole key space was gone over.
    Ranges,
    /// The owners of some keys.
    Sample,
    /// The numbers of points: the ring is too large to go over.
    Points,
}

/// By member: its part of all keys.
pub(super) fn shares_of(ring: &Ring) -> (Basis, Vec<f64>) {
    if ring.arc_steps() > MAX_STEPS {
        return (Basis::Points, by_points(ring));
    }
    match ring.shares() {
        Some(shares) => (
            Basis::Ranges,
            shares.into_iter().map(KeyShare::as_f64).collect(),
        ),
        None => (Basis::Sample, by_sample(ring)),
    }
}

/// How many keys are looked up: fewer where each costs a score for every member or a search for every probe.
pub(super) fn sample_of(ring: &Ring) -> usize {
    let steps = match ring.config().algorithm() {
        HashAlgorithm::Rendezvous => ring.member_count(),
        _ => usize::try_from(ring.config().probes()).unwrap_or(usize::MAX),
    };
    (MAX_STEPS / steps.max(1)).clamp(MIN_SAMPLE, SAMPLE)
}

fn by_sample(ring: &Ring) -> Vec<f64> {
    let keys = (0..sample_of(ring) as u64).map(u64::to_le_bytes);
    let shares = ring.sampled_shares(keys).into_iter();
    shares.map(KeyShare::as_f64).collect()
}

fn by_points(ring: &Ring) -> Vec<f64> {
    let members = (0u32..).take(ring.member_count());
    let points = members.map(|member| u128::from(ring.points_of(member)));
    let points: Vec<_> = points.collect();
    let all = points.iter().sum::<u128>().max(1);
    let shares = points.into_iter().map(|points| KeyShare::new(points, all));
    shares.map(KeyShare::as_f64).collect()
}
