//! Envoy's `RingHashLoadBalancer`, which gRPC's A42 follows.

use std::fmt::Write;

use xxhash_rust::xxh64::xxh64;

use super::{
    hosts::{Host, Hosts},
    murmur::{STD_HASH_SEED, murmur2_64},
    sorted::SortedRing,
};
use crate::ring::{EnvoyRing, HostOrder, PointHash};

pub(super) fn build(hosts: &Hosts, config: &EnvoyRing, seed: u64) -> SortedRing<u64> {
    let hosts: Vec<(u32, &Host)> = match config.host_order() {
        HostOrder::AsGiven => hosts.ordered().filter(|(_, h)| h.weight > 0).collect(),
        HostOrder::Sorted => hosts.by_key(),
    };
    let Some(scale) = scale(&hosts, config) else {
        return SortedRing::new(Vec::new());
    };
    let sum = sum(&hosts);
    let mut points = Vec::new();
    let mut name = String::new();
    // Both run on over the hosts, so that what rounding takes from one goes to the next.
    let (mut current, mut target) = (0.0_f64, 0.0_f64);
    for (member, host) in hosts {
        target += scale * (f64::from(host.weight) / sum);
        name.clear();
        name.push_str(&host.key);
        name.push('_');
        let stem = name.len();
        let mut i = 0_u32;
        while current < target {
            name.truncate(stem);
            // Writing to a string cannot fail.
            let _ = write!(name, "{i}");
            points.push((hash(config.hash(), name.as_bytes(), seed), member));
            i += 1;
            current += 1.0;
        }
    }
    SortedRing::new(points)
}

/// Whether the most points are fewer than the lightest host's whole ones need.
pub(super) fn is_capped(hosts: &Hosts, config: &EnvoyRing) -> bool {
    let hosts: Vec<_> = hosts.weighted().collect();
    wanted(&hosts, config).is_some_and(|wanted| wanted > f64::from(config.max_ring_size()))
}

/// About how many points hosts of these weights have together.
pub(super) fn expected(weights: impl Iterator<Item = u32> + Clone, config: &EnvoyRing) -> usize {
    let Some(least) = weights.clone().min() else {
        return 0;
    };
    let wanted = wanted_by(least, weights.map(f64::from).sum(), config);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the largest size, which is an u32, and not negative"
    )]
    let points = wanted.min(f64::from(config.max_ring_size())) as usize;
    points
}

/// Of the hosts' own weights: were it of those on the ring, all points would change with each step of a slow start.
fn sum(hosts: &[(u32, &Host)]) -> f64 {
    let own = hosts.iter().map(|(_, host)| f64::from(host.own_weight));
    own.sum()
}

/// About how many points all have; `None` without hosts.
fn scale(hosts: &[(u32, &Host)], config: &EnvoyRing) -> Option<f64> {
    Some(wanted(hosts, config)?.min(f64::from(config.max_ring_size())))
}

/// About how many points all have where nothing limits them.
fn wanted(hosts: &[(u32, &Host)], config: &EnvoyRing) -> Option<f64> {
    let least = hosts.iter().map(|(_, host)| host.own_weight).min()?;
    Some(wanted_by(least, sum(hosts), config))
}

/// So many that the lightest host has whole ones.
fn wanted_by(least: u32, sum: f64, config: &EnvoyRing) -> f64 {
    let least = f64::from(least) / sum;
    let whole = (least * f64::from(config.min_ring_size())).ceil();
    whole / least
}

fn hash(hash: PointHash, name: &[u8], seed: u64) -> u64 {
    match hash {
        PointHash::XxHash => xxh64(name, seed),
        PointHash::MurmurHash2 => murmur2_64(name, STD_HASH_SEED ^ seed),
    }
}
