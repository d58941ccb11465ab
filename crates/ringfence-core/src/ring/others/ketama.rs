//! Rings of MD5 points: libketama, twemproxy (`nc_ketama.c`), Dubbo (`ConsistentHashLoadBalance`).

use md5::{Digest, Md5};

use super::{
    hosts::{Host, Hosts},
    sorted::SortedRing,
};
use crate::ring::{Ketama, KetamaVariant, RingConfig};

/// Digests of an instance with an average weight; each gives four points.
const DIGESTS: u32 = 40;
const POINTS_OF_DIGEST: u32 = 4;
/// Points of an instance of the mean weight.
pub(super) const POINTS: u32 = DIGESTS * POINTS_OF_DIGEST;

pub(super) fn build(hosts: &Hosts, ketama: &Ketama, config: &RingConfig) -> SortedRing<u32> {
    let weighted: Vec<_> = hosts.weighted().collect();
    let digests = digests(weighted.len(), config);
    let sum: u64 = weighted.iter().map(|(_, h)| u64::from(h.weight)).sum();
    let separator = match ketama.variant() {
        KetamaVariant::Libketama | KetamaVariant::Twemproxy => "-",
        KetamaVariant::Dubbo => "",
    };
    let mut points = Vec::new();
    for (member, host) in &weighted {
        let rounds = match ketama.variant() {
            KetamaVariant::Dubbo => digests,
            KetamaVariant::Libketama => libketama(host, sum, digests, weighted.len()),
            KetamaVariant::Twemproxy => twemproxy(host, sum, digests, weighted.len()),
        };
        // With fewer digests than the format has, rounding could leave nobody a point.
        let rounds = if digests < DIGESTS {
            rounds.max(1)
        } else {
            rounds
        };
        for k in 0..rounds {
            let mut hasher = Md5::new_with_prefix(host.key.as_bytes());
            hasher.update(format!("{separator}{k}").as_bytes());
            if config.seed() != 0 {
                hasher.update(config.seed().to_le_bytes());
            }
            points.extend(words(hasher).map(|point| (point, *member)));
        }
    }
    SortedRing::new(points)
}

pub(super) fn is_capped(hosts: &Hosts, config: &RingConfig) -> bool {
    digests(hosts.weighted().count(), config) < DIGESTS
}

/// First word of the MD5 of a key.
pub(super) fn hash_key(key: &[u8]) -> u32 {
    words(Md5::new_with_prefix(key)).next().unwrap_or(0)
}

/// Digests for each of so many instances: 40, or as many as keep to the most points, and one at least.
fn digests(instances: usize, config: &RingConfig) -> u32 {
    let instances = u32::try_from(instances).unwrap_or(u32::MAX).max(1);
    (config.max_ring_points() / POINTS_OF_DIGEST / instances).clamp(1, DIGESTS)
}

/// `floorf(pct * 40.0 * n)`: a share in single precision, a product in double, and single precision again.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the loss is part of the format; what is floored is at most 40 for each of the instances"
)]
fn libketama(host: &Host, sum: u64, digests: u32, instances: usize) -> u32 {
    let share = host.weight as f32 / sum as f32;
    let rounds = f64::from(share) * f64::from(digests) * instances as f64;
    (rounds as f32).floor() as u32
}

/// `floorf((float)(pct * 160 / 4 * (float)n + 0.0000000001))`.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the loss is part of the format; what is floored is at most 40 for each of the instances"
)]
fn twemproxy(host: &Host, sum: u64, digests: u32, instances: usize) -> u32 {
    let share = host.weight as f32 / sum as f32;
    let rounds = share * (digests * POINTS_OF_DIGEST) as f32 / POINTS_OF_DIGEST as f32;
    let rounds = f64::from(rounds * instances as f32) + 1e-10;
    (rounds as f32).floor() as u32
}

/// The words of a digest, each little endian.
fn words(hasher: Md5) -> impl Iterator<Item = u32> {
    let digest: [u8; 16] = hasher.finalize().into();
    (0..4).map(move |word| {
        let at = |i: usize| digest.get(4 * word + i).copied().unwrap_or(0);
        u32::from_le_bytes([at(0), at(1), at(2), at(3)])
    })
}
