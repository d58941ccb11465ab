//! Who goes, and who may not.

use std::time::Instant;

use super::OutlierDetector;
use crate::outlier::{
    EjectionCause, MemberTally, OutlierDecision, OutlierEvent, Refusal, Suspicion,
    record::{Ejection, Record, Stage, ejection_length},
    tally::{by_failure_percentage, by_success_rate},
};

impl<K: Clone + Ord> OutlierDetector<K> {
    /// A member failed often enough, or on trial. `jitter` in 0..1. Gives what is decided: nothing for one that is ejected
    /// already, whose time does not change. The trial of one that may not be ejected begins anew.
    #[must_use = "an instance that is ejected is to be left out"]
    pub fn failing(
        &mut self,
        key: &K,
        suspicion: Suspicion,
        jitter: f64,
        now: Instant,
    ) -> Option<OutlierDecision> {
        if self.is_ejected(key) {
            return None;
        }
        let cause = suspicion.cause;
        if !self.may_go(key, suspicion.healthy) {
            if let Some(record) = self.records.get_mut(key)
                && let Stage::OnTrial { .. } = record.stage
            {
                record.let_in(&self.config, now);
            }
            let why = Refusal::AtLimit;
            return Some(OutlierDecision::Refused { cause, why });
        }
        let record = self.records.entry(key.clone());
        let record = record.or_insert_with(|| Record::new(now, suspicion.healthy));
        *record = Record {
            times: record.times.saturating_add(1),
            ..Record::new(now, suspicion.healthy)
        };
        let (times, length) = (
            record.times,
            ejection_length(&self.config, record.times, jitter),
        );
        record.stage = Stage::Ejected(Ejection {
            cause,
            until: now + length,
            unreachable: suspicion.unreachable,
            probe_fails: false,
        });
        Some(OutlierDecision::Ejected {
            cause,
            length,
            times,
        })
    }

    /// Whether the share and the rule that the last one stays allow it.
    fn may_go(&self, key: &K, healthy: bool) -> bool {
        let others = self.records.iter().filter(|(other, _)| *other != key);
        let in_doubt = others.filter(|(_, record)| record.is_healthy_member() && !record.is_back());
        let usable_without = self
            .healthy
            .saturating_sub(usize::from(healthy))
            .saturating_sub(in_doubt.count());
        self.ejected() < self.config.allowed(self.total) && usable_without > 0
    }

    /// Judges how the requests of the members ended since the last sweep, to be asked each
    /// [interval](crate::OutlierConfig::interval). `draw` gives random numbers in 0..1. Those on trial and those ejected are
    /// not judged.
    #[must_use]
    pub fn sweep(
        &mut self,
        tallies: &[MemberTally<K>],
        mut draw: impl FnMut() -> f64,
        now: Instant,
    ) -> Vec<OutlierEvent<K>> {
        let config = self.config;
        let mut events = Vec::new();
        if let Some(rate) = config.success_rate() {
            let found = by_success_rate(rate, tallies);
            let enforced = rate.enforcement_percentage();
            let cause = EjectionCause::SuccessRate;
            self.enforce(cause, enforced, &found, &mut draw, now, &mut events);
        }
        if let Some(percentage) = config.failure_percentage() {
            let found = by_failure_percentage(percentage, tallies);
            let enforced = percentage.enforcement_percentage();
            let cause = EjectionCause::FailurePercentage;
            self.enforce(cause, enforced, &found, &mut draw, now, &mut events);
        }
        events
    }

    fn enforce(
        &mut self,
        cause: EjectionCause,
        percent: u32,
        found: &[&MemberTally<K>],
        draw: &mut impl FnMut() -> f64,
        now: Instant,
        events: &mut Vec<OutlierEvent<K>>,
    ) {
        for tally in found {
            let state = self.records.get(&tally.key);
            if state.is_some_and(|record| !record.is_back()) {
                continue;
            }
            let decision = if draw() * 100.0 < f64::from(percent) {
                let suspicion = Suspicion {
                    cause,
                    healthy: tally.healthy,
                    unreachable: false,
                };
                self.failing(&tally.key, suspicion, draw(), now)
            } else {
                let why = Refusal::NotEnforced;
                Some(OutlierDecision::Refused { cause, why })
            };
            events.extend(decision.map(|decision| OutlierEvent::new(tally.key.clone(), decision)));
        }
    }
}
