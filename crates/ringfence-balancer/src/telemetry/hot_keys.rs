use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use crossbeam_queue::ArrayQueue;
use ringfence_core::{HotKeySketch, HotKeysConfig, InstanceId, KeyHash};

/// The keys with the most requests.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct HotKeys {
    /// Those that have the largest part, the hottest first; at most as many as were asked for.
    pub hottest: Vec<HotKeyStatus>,
    /// How many keys count as hot, also beyond those: each with at least [`hot_percent`](HotKeysConfig::with_hot_percent) of the requests.
    pub hot: usize,
    /// Requests that were looked at and still count: a small part of all. Below a hundred of them no key counts as hot.
    pub samples: f64,
}

/// A key with many requests, by its hash: keys themselves are kept nowhere.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HotKeyStatus {
    /// The hash.
    pub hash: KeyHash,
    /// Its part of the requests with a key, from 0 to 1.
    pub share: f64,
    /// Whether it counts as hot.
    pub is_hot: bool,
    /// The instance that was chosen for it last.
    pub instance: InstanceId,
}

/// Requests that may wait to be counted.
const WAITING: usize = 1_024;
/// With fewer nothing can be said.
const ENOUGH: f64 = 100.0;

/// The id and not the node, which would outlive its instance in the queue.
type Sample = (KeyHash, InstanceId);

/// Looks at one request in sixteen, and lets somebody else count.
#[derive(Debug)]
pub(crate) struct HotKeySampler {
    config: HotKeysConfig,
    samples: ArrayQueue<Sample>,
    sketch: Mutex<HotKeySketch<InstanceId>>,
}

impl HotKeySampler {
    pub(crate) fn new(config: HotKeysConfig) -> Self {
        Self {
            config,
            samples: ArrayQueue::new(WAITING),
            sketch: Mutex::new(HotKeySketch::new(&config)),
        }
    }

    /// Whether the request with this number, of one thread, is looked at. Multiples of the golden ratio lie evenly whatever the
    /// rhythm of the keys is, where every sixteenth request could always be of the same one.
    #[inline]
    pub(crate) fn is_due(request: u64) -> bool {
        request.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60 == 0
    }

    /// Never waits: where too many wait already, this one is left out.
    #[cold]
    pub(crate) fn note(&self, hash: KeyHash, instance: &InstanceId) {
        let _ = self.samples.push((hash, instance.clone()));
    }

    fn sketch(&self) -> MutexGuard<'_, HotKeySketch<InstanceId>> {
        self.sketch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what waits.
    pub(crate) fn fold(&self, now: Instant) {
        let mut sketch = self.sketch();
        // Bounded, whatever comes meanwhile.
        for _ in 0..WAITING {
            let Some((hash, instance)) = self.samples.pop() else {
                break;
            };
            sketch.note(hash, instance, now);
        }
    }

    pub(crate) fn hottest(&self, most: usize, now: Instant) -> HotKeys {
        self.fold(now);
        let sketch = self.sketch();
        let samples = sketch.requests(now);
        let limit = f64::from(self.config.hot_percent()) / 100.0;
        let is_hot = |at_least: f64| samples >= ENOUGH && at_least >= limit;
        // No more than so many can have such a part each.
        let may_be_hot = 100 / usize::from(self.config.hot_percent()).max(1);
        let all = sketch.hottest(most.max(may_be_hot));
        drop(sketch);
        let hot = all.iter().filter(|key| is_hot(key.at_least)).count();
        let status = all.into_iter().take(most).map(|key| HotKeyStatus {
            hash: key.hash,
            share: key.share,
            is_hot: is_hot(key.at_least),
            instance: key.last,
        });
        HotKeys {
            hottest: status.collect(),
            hot,
            samples,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_sixteen_is_looked_at_whatever_the_rhythm() {
        for rhythm in 1..=40_u64 {
            let mut looked_at = vec![0_u32; usize::try_from(rhythm).expect("small")];
            for request in 0..160_000 {
                if HotKeySampler::is_due(request) {
                    looked_at[usize::try_from(request % rhythm).expect("small")] += 1;
                }
            }
            let expected = 10_000.0 / f64::from(u32::try_from(rhythm).expect("small"));
            for count in looked_at {
                assert!(
                    (f64::from(count) / expected - 1.0).abs() < 0.1,
                    "{rhythm}: {count}"
                );
            }
        }
    }
}
