use std::{
    collections::HashMap,
    hash::Hash,
    time::{Duration, Instant},
};

use super::{
    OutlierConfig,
    record::{Presence, Record, ejection_length},
};

/// Departed instances whose record is kept, so that leaving and coming back is no way out of an
/// ejection; the oldest go first.
const MAX_DEPARTED: usize = 1_024;

/// What became of a report that an instance keeps failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EjectionVerdict {
    /// It is left out from now on.
    Ejected {
        /// For how long.
        length: Duration,
        /// Ejections in a row, this one included.
        times: u32,
    },
    /// The share, or the rule that the last one stays, forbids it.
    AtLimit,
    /// It is left out already; its length does not change.
    AlreadyEjected,
}

/// Which instances are ejected and until when. Knows no clock and no randomness: both come in as arguments.
///
/// Only instances that were ejected have a record here; healthy ones cost nothing. `K` is the identity of an instance.
///
/// # Examples
/// ```
/// use std::time::Instant;
/// use ringfence_core::{EjectionVerdict, OutlierConfig, OutlierDetector};
///
/// let (config, now) = (OutlierConfig::default().with_max_ejection_percent(50)?, Instant::now());
/// let mut detector = OutlierDetector::new(config);
/// assert_eq!(detector.resize(2, 2, |_| None, now), Vec::<&str>::new());
/// assert!(matches!(detector.failing(&"a", true, 0.0, now), EjectionVerdict::Ejected { .. }));
/// assert_eq!(detector.failing(&"b", true, 0.0, now), EjectionVerdict::AtLimit);
/// assert_eq!(detector.due(now + config.base_ejection_time()), ["a"]);
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct OutlierDetector<K> {
    config: OutlierConfig,
    records: HashMap<K, Record>,
    total: usize,
    healthy: usize,
}

impl<K: Clone + Eq + Hash> OutlierDetector<K> {
    /// Knows of no instance yet: [`resize`](Self::resize) tells how many there are.
    #[must_use]
    pub fn new(config: OutlierConfig) -> Self {
        Self {
            config,
            records: HashMap::new(),
            total: 0,
            healthy: 0,
        }
    }

    /// How many members are ejected now.
    #[must_use]
    pub fn ejected(&self) -> usize {
        self.records
            .values()
            .filter(|record| record.is_ejected_member())
            .count()
    }

    /// Whether this is a member and ejected now.
    pub fn is_ejected(&self, key: &K) -> bool {
        self.records.get(key).is_some_and(Record::is_ejected_member)
    }

    /// Those that have a record: ejected now, not yet forgiven, or departed while they were.
    pub fn recorded(&self) -> impl Iterator<Item = &K> {
        self.records.keys()
    }

    /// A new snapshot: `total` instances take traffic, `healthy` of them are healthy; `member` says
    /// whether a recorded one is among them, and healthy. Gives those that return early, because
    /// the share or the rule that the last one stays asks for it.
    #[must_use = "those that return are to be let in again"]
    pub fn resize(
        &mut self,
        total: usize,
        healthy: usize,
        member: impl Fn(&K) -> Option<bool>,
        now: Instant,
    ) -> Vec<K> {
        self.total = total;
        self.healthy = healthy;
        for (key, record) in &mut self.records {
            record.presence = match (member(key), record.presence) {
                (Some(healthy), _) => Presence::Member { healthy },
                (None, Presence::Member { .. }) => Presence::DepartedAt(now),
                (None, departed) => departed,
            };
        }
        let mut returned = self.forget_surplus();
        let allowed = self.config.allowed(total);
        while self.ejected() > allowed {
            if !self.return_earliest(Record::is_ejected_member, now, &mut returned) {
                break;
            }
        }
        if healthy > 0 && self.ejected_healthy() >= healthy {
            self.return_earliest(Record::is_ejected_healthy, now, &mut returned);
        }
        returned
    }

    fn ejected_healthy(&self) -> usize {
        self.records
            .values()
            .filter(|record| record.is_ejected_healthy())
            .count()
    }

    fn return_earliest(
        &mut self,
        which: impl Fn(&Record) -> bool,
        now: Instant,
        returned: &mut Vec<K>,
    ) -> bool {
        let base = self.config.base_ejection_time();
        let earliest = self
            .records
            .iter_mut()
            .filter(|(_, record)| which(record))
            .min_by_key(|(_, record)| record.ejected_until);
        let Some((key, record)) = earliest else {
            return false;
        };
        record.ejected_until = None;
        record.next_decay = now + base;
        returned.push(key.clone());
        true
    }

    /// Gives those that were ejected.
    fn forget_surplus(&mut self) -> Vec<K> {
        let mut departed: Vec<(Instant, K)> = self
            .records
            .iter()
            .filter_map(|(key, record)| match record.presence {
                Presence::DepartedAt(at) => Some((at, key.clone())),
                Presence::Member { .. } => None,
            })
            .collect();
        let surplus = departed.len().saturating_sub(MAX_DEPARTED);
        if surplus > 0 {
            departed.sort_by_key(|(at, _)| *at);
        }
        departed
            .into_iter()
            .take(surplus)
            .filter_map(|(_, key)| {
                let record = self.records.remove(&key)?;
                record.ejected_until.map(|_| key)
            })
            .collect()
    }

    /// A member failed often enough in a row. `healthy`: as the registry says; `jitter` in 0..1.
    #[must_use = "an instance that is ejected is to be left out"]
    pub fn failing(
        &mut self,
        key: &K,
        healthy: bool,
        jitter: f64,
        now: Instant,
    ) -> EjectionVerdict {
        if self.is_ejected(key) {
            return EjectionVerdict::AlreadyEjected;
        }
        let usable = self.healthy.saturating_sub(self.ejected_healthy());
        let usable_without = usable.saturating_sub(usize::from(healthy));
        if self.ejected() + 1 > self.config.allowed(self.total) || usable_without == 0 {
            return EjectionVerdict::AtLimit;
        }
        let record = self.records.entry(key.clone()).or_insert(Record {
            times: 0,
            ejected_until: None,
            successes: 0,
            next_decay: now,
            presence: Presence::Member { healthy },
        });
        record.times = record.times.saturating_add(1);
        record.successes = 0;
        record.presence = Presence::Member { healthy };
        let length = ejection_length(&self.config, record.times, jitter);
        record.ejected_until = Some(now + length);
        EjectionVerdict::Ejected {
            length,
            times: record.times,
        }
    }

    /// Takes note of successes of a member that was ejected before.
    pub fn succeeded(&mut self, key: &K, successes: u64) {
        if let Some(record) = self.records.get_mut(key)
            && record.ejected_until.is_none()
        {
            record.successes += successes;
        }
    }

    /// When [`due`](Self::due) is to be asked next.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.records.values().map(|record| self.next(record)).min()
    }

    fn next(&self, record: &Record) -> Instant {
        let member = record.ejected_until.unwrap_or(record.next_decay);
        match record.presence {
            Presence::Member { .. } => member,
            Presence::DepartedAt(at) => at + self.config.max_ejection_time(),
        }
    }

    /// Ends the ejections that are over, forgives what was made good, forgets who left long ago.
    /// Gives those whose ejection ended that way: a forgotten one may still be known, disabled.
    #[must_use = "those that return are to be let in again"]
    pub fn due(&mut self, now: Instant) -> Vec<K> {
        let mut returned = Vec::new();
        let config = self.config;
        let base = config.base_ejection_time();
        self.records.retain(|key, record| {
            if let Presence::DepartedAt(at) = record.presence {
                let keep = now.saturating_duration_since(at) < config.max_ejection_time();
                if !keep && record.ejected_until.is_some() {
                    returned.push(key.clone());
                }
                return keep;
            }
            match record.ejected_until {
                Some(until) if until <= now => {
                    record.ejected_until = None;
                    record.next_decay = now + base;
                    returned.push(key.clone());
                }
                None if record.next_decay <= now => {
                    record.next_decay = now + base;
                    if record.successes >= u64::from(config.consecutive_failures().max(1)) {
                        record.successes = 0;
                        record.times = record.times.saturating_sub(1);
                    }
                }
                _ => {}
            }
            record.times > 0
        });
        returned
    }
}
