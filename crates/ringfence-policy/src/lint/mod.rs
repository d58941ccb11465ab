//! Noticing keys that are no good for affinity.

mod shape;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, fmt};

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use self::shape::{Shape, SplitNumber};

/// Looks at the first keys of a rule and says whether they are such that affinity cannot work: keys that never come back.
///
/// It remembers a hash of each key, never the key, and nothing after the verdict: at most some 300 KiB for a while.
///
/// # Examples
/// ```
/// use ringfence_policy::{KeyFinding, KeyLint};
///
/// let mut lint = KeyLint::new();
/// let verdicts = (0..10_000_u64).filter_map(|i| lint.observe(i.to_string().as_bytes()));
/// assert_eq!(verdicts.collect::<Vec<_>>(), [KeyFinding::Counter]);
/// ```
#[derive(Debug)]
pub struct KeyLint(Option<Sample>);

/// What keys look like that never come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum KeyFinding {
    /// Ids of traces.
    TraceId,
    /// UUIDs or ULIDs made from the time.
    TimeUuid,
    /// Points in time.
    Timestamp,
    /// Numbers that rise.
    Counter,
    /// Each is used once, or only for a short while.
    SingleUse,
}

impl KeyLint {
    /// Keys that are looked at.
    pub const SAMPLE: u32 = 10_000;
    /// Fewest keys for a verdict before that.
    pub const FEWEST: u32 = 1_000;

    /// Nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self(Some(Sample::default()))
    }

    /// Looks at a key. The verdict comes once, with the last key that is looked at, and only if there is something to say.
    pub fn observe(&mut self, key: &[u8]) -> Option<KeyFinding> {
        let sample = self.0.as_mut()?;
        sample.add(key);
        if sample.total < Self::SAMPLE {
            return None;
        }
        self.finish()
    }

    /// Whether further keys are of no interest.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.is_none()
    }

    /// The verdict on the keys so far, if there were enough; ends the looking.
    pub fn finish(&mut self) -> Option<KeyFinding> {
        let sample = self.0.take()?;
        (sample.total >= Self::FEWEST)
            .then(|| sample.verdict())
            .flatten()
    }
}

impl Default for KeyLint {
    fn default() -> Self {
        Self::new()
    }
}

impl KeyFinding {
    /// What to change, in a sentence for a log: `rule` is the name of the rule, `source` where it has its keys from, such as
    /// `header x-request-id`. A balancer logs it by itself, once for each rule of a policy.
    ///
    /// ```
    /// use ringfence_policy::KeyFinding;
    ///
    /// let advice = KeyFinding::TraceId.advice("checkout", "header x-request-id");
    /// assert!(advice.starts_with("the keys of rule checkout from header x-request-id look like ids of traces"));
    /// ```
    #[must_use]
    pub fn advice(self, rule: &str, source: &str) -> String {
        format!(
            "the keys of rule {rule} from {source} look like {self}: they hardly ever come back, so no instance can \
             have anything ready for them; name a source that tells the user, tenant, session or thing that is asked for"
        )
    }
}

impl fmt::Display for KeyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TraceId => "ids of traces",
            Self::TimeUuid => "ids made from the time",
            Self::Timestamp => "points in time",
            Self::Counter => "a counter",
            Self::SingleUse => "ids of single requests",
        })
    }
}

#[derive(Debug, Default)]
struct Sample {
    total: u32,
    /// Place of the first occurrence by hash.
    first_seen: HashMap<u64, u32>,
    /// Occurrences by how far behind the first one they are, in [`LAG_UNIT`]s.
    came_back: HashMap<u32, u32>,
    traces: u32,
    time_ids: u32,
    times: u32,
    /// Pairs of neighbours that are numbers, those that rise, and those that do not fall.
    pairs: u32,
    rising: u32,
    not_falling: u32,
    last: Option<SplitNumber>,
}

const LAG_UNIT: u32 = 100;
const SAMPLE: usize = KeyLint::SAMPLE as usize;

impl Sample {
    fn add(&mut self, key: &[u8]) {
        if self.total == 0 {
            // At once, so that requests do not come upon growing tables every now and then.
            self.first_seen.reserve(SAMPLE);
            self.came_back.reserve(SAMPLE / LAG_UNIT as usize + 1);
        }
        let place = self.total;
        self.total += 1;
        let first = *self.first_seen.entry(xxh3_64(key)).or_insert(place);
        let lag = (place - first) / LAG_UNIT;
        if lag > 0 {
            *self.came_back.entry(lag).or_default() += 1;
        }
        let shape = Shape::of(key);
        self.traces += u32::from(shape == Shape::Trace);
        self.time_ids += u32::from(shape == Shape::TimeId);
        self.times += u32::from(shape == Shape::Time);
        let number = SplitNumber::of(key);
        if let (Some(last), Some(number)) = (&self.last, &number)
            && last.prefix == number.prefix
        {
            self.pairs += 1;
            self.rising += u32::from(number.number > last.number);
            self.not_falling += u32::from(number.number >= last.number);
        }
        self.last = number;
    }

    fn verdict(&self) -> Option<KeyFinding> {
        let most = |count: u32, of: u32, percent: u32| {
            of > 0 && u64::from(count) * 100 >= u64::from(of) * u64::from(percent)
        };
        let distinct = u32::try_from(self.first_seen.len()).unwrap_or(u32::MAX);
        // Time goes on whatever its unit, so a coarse one may come back for a while. What does not change is none.
        let runs_on = most(self.pairs, self.total, 80)
            && most(self.not_falling, self.pairs, 80)
            && distinct > 2;
        if most(self.times, self.total, 90) && (self.pairs == 0 || runs_on) {
            return Some(KeyFinding::Timestamp);
        }
        if !self.never_comes_back(distinct) {
            return None;
        }
        Some(if most(self.traces, self.total, 90) {
            KeyFinding::TraceId
        } else if most(self.time_ids, self.total, 90) {
            KeyFinding::TimeUuid
        } else if runs_on && most(self.rising, self.pairs, 60) {
            KeyFinding::Counter
        } else {
            KeyFinding::SingleUse
        })
    }

    /// Whether no more than one key in 5,000 came back after a tenth of the sample. A million users drawn evenly would come
    /// back twenty times as often.
    fn never_comes_back(&self, distinct: u32) -> bool {
        let late = self.total / 10 / LAG_UNIT;
        let late = self
            .came_back
            .iter()
            .filter(|(lag, _)| **lag >= late.max(1));
        let returned: u32 = late.map(|(_, count)| count).sum();
        returned <= self.total / 5_000 && distinct > self.total / 100
    }
}
