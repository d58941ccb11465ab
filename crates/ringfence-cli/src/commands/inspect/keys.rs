//! How the keys of a file are spread, in bounded memory.

use std::{collections::BTreeMap, path::Path, time::Instant};

use ringfence_core::{HotKey, HotKeySketch, HotKeysConfig, Ring, RingConfig};
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
        let mut counts = Counts::new()?;
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
        let frequent = |(key, count): (Box<[u8]>, u64)| Frequent {
            owner: owner(&key).and_then(id),
            key: String::from_utf8_lossy(&key).into_owned(),
            count,
            share: part(count, counts.total),
        };
        let top = Top {
            total: counts.total,
            exact: counts.is_exact(),
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

/// Counts keys by the core's sketch, of whom none is older than another.
struct Counts {
    total: u64,
    sketch: HotKeySketch<Box<[u8]>>,
    /// Keys are told apart by this hash, since that of the ring may have few bits.
    hasher: RingConfig,
    now: Instant,
}

impl Counts {
    fn new() -> Result<Self, Failure> {
        let config = HotKeysConfig::default().with_counters(COUNTED);
        Ok(Self {
            total: 0,
            sketch: HotKeySketch::new(&config.map_err(Failure::new)?),
            hasher: RingConfig::default(),
            now: Instant::now(),
        })
    }

    fn add(&mut self, key: &[u8]) {
        self.total += 1;
        let hash = self.hasher.hash_key(key).hash();
        self.sketch.note(hash, key.into(), self.now);
    }

    /// The keys with the highest counts; equal ones by their bytes.
    fn most(&self, most: usize) -> Vec<(Box<[u8]>, u64)> {
        let hottest = self.sketch.hottest(COUNTED).into_iter();
        let mut keys: Vec<_> = hottest
            .map(|hot| (hot.last, self.times(hot.share)))
            .collect();
        keys.sort_unstable_by(|(a, times_of_a), (b, times_of_b)| {
            (times_of_b, a).cmp(&(times_of_a, b))
        });
        keys.truncate(most);
        keys
    }

    /// Whether no key took the place of another: from the first time on, one that did is counted.
    fn is_exact(&self) -> bool {
        let took_over = |hot: &HotKey<_>| hot.at_least < hot.share;
        !self.sketch.hottest(COUNTED).iter().any(took_over)
    }

    fn times(&self, share: f64) -> u64 {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a number of lines"
        )]
        let times = (share * self.total as f64).round() as u64;
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_frequent_is_found_among_more_keys_than_are_counted() {
        let mut counts = Counts::new().unwrap();
        for n in 0..3 * COUNTED {
            counts.add(format!("rare-{n}").as_bytes());
            if n % 10 == 0 {
                counts.add(b"hot");
            }
        }
        assert!(!counts.is_exact() && counts.sketch.len() == COUNTED);
        let most = counts.most(1);
        assert_eq!(most.first().map(|(key, _)| &**key), Some(&b"hot"[..]));
        // Never too low, and too high by no more than all keys divided by the counted ones.
        let count = most.first().map_or(0, |(_, count)| *count);
        let times = (3 * COUNTED / 10) as u64;
        assert!((times..=times + 4).contains(&count), "{count}");
    }

    #[test]
    fn few_keys_are_counted_exactly() {
        let mut counts = Counts::new().unwrap();
        for key in ["a", "b", "a", "c", "a", "b"] {
            counts.add(key.as_bytes());
        }
        let told: Vec<_> = counts.most(2);
        assert_eq!(
            told,
            [(b"a".as_slice().into(), 3), (b"b".as_slice().into(), 2)]
        );
        assert!(counts.is_exact());
    }

    #[test]
    fn no_keys_are_counted_exactly() {
        let counts = Counts::new().unwrap();
        assert!(counts.most(2).is_empty() && counts.is_exact());
    }
}
