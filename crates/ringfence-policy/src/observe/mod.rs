//! Comparing what the baseline does with what the policy would do.

mod lru;
mod report;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use ringfence_core::ConfigError;
use xxhash_rust::xxh3::xxh3_64;

use self::lru::Lru;
pub use self::report::{CacheHits, InstanceShare, ObserveReport};

/// Keys of all simulated caches together, for each of the two sides: some 10 MiB when all are in use.
const MAX_KEYS: usize = 200_000;
/// Instances whose shares are counted.
const MAX_INSTANCES: usize = 4_096;
/// Keys whose last owner is remembered, to see who moves.
const MAX_OWNERS: usize = 50_000;

/// What the baseline did with a request, and what the policy would have done.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The request's key, if it has one.
    pub key: Option<&'a [u8]>,
    /// Number of the view that the policy would have decided on.
    pub epoch: u64,
    /// The instance that got it; `None` where that is not known.
    pub actual: Option<&'a str>,
    /// The instance that the policy would have chosen.
    pub suggested: Option<&'a str>,
}

/// Collects how far the baseline and the policy agree while a rule is in observe mode: how often they do, what each instance
/// gets and would get, how often keys would find a warm instance, and how many keys would move when instances change.
///
/// Its memory is bounded; what does not fit is counted.
///
/// # Examples
/// ```
/// use ringfence_policy::{Comparison, Observed};
///
/// let mut comparison = Comparison::new(1_000)?;
/// for (i, key) in ["a", "b", "a", "b"].iter().enumerate() {
///     comparison.record(Observed {
///         key: Some(key.as_bytes()),
///         epoch: 1,
///         actual: Some(["x", "y", "y", "x"][i]),
///         suggested: Some(if *key == "a" { "x" } else { "y" }),
///     });
/// }
/// let report = comparison.report();
/// assert_eq!((report.compared, report.agreed), (4, 2));
/// assert_eq!((report.actual_hits.hits, report.suggested_hits.hits), (0, 2));
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct Comparison {
    cache_size: usize,
    report: ObserveReport,
    shares: HashMap<Box<str>, InstanceShare>,
    actual_caches: HashMap<Box<str>, Lru>,
    suggested_caches: HashMap<Box<str>, Lru>,
    /// By hash of the key: the view and the hash of the instance of its last suggestion.
    owners: HashMap<u64, (u64, u64)>,
}

impl Comparison {
    /// `cache_size` is how many keys each instance is thought to have ready, range 1..=200,000. So many instances have a
    /// simulated cache as give 200,000 keys together.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn new(cache_size: usize) -> Result<Self, ConfigError> {
        Ok(Self {
            cache_size: ConfigError::check("cache_size", cache_size, 1..=MAX_KEYS)?,
            report: ObserveReport::default(),
            shares: HashMap::new(),
            actual_caches: HashMap::new(),
            suggested_caches: HashMap::new(),
            owners: HashMap::new(),
        })
    }

    /// Takes note of a request.
    pub fn record(&mut self, observed: Observed<'_>) {
        self.report.requests += 1;
        self.report.unknown += u64::from(observed.actual.is_none());
        if let (Some(actual), Some(suggested)) = (observed.actual, observed.suggested) {
            self.report.compared += 1;
            self.report.agreed += u64::from(actual == suggested);
        }
        self.count(observed.actual, |share| share.actual += 1);
        self.count(observed.suggested, |share| share.suggested += 1);
        let Some(key) = observed.key.map(xxh3_64) else {
            self.report.keyless += 1;
            return;
        };
        if let Some(instance) = observed.actual {
            let hits = &mut self.report.actual_hits;
            ask(
                &mut self.actual_caches,
                hits,
                self.cache_size,
                instance,
                key,
            );
        }
        if let Some(instance) = observed.suggested {
            let hits = &mut self.report.suggested_hits;
            ask(
                &mut self.suggested_caches,
                hits,
                self.cache_size,
                instance,
                key,
            );
            self.note_owner(key, observed.epoch, xxh3_64(instance.as_bytes()));
        }
    }

    /// What was seen so far.
    #[must_use]
    pub fn report(&self) -> ObserveReport {
        let shares = self
            .shares
            .iter()
            .map(|(instance, share)| (instance.to_string(), *share));
        ObserveReport {
            shares: shares.collect::<BTreeMap<_, _>>(),
            ..self.report.clone()
        }
    }

    fn count(&mut self, instance: Option<&str>, add: impl FnOnce(&mut InstanceShare)) {
        let Some(instance) = instance else {
            return;
        };
        if let Some(share) = self.shares.get_mut(instance) {
            add(share);
        } else if self.shares.len() < MAX_INSTANCES {
            add(self.shares.entry(instance.into()).or_default());
        } else {
            self.report.uncounted += 1;
        }
    }

    fn note_owner(&mut self, key: u64, epoch: u64, owner: u64) {
        let is_full = self.owners.len() >= MAX_OWNERS;
        match self.owners.get_mut(&key) {
            Some(last) => {
                if last.0 != epoch {
                    self.report.returned += 1;
                    self.report.moved += u64::from(last.1 != owner);
                }
                *last = (epoch, owner);
            }
            None if is_full => {}
            None => {
                self.owners.insert(key, (epoch, owner));
            }
        }
    }
}

fn ask(
    caches: &mut HashMap<Box<str>, Lru>,
    hits: &mut CacheHits,
    size: usize,
    instance: &str,
    key: u64,
) {
    let has_room = caches.len() < (MAX_KEYS / size).max(1);
    let cache = match caches.get_mut(instance) {
        Some(cache) => cache,
        None if has_room => caches
            .entry(instance.into())
            .or_insert_with(|| Lru::new(size)),
        None => return,
    };
    hits.asked += 1;
    hits.hits += u64::from(cache.ask(key));
}
