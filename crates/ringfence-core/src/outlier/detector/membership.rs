//! Instances that come and go.

use std::time::Instant;

use super::OutlierDetector;
use crate::outlier::{
    OutlierEvent, ReturnCause,
    record::{Presence, Record},
};

/// Departed instances whose record is kept, so that leaving and coming back is no way out of an
/// ejection; the oldest go first.
const MAX_DEPARTED: usize = 1_024;

impl<K: Clone + Ord> OutlierDetector<K> {
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
    ) -> Vec<OutlierEvent<K>> {
        self.total = total;
        self.healthy = healthy;
        for (key, record) in &mut self.records {
            record.presence = match (member(key), record.presence) {
                (Some(healthy), _) => Presence::Member { healthy },
                (None, Presence::Member { .. }) => Presence::DepartedAt(now),
                (None, departed) => departed,
            };
        }
        let mut events = self.forget_surplus();
        let surplus = self.ejected().saturating_sub(self.config.allowed(total));
        for _ in 0..surplus {
            events.extend(self.return_earliest(Record::is_ejected_member, now));
        }
        if healthy > 0 && self.count(Record::is_ejected_healthy) >= healthy {
            events.extend(self.return_earliest(Record::is_ejected_healthy, now));
        }
        events
    }

    /// Ends the earliest ejection among some, of which one is needed.
    #[must_use = "one that returns is to be let in again"]
    pub fn return_one(
        &mut self,
        among: impl Fn(&K) -> bool,
        now: Instant,
    ) -> Option<OutlierEvent<K>> {
        let ejected = self.records.iter_mut();
        let ejected = ejected.filter(|(key, record)| record.is_ejected_member() && among(key));
        let (key, record) =
            ejected.min_by_key(|(_, record)| record.ejection().map(|ejection| ejection.until))?;
        let on_trial = record.let_in(&self.config, now);
        let key = key.clone();
        Some(OutlierEvent::returned(key, ReturnCause::Limits, on_trial))
    }

    fn return_earliest(
        &mut self,
        which: impl Fn(&Record) -> bool,
        now: Instant,
    ) -> Option<OutlierEvent<K>> {
        let ejected = self.records.iter_mut().filter(|(_, record)| which(record));
        let (key, record) =
            ejected.min_by_key(|(_, record)| record.ejection().map(|ejection| ejection.until))?;
        let on_trial = record.let_in(&self.config, now);
        let key = key.clone();
        Some(OutlierEvent::returned(key, ReturnCause::Limits, on_trial))
    }

    /// Gives those that were not back.
    fn forget_surplus(&mut self) -> Vec<OutlierEvent<K>> {
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
        let oldest = departed.into_iter().take(surplus);
        oldest
            .filter_map(|(_, key)| {
                let record = self.records.remove(&key)?;
                forgotten(&key, &record)
            })
            .collect()
    }
}

/// What is told of a record that goes: nothing of one that was back.
pub(super) fn forgotten<K: Clone>(key: &K, record: &Record) -> Option<OutlierEvent<K>> {
    (!record.is_back()).then(|| OutlierEvent::returned(key.clone(), ReturnCause::Forgotten, false))
}
