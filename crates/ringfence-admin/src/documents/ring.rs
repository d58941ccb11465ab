//! Who owns which part of the key space.

mod shares;
mod slices;
#[cfg(test)]
mod tests;

use ringfence_core::Ring;
use ringfence_policy::RingSettings;
use serde::Serialize;

use self::{
    shares::{Basis, sample_of, shares_of},
    slices::{Slices, slices_of},
};
use super::MAX_INSTANCES;

/// Largest ring that is gone over: some 10 ms of work.
const MAX_STEPS: usize = 1 << 20;

/// The ring of all instances.
#[derive(Debug, Serialize)]
pub(crate) struct RingDocument {
    algorithm: &'static str,
    settings: RingSettings,
    pub(crate) fingerprint: String,
    points: usize,
    capped: bool,
    /// What shares are found by.
    basis: Basis,
    /// How many keys were looked up for a sample.
    sample: Option<usize>,
    members: Vec<Member>,
    /// Members beyond the largest number that is told.
    truncated: bool,
    /// How many positions the key space has, in decimal digits: a key lies at its hash modulo this.
    positions: Option<String>,
    /// Equal parts of the key space in order, each with its owners: their place in `members` and their share of the part in
    /// thousandths. Empty where neighbouring keys have nothing in common.
    slices: Slices,
}

#[derive(Debug, Serialize)]
struct Member {
    id: String,
    points: u32,
    /// Part of the key space.
    share: f64,
}

impl RingDocument {
    pub(crate) fn of(ring: &Ring) -> Self {
        let mut settings = RingSettings::from(ring.config());
        // Lists of ids as long as the table has slots.
        settings.buckets = None;
        settings.slots = None;
        let (basis, shares) = shares_of(ring);
        let (positions, slices) = slices_of(ring).unzip();
        let members = (0u32..).take(ring.member_count().min(MAX_INSTANCES));
        let members = members.zip(&shares).map(|(member, share)| Member {
            id: ring
                .member_id(member)
                .map(ToString::to_string)
                .unwrap_or_default(),
            points: ring.points_of(member),
            share: *share,
        });
        Self {
            algorithm: ring.config().algorithm().as_str(),
            settings,
            fingerprint: ring.fingerprint().to_string(),
            points: ring.len(),
            capped: ring.is_capped(),
            basis,
            sample: matches!(basis, Basis::Sample).then(|| sample_of(ring)),
            members: members.collect(),
            truncated: ring.member_count() > MAX_INSTANCES,
            positions: positions.map(|positions: u128| positions.to_string()),
            slices: slices.unwrap_or_default(),
        }
    }
}
