//! Who is out, and until when.

mod judging;
mod membership;
mod returning;

use std::{collections::BTreeMap, time::Instant};

use super::{
    OutlierConfig,
    record::{EjectionState, EjectionTerm, Presence, Record, Stage},
};

/// Which instances are ejected and until when. Knows no clock and no randomness: both come in as arguments, so the same
/// calls give the same decisions in the same order.
///
/// Only instances that were ejected have a record here; healthy ones cost nothing. `K` is the identity of an instance.
///
/// # Examples
/// ```
/// use std::time::Instant;
/// use ringfence_core::{
///     EjectionCause, OutlierConfig, OutlierDecision, OutlierDetector, Refusal, Suspicion,
/// };
///
/// let (config, now) = (OutlierConfig::default().with_max_ejection_percent(50)?, Instant::now());
/// let mut detector = OutlierDetector::new(config);
/// assert!(detector.resize(2, 2, |_: &&str| None, now).is_empty());
///
/// let cause = EjectionCause::ConsecutiveFailures;
/// let failing = Suspicion { cause, healthy: true, unreachable: false };
/// let decision = detector.failing(&"a", failing, 0.0, now);
/// assert!(matches!(decision, Some(OutlierDecision::Ejected { times: 1, .. })));
/// assert_eq!(detector.term(&"a").expect("it is out").cause, cause);
/// let decision = detector.failing(&"b", failing, 0.0, now);
/// assert_eq!(decision, Some(OutlierDecision::Refused { cause, why: Refusal::AtLimit }));
///
/// let returned = detector.due(now + config.base_ejection_time());
/// assert_eq!((returned[0].key, detector.term(&"a")), ("a", None));
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct OutlierDetector<K> {
    config: OutlierConfig,
    /// In the order of the keys, so that decisions come in an order that depends on nothing else.
    records: BTreeMap<K, Record>,
    total: usize,
    healthy: usize,
}

impl<K: Clone + Ord> OutlierDetector<K> {
    /// Knows of no instance yet: [`resize`](Self::resize) tells how many there are.
    #[must_use]
    pub fn new(config: OutlierConfig) -> Self {
        Self {
            config,
            records: BTreeMap::new(),
            total: 0,
            healthy: 0,
        }
    }

    /// How many healthy members could get requests, were it not for ejections: those that checks, damping or a warm-up keep out
    /// cannot. To be told before members are judged.
    pub fn note_usable(&mut self, healthy: usize) {
        self.healthy = healthy;
    }

    /// How many members are ejected now.
    #[must_use]
    pub fn ejected(&self) -> usize {
        self.count(Record::is_ejected_member)
    }

    fn count(&self, which: impl Fn(&Record) -> bool) -> usize {
        self.records.values().filter(|record| which(record)).count()
    }

    /// Whether this is a member and ejected now.
    pub fn is_ejected(&self, key: &K) -> bool {
        self.records.get(key).is_some_and(Record::is_ejected_member)
    }

    /// What became of one that was ejected, member or not; `None` where nothing is remembered.
    pub fn state(&self, key: &K) -> Option<EjectionState> {
        self.records.get(key).map(Record::state)
    }

    /// Why one is left out and until when, member or not; `None` where it is not.
    pub fn term(&self, key: &K) -> Option<EjectionTerm> {
        let record = self.records.get(key)?;
        let ejection = record.ejection()?;
        Some(EjectionTerm {
            cause: ejection.cause,
            until: ejection.until,
            times: record.times,
        })
    }

    /// Those that have a record: ejected now, not yet forgiven, or departed while they were.
    pub fn recorded(&self) -> impl Iterator<Item = &K> {
        self.records.keys()
    }

    /// The members that have a record.
    pub fn recorded_members(&self) -> impl Iterator<Item = (&K, EjectionState)> {
        let members = self.records.iter().filter(|(_, record)| record.is_member());
        members.map(|(key, record)| (key, record.state()))
    }

    /// Takes note of successes of a member that was ejected before.
    pub fn succeeded(&mut self, key: &K, successes: u64) {
        if let Some(record) = self.records.get_mut(key)
            && record.ejection().is_none()
        {
            record.successes = record.successes.saturating_add(successes);
        }
    }

    /// When [`due`](Self::due) is to be asked next.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.records.values().map(|record| self.next(record)).min()
    }

    fn next(&self, record: &Record) -> Instant {
        match (record.presence, record.stage) {
            (Presence::DepartedAt(at), _) => at + self.config.max_ejection_time(),
            (_, Stage::Ejected(ejection)) => ejection.until,
            (_, Stage::OnTrial { until }) => until,
            (_, Stage::Back) => record.next_decay,
        }
    }
}
