//! How the keys are shared out.

use std::collections::BTreeMap;

use ringfence_core::{Evenness, HashAlgorithm, Instance, KeyShare, Ring, weight_shares};

use crate::{input::generated, progress::Progress};

/// Scores that may be worked out for one thing that is told: some seconds.
const MOST_SCORES: u64 = 1 << 28;
/// Keys below which a count says nothing.
const LEAST_KEYS: u64 = 1_000;

/// How many of the keys wanted are looked up, so many times each: rendezvous works out a score for every instance at each look-up, so
/// that there are fewer where there are many instances.
pub(crate) fn affordable(ring: &Ring, wanted: u64, times: u64) -> u64 {
    match ring.config().algorithm() {
        HashAlgorithm::Rendezvous => {
            let instances = u64::try_from(ring.member_count()).unwrap_or(u64::MAX);
            let scores = instances.saturating_mul(times).max(1);
            wanted.min((MOST_SCORES / scores).max(LEAST_KEYS))
        }
        _ => wanted,
    }
}

/// The part of the keys that each instance has, by id.
pub(crate) struct Shares {
    /// How many keys were counted; nothing where the shares are exact.
    pub(crate) sample: Option<u64>,
    of: BTreeMap<String, f64>,
}

impl Shares {
    /// Exact, or counted over generated keys.
    pub(crate) fn of(ring: &Ring, sample: u64) -> Self {
        Self::counted(ring, sample, || {})
    }

    /// The same, telling how far a count is.
    pub(crate) fn shown(ring: &Ring, sample: u64) -> Self {
        let mut progress = None;
        Self::counted(ring, sample, || {
            progress
                .get_or_insert_with(|| Progress::new("keys", Some(sample)))
                .step();
        })
    }

    fn counted(ring: &Ring, sample: u64, mut step: impl FnMut()) -> Self {
        let exact = ring.shares();
        let is_exact = exact.is_some();
        let shares = exact.unwrap_or_else(|| {
            let keys = (0..sample).map(|number| {
                step();
                generated(0, number)
            });
            ring.sampled_shares(keys)
        });
        let share = |(member, share): (u32, KeyShare)| {
            let id = ring.member_id(member)?;
            Some((id.to_string(), share.as_f64()))
        };
        Self {
            sample: (!is_exact).then_some(sample),
            of: (0..).zip(shares).filter_map(share).collect(),
        }
    }

    pub(crate) fn get(&self, id: &str) -> f64 {
        self.of.get(id).copied().unwrap_or_default()
    }
}

/// The part that the weight of an instance promises it, by id.
pub(crate) fn expected<'a>(
    instances: impl IntoIterator<Item = &'a Instance>,
) -> BTreeMap<&'a str, f64> {
    let takers = instances.into_iter().filter(|i| i.takes_traffic());
    let takers: Vec<&Instance> = takers.collect();
    let ids = takers.iter().map(|instance| instance.id().as_str());
    ids.zip(weight_shares(takers.iter().copied())).collect()
}

/// What a change must move at least: what instances gain by their weights.
pub(crate) fn ideal(before: &[Instance], after: &[Instance]) -> f64 {
    let before = expected(before);
    let gain = |(id, after): (&str, f64)| (after - before.get(id).copied().unwrap_or(0.0)).max(0.0);
    expected(after).into_iter().map(gain).sum()
}

/// How far the shares of those that are promised something are from it; nothing is even.
pub(crate) fn evenness(shares: &Shares, expected: &BTreeMap<&str, f64>) -> Evenness {
    let pairs = expected.iter().map(|(id, part)| (shares.get(id), *part));
    Evenness::of(pairs).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{self, Fleet};

    #[test]
    fn rendezvous_looks_up_fewer_keys_where_there_are_many_instances() {
        let keys = |algorithm: HashAlgorithm, count: usize, wanted: u64, times: u64| {
            let instances = (0..count).map(|n| {
                let built = Instance::builder(format!("i-{n}"), format!("h-{n}:80")).build();
                built.expect("legal")
            });
            let fleet = Fleet {
                service: "s".to_owned(),
                instances: instances.collect(),
            };
            let config = ringfence_core::RingConfig::default().with_algorithm(algorithm);
            affordable(&input::ring(&fleet, &config).1, wanted, times)
        };
        let rendezvous =
            |count, wanted, times| keys(HashAlgorithm::Rendezvous, count, wanted, times);
        assert_eq!(rendezvous(5, 200_000, 162), 200_000);
        assert_eq!(rendezvous(512, 200_000, 1), 200_000);
        assert_eq!(rendezvous(512, 200_000, 162), (1 << 19) / 162);
        assert_eq!(rendezvous(512, 500, 162), 500);
        assert_eq!(rendezvous(5_000, 200_000, 1_000), LEAST_KEYS);
        assert_eq!(keys(HashAlgorithm::Ring, 500, 200_000, 162), 200_000);
    }
}
