use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use super::HotKeysConfig;
use crate::KeyHash;

/// A key that has a large part of the requests.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HotKey<T> {
    /// Its hash; the key itself is kept nowhere.
    pub hash: KeyHash,
    /// Its part of the requests, from 0 to 1: at most this much.
    pub share: f64,
    /// At least this much: what it was counted itself, without what it took over from a key that was counted before it.
    pub at_least: f64,
    /// What was noted with it last.
    pub last: T,
}

/// Counts the keys with the most requests, older requests less.
///
/// Space-saving (Metwally, Agrawal, El Abbadi: "Efficient computation of frequent and top-k elements in data streams", 2005)
/// with exponential decay: a key that is not counted takes the counter of the one with the least. New requests are made heavier in
/// the place of making all older ones lighter, so nothing is touched but what a request is about.
///
/// # Examples
/// ```
/// use std::time::Instant;
/// use ringfence_core::{HotKeySketch, HotKeysConfig, KeyHash};
///
/// let now = Instant::now();
/// let mut sketch = HotKeySketch::new(&HotKeysConfig::default());
/// for request in 0..1_000 {
///     // Every third request is of one key.
///     let key = if request % 3 == 0 { 7 } else { request + 1_000_000 };
///     sketch.note(KeyHash::from_raw(key), "instance-1", now);
/// }
/// let hottest = &sketch.hottest(1)[0];
/// assert_eq!((hottest.hash.get(), hottest.last), (7, "instance-1"));
/// assert!(hottest.at_least > 0.3 && hottest.share < 0.4);
/// ```
#[derive(Debug)]
pub struct HotKeySketch<T> {
    counters: usize,
    half_life: f64,
    keys: BTreeMap<KeyHash, Counter<T>>,
    /// The bits of each count, which are ordered as the counts are, since none is negative.
    by_count: BTreeSet<(u64, KeyHash)>,
    total: f64,
    /// When the weight of a request was 1.
    since: Option<Instant>,
}

#[derive(Debug)]
struct Counter<T> {
    count: f64,
    /// What it took over.
    error: f64,
    last: T,
}

/// Weights stay far below what a float can hold.
const HEAVIEST: f64 = 1e60;

impl<T: Clone> HotKeySketch<T> {
    /// An empty one.
    #[must_use]
    pub fn new(config: &HotKeysConfig) -> Self {
        Self {
            counters: config.counters(),
            half_life: config.half_life().as_secs_f64(),
            keys: BTreeMap::new(),
            by_count: BTreeSet::new(),
            total: 0.0,
            since: None,
        }
    }

    /// Counts a request, in logarithmic time.
    pub fn note(&mut self, hash: KeyHash, last: T, now: Instant) {
        let weight = self.weight(now);
        self.total += weight;
        if let Some(counter) = self.keys.get_mut(&hash) {
            self.by_count.remove(&(counter.count.to_bits(), hash));
            counter.count += weight;
            counter.last = last;
            self.by_count.insert((counter.count.to_bits(), hash));
            return;
        }
        let mut error = 0.0;
        if self.keys.len() >= self.counters
            && let Some((least, evicted)) = self.by_count.pop_first()
        {
            self.keys.remove(&evicted);
            error = f64::from_bits(least);
        }
        let count = error + weight;
        self.by_count.insert((count.to_bits(), hash));
        self.keys.insert(hash, Counter { count, error, last });
    }

    /// The keys with the most requests, the hottest first.
    #[must_use]
    pub fn hottest(&self, most: usize) -> Vec<HotKey<T>> {
        let hottest = self.by_count.iter().rev().take(most);
        let key = |(_, hash): &(u64, KeyHash)| {
            let counter = self.keys.get(hash)?;
            Some(HotKey {
                hash: *hash,
                share: counter.count / self.total,
                at_least: (counter.count - counter.error) / self.total,
                last: counter.last.clone(),
            })
        };
        hottest.filter_map(key).collect()
    }

    /// Requests that count, each by what is left of it at `now`.
    #[must_use]
    pub fn requests(&self, now: Instant) -> f64 {
        let since = self.since.unwrap_or(now);
        self.total / self.growth(since, now)
    }

    /// Keys that are counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn growth(&self, since: Instant, now: Instant) -> f64 {
        let past = now.saturating_duration_since(since).as_secs_f64();
        (past / self.half_life).exp2()
    }

    fn weight(&mut self, now: Instant) -> f64 {
        let since = *self.since.get_or_insert(now);
        let weight = self.growth(since, now);
        if weight <= HEAVIEST {
            return weight;
        }
        self.lighten(weight);
        self.since = Some(now);
        1.0
    }

    /// Makes everything lighter; what is left of nothing is forgotten.
    fn lighten(&mut self, by: f64) {
        self.total /= by;
        self.keys.retain(|_, counter| {
            counter.count /= by;
            counter.error /= by;
            counter.count > f64::EPSILON
        });
        let counted = self.keys.iter();
        self.by_count = counted
            .map(|(hash, c)| (c.count.to_bits(), *hash))
            .collect();
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests begin at some moment")]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key(number: u64) -> KeyHash {
        KeyHash::from_raw(number)
    }

    fn sketch(counters: usize) -> (HotKeySketch<u64>, Instant) {
        let config = HotKeysConfig::default().with_counters(counters);
        (HotKeySketch::new(&config.expect("legal")), Instant::now())
    }

    /// The bound of the paper: a counter is too high by at most the requests by the number of counters.
    #[test]
    fn counts_of_a_skewed_stream_are_within_the_bound_and_memory_is_fixed() {
        let (mut sketch, now) = sketch(64);
        let mut real = BTreeMap::<u64, u64>::new();
        let mut state = 1_u64;
        const REQUESTS: u64 = 200_000;
        for _ in 0..REQUESTS {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let draw = state >> 33;
            // A third of them are of five keys, the rest of a hundred thousand.
            let number = if draw.is_multiple_of(3) {
                draw % 5
            } else {
                10 + draw % 100_000
            };
            *real.entry(number).or_default() += 1;
            sketch.note(key(number), number, now);
            assert!(sketch.len() <= 64 && sketch.by_count.len() == sketch.len());
        }
        let hottest = sketch.hottest(5);
        let mut found: Vec<_> = hottest.iter().map(|hot| hot.hash.get()).collect();
        found.sort_unstable();
        assert_eq!(found, [0, 1, 2, 3, 4]);
        for hot in hottest {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let share = real[&hot.hash.get()] as f64 / REQUESTS as f64;
            assert!(
                hot.at_least <= share && share <= hot.share,
                "{hot:?} {share}"
            );
            assert!(hot.share - hot.at_least <= 1.0 / 64.0 + 1e-9, "{hot:?}");
            assert_eq!(hot.last, hot.hash.get());
        }
    }

    #[test]
    fn old_requests_count_less_and_are_forgotten() {
        let (mut sketch, start) = sketch(8);
        for _ in 0..300 {
            sketch.note(key(1), 0, start);
        }
        let later = start + Duration::from_secs(10);
        for _ in 0..300 {
            sketch.note(key(2), 0, later);
        }
        let shares: Vec<_> = sketch
            .hottest(2)
            .iter()
            .map(|hot| (hot.hash.get(), hot.share))
            .collect();
        assert_eq!(shares[0].0, 2);
        assert!((shares[0].1 - 2.0 / 3.0).abs() < 1e-9, "{shares:?}");
        assert!((sketch.requests(later) - 450.0).abs() < 1e-6);
        // So late that weights have to be made lighter.
        let much_later = start + Duration::from_secs(100_000);
        sketch.note(key(3), 0, much_later);
        let left = sketch.hottest(8);
        assert_eq!((left.len(), left[0].hash.get()), (1, 3));
        assert!((left[0].share - 1.0).abs() < 1e-9 && sketch.total.is_finite());
    }

    #[test]
    fn a_clock_that_steps_back_does_no_harm() {
        let (mut sketch, start) = sketch(8);
        let later = start + Duration::from_secs(5);
        sketch.note(key(1), 0, later);
        sketch.note(key(1), 0, start);
        assert!((sketch.hottest(1)[0].share - 1.0).abs() < 1e-9);
        assert!(
            HotKeySketch::<u64>::new(&HotKeysConfig::default())
                .hottest(3)
                .is_empty()
        );
    }
}
