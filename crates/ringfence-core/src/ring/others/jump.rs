//! Jump consistent hash, and the lists that its buckets are.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    hosts::Hosts,
    scores::{ScoredKey, Scores},
};
use crate::ring::Jump;

pub(in crate::ring) struct JumpBuckets {
    /// Member of each bucket with its weight; weight 0 for an instance that owns nothing.
    buckets: Box<[(u32, u32)]>,
    heaviest: u32,
}

impl JumpBuckets {
    pub(super) fn build(hosts: &Hosts, config: &Jump) -> Self {
        let member_of = |id| hosts.list.binary_search_by(|host| host.id.cmp(id)).ok();
        let bucket = |member: u32| {
            let host = hosts.list.get(member as usize);
            (member, host.map_or(0, |host| host.weight))
        };
        let buckets = match config.buckets() {
            Some(ids) => ids
                .iter()
                .map(|id| match member_of(id).map(u32::try_from) {
                    Some(Ok(member)) => bucket(member),
                    _ => (u32::MAX, 0),
                })
                .collect(),
            None => hosts.order.iter().map(|&member| bucket(member)).collect(),
        };
        let weights = hosts.list.iter().map(|host| host.weight);
        Self {
            buckets,
            heaviest: weights.max().unwrap_or(0),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        let buckets = (0..).zip(&self.buckets);
        buckets
            .filter(|(_, (_, weight))| *weight > 0)
            .map(|(bucket, (member, _))| (bucket, *member))
    }

    pub(super) fn owner(&self, hash: u64, scores: &Scores) -> Option<u32> {
        let bucket = self.buckets.get(jump(hash, self.buckets.len())?);
        let accepted = bucket.filter(|(member, weight)| {
            // Another hash than that of the scores, else those it refuses would come back to it.
            let draw = xxh3_64_with_seed(&scores.seed_of(*member).to_le_bytes(), hash);
            (u128::from(draw) * u128::from(self.heaviest)) >> 64 < u128::from(*weight)
        });
        match accepted {
            Some((member, _)) => Some(*member),
            None => scores.best(ScoredKey::Hash(hash)),
        }
    }
}

/// The bucket of a key; `None` without buckets.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the format: a bucket is a whole number below 2^31 in a double, rounded down"
)]
pub(super) fn jump(mut key: u64, buckets: usize) -> Option<usize> {
    let buckets = buckets as u64;
    let (mut bucket, mut next) = (None, 0_u64);
    while next < buckets {
        bucket = Some(next);
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        let step = (1_u64 << 31) as f64 / ((key >> 33) + 1) as f64;
        next = ((next + 1) as f64 * step) as u64;
    }
    usize::try_from(bucket?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_jump_as_in_the_reference() {
        for (key, buckets, bucket) in [
            (0, 0, None),
            (0, 1, Some(0)),
            (0, 60, Some(0)),
            (1, 60, Some(55)),
            (256, 1_024, Some(520)),
            (10_863_919_174_838_991, 11, Some(6)),
            (2_016_238_256_797_177_309, 11, Some(3)),
            (0xDEAD_BEEF, 100, Some(87)),
        ] {
            assert_eq!(jump(key, buckets), bucket, "{key} of {buckets}");
        }
    }
}
