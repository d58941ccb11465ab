//! How instances come back, and how ejections are forgiven.

use std::time::Instant;

use super::{OutlierDetector, membership::forgotten};
use crate::outlier::{
    OutlierConfig, OutlierDecision, OutlierEvent, ReturnCause,
    record::{Presence, Record, Stage},
};

impl<K: Clone + Ord> OutlierDetector<K> {
    /// Ends the ejections and trials that are over, forgives what was made good, forgets who left long ago.
    ///
    /// An instance whose last [probe](Self::probed) failed stays out past its time.
    #[must_use = "those that return are to be let in again"]
    pub fn due(&mut self, now: Instant) -> Vec<OutlierEvent<K>> {
        let mut events = Vec::new();
        let config = self.config;
        self.records.retain(|key, record| {
            if let Presence::DepartedAt(at) = record.presence {
                let keep = now.saturating_duration_since(at) < config.max_ejection_time();
                if !keep {
                    events.extend(forgotten(key, record));
                }
                return keep;
            }
            let decisions = [
                end_of_stage(&config, record, now),
                forgive(&config, record, now),
            ];
            let decisions = decisions.into_iter().flatten();
            events.extend(decisions.map(|decision| OutlierEvent::new(key.clone(), decision)));
            record.times > 0
        });
        events
    }

    /// A member that is on trial had as many successes as that takes.
    #[must_use = "its limit of attempts is to be lifted"]
    pub fn proven(&mut self, key: &K) -> Option<OutlierDecision> {
        let record = self.records.get_mut(key)?;
        let Stage::OnTrial { .. } = record.stage else {
            return None;
        };
        record.stage = Stage::Back;
        Some(OutlierDecision::TrialOver { proven: true })
    }

    /// The ejected members whom a probe may bring back: those that could not be reached.
    pub fn to_probe(&self) -> impl Iterator<Item = &K> {
        let wanted = |record: &Record| {
            let ejection = record.ejection();
            record.is_member() && ejection.is_some_and(|ejection| ejection.unreachable)
        };
        let records = self.records.iter();
        records.filter_map(move |(key, record)| wanted(record).then_some(key))
    }

    /// What a probe of one of [`to_probe`](Self::to_probe) found. One that serves comes back at once; one that does not stays out
    /// until a later probe finds that it does.
    #[must_use = "one that returns is to be let in again"]
    pub fn probed(&mut self, key: &K, serves: bool, now: Instant) -> Option<OutlierDecision> {
        let record = self.records.get_mut(key)?;
        let is_member = record.is_member();
        let Stage::Ejected(ejection) = &mut record.stage else {
            return None;
        };
        if !ejection.unreachable || !is_member {
            return None;
        }
        ejection.probe_fails = !serves;
        serves.then(|| OutlierDecision::Returned {
            why: ReturnCause::ProbePassed,
            on_trial: record.let_in(&self.config, now),
        })
    }
}

fn end_of_stage(
    config: &OutlierConfig,
    record: &mut Record,
    now: Instant,
) -> Option<OutlierDecision> {
    match &mut record.stage {
        Stage::Ejected(ejection) if ejection.until <= now => {
            if ejection.probe_fails {
                ejection.until = now + config.probe_interval();
                return None;
            }
            Some(OutlierDecision::Returned {
                why: ReturnCause::TimeOver,
                on_trial: record.let_in(config, now),
            })
        }
        Stage::OnTrial { until } if *until <= now => {
            record.stage = Stage::Back;
            Some(OutlierDecision::TrialOver { proven: false })
        }
        _ => None,
    }
}

/// Takes one off the count of ejections, if the time since the last step brought enough successes.
fn forgive(config: &OutlierConfig, record: &mut Record, now: Instant) -> Option<OutlierDecision> {
    if !record.is_back() || record.next_decay > now {
        return None;
    }
    record.next_decay = now + config.base_ejection_time();
    if record.successes < config.proof() {
        return None;
    }
    record.successes = 0;
    record.times = record.times.saturating_sub(1);
    let times = record.times;
    Some(OutlierDecision::Forgiven { times })
}
