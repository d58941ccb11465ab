//! How the keys of a file are spread, in bounded memory.

use std::{collections::BTreeMap, path::Path};

use ringfence_core::Ring;
use serde::Serialize;

use crate::{failure::Failure, input::Keys, progress::Progress};

/// Keys that are counted at the same time.
const COUNTED: usize = 10_000;

/// Who owns how many of the keys, and the most frequent of them.
pub(super) struct Spread {
    of_owner: BTreeMap<String, u64>,
    top: Top,
}

#[derive(Serialize)]
pub(super) struct Top {
    pub(super) total: u64,
    /// Whether all different keys could be counted; else a count may be too high by what was given up.
    pub(super) exact: bool,
    pub(super) keys: Vec<Frequent>,
}

#[derive(Serialize)]
pub(super) struct Frequent {
    pub(super) key: String,
    pub(super) count: u64,
    pub(super) share: f64,
    pub(super) owner: Option<String>,
}

impl Spread {
    pub(super) fn of(path: &Path, ring: &Ring, most: usize) -> Result<Self, Failure> {
        let mut counts = Counts::default();
        let mut of_member = vec![0u64; ring.member_count()];
        let owner = |key: &[u8]| ring.owner(ring.config().hash_key(key));
        let mut keys = Keys::open(path)?;
        let mut progress = Progress::new("keys", None);
        while let Some(key) = keys.next()? {
            counts.add(key);
            let count = owner(key).and_then(|member| of_member.get_mut(member as usize));
            if let Some(count) = count {
                *count += 1;
            }
            progress.step();
        }
        drop(progress);
        let id = |member: u32| ring.member_id(member).map(ToString::to_string);
        let frequent = |(key, count): (Vec<u8>, u64)| Frequent {
            owner: owner(&key).and_then(id),
            key: String::from_utf8_lossy(&key).into_owned(),
            count,
            share: part(count, counts.total),
        };
        let top = Top {
            total: counts.total,
            exact: counts.is_exact,
            keys: counts.most(most).into_iter().map(frequent).collect(),
        };
        let of_owner = (0u32..).zip(of_member);
        let of_owner = of_owner.filter_map(|(member, count)| Some((id(member)?, count)));
        Ok(Self {
            of_owner: of_owner.collect(),
            top,
        })
    }

    pub(super) fn of_owner(&self, id: &str) -> u64 {
        self.of_owner.get(id).copied().unwrap_or_default()
    }

    pub(super) fn into_top(self) -> Top {
        self.top
    }
}

fn part(count: u64, of: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits are enough to show it")]
    let part = count as f64 / of.max(1) as f64;
    part
}

/// The "space saving" counts of Metwally, Agrawal and El Abbadi (2005): a key that is new takes the place and the count of the rarest one.
#[derive(Default)]
struct Counts {
    total: u64,
    is_exact: bool,
    by_key: BTreeMap<Vec<u8>, u64>,
    by_count: BTreeMap<u64, std::collections::BTreeSet<Vec<u8>>>,
}

impl Counts {
    fn add(&mut self, key: &[u8]) {
        self.is_exact |= self.total == 0;
        self.total += 1;
        let count = match self.by_key.get(key).copied() {
            Some(count) => {
                self.forget(key, count);
                count
            }
            None if self.by_key.len() < COUNTED => 0,
            None => {
                self.is_exact = false;
                self.drop_rarest()
            }
        };
        self.by_key.insert(key.to_vec(), count + 1);
        self.by_count
            .entry(count + 1)
            .or_default()
            .insert(key.to_vec());
    }

    fn forget(&mut self, key: &[u8], count: u64) {
        self.by_key.remove(key);
        if let Some(keys) = self.by_count.get_mut(&count) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_count.remove(&count);
            }
        }
    }

    fn drop_rarest(&mut self) -> u64 {
        let rarest = self.by_count.iter().next();
        let rarest = rarest.and_then(|(count, keys)| Some((*count, keys.first()?.clone())));
        rarest.map_or(0, |(count, key)| {
            self.forget(&key, count);
            count
        })
    }

    fn most(&self, most: usize) -> Vec<(Vec<u8>, u64)> {
        let down = self.by_count.iter().rev();
        let keys = down.flat_map(|(count, keys)| keys.iter().map(|key| (key.clone(), *count)));
        keys.take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_frequent_is_found_among_more_keys_than_are_counted() {
        let mut counts = Counts::default();
        for n in 0..3 * COUNTED {
            counts.add(format!("rare-{n}").as_bytes());
            if n % 10 == 0 {
                counts.add(b"hot");
            }
        }
        assert!(!counts.is_exact && counts.by_key.len() == COUNTED);
        let most = counts.most(1);
        assert_eq!(most.first().map(|(key, _)| &**key), Some(&b"hot"[..]));
        // Never too low, and too high by no more than all keys divided by the counted ones.
        let count = most.first().map_or(0, |(_, count)| *count);
        let times = (3 * COUNTED / 10) as u64;
        assert!((times..=times + 4).contains(&count), "{count}");
    }

    #[test]
    fn few_keys_are_counted_exactly() {
        let mut counts = Counts::default();
        for key in ["a", "b", "a", "c", "a", "b"] {
            counts.add(key.as_bytes());
        }
        let told: Vec<_> = counts.most(2);
        assert_eq!(told, [(b"a".to_vec(), 3), (b"b".to_vec(), 2)]);
        assert!(counts.is_exact);
    }
}
