//! The peers, with 160 points an instance as ours have.

use hashring::HashRing;
use pingora_ketama::{Bucket, Continuum};

use crate::data::address;

/// One of an instance's points.
pub(crate) type Point = (u32, u32);

pub(crate) const POINTS: u32 = 160;

/// As the peer has them for weight 1.
pub(crate) fn pingora(count: u32) -> Continuum {
    let buckets: Vec<_> = (0..count).map(|n| Bucket::new(address(n), 1)).collect();
    Continuum::new(&buckets)
}

pub(crate) fn points(instance: u32) -> Vec<Point> {
    (0..POINTS).map(|point| (instance, point)).collect()
}

pub(crate) fn hashring(count: u32) -> HashRing<Point> {
    let mut ring = HashRing::new();
    ring.batch_add((0..count).flat_map(points).collect());
    ring
}
