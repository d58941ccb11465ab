//! Reports of nodes, the sweeps over all of them, and what is decided.

use std::{collections::BTreeSet, sync::Arc, time::Instant};

use ringfence_core::{
    EjectionCause, MemberTally, OutlierDecision, OutlierEvent, Refusal, ReturnCause, Suspicion,
};
use tracing::{debug, info, warn};

use super::{Task, now};
use crate::node::{News, NodeIdentity, Report, Seat};
use crate::telemetry::BalancerEvent;

/// Reports judged before the task looks at the registry again.
const BATCH: usize = 1_024;

/// What was decided since the start.
#[derive(Debug, Default, Clone)]
pub(crate) struct OutlierCounts {
    pub(crate) failures: u64,
    pub(crate) connect_failures: u64,
    pub(crate) success_rate: u64,
    pub(crate) failure_percentage: u64,
    pub(crate) trial: u64,
    pub(crate) refused: u64,
    pub(crate) not_enforced: u64,
    pub(crate) returned_by_probe: u64,
}

impl OutlierCounts {
    pub(crate) fn ejections(&self) -> u64 {
        self.failures
            + self.connect_failures
            + self.success_rate
            + self.failure_percentage
            + self.trial
    }

    fn ejected(&mut self, cause: EjectionCause) {
        let counter = match cause {
            EjectionCause::ConsecutiveConnectFailures => &mut self.connect_failures,
            EjectionCause::SuccessRate => &mut self.success_rate,
            EjectionCause::FailurePercentage => &mut self.failure_percentage,
            EjectionCause::TrialFailed => &mut self.trial,
            _ => &mut self.failures,
        };
        *counter += 1;
    }
}

impl Task {
    /// Judges all nodes whose reports are there, so that many ejections make one view.
    pub(super) async fn reported(&mut self, first: Report) {
        self.note_usable();
        let mut changed = self.heed(&first);
        for _ in 0..BATCH {
            let Ok(next) = self.reports.try_recv() else {
                break;
            };
            changed |= self.heed(&next);
        }
        if changed {
            self.republish().await;
        }
    }

    /// Returns whether the view has to change.
    fn heed(&mut self, report: &Report) -> bool {
        let identity = &report.identity;
        let Some(node) = self.table.get(identity) else {
            return false;
        };
        let decision = match report.news {
            News::Proven => self.detector.proven(identity),
            News::Failing { cause, unreachable } => self.health_of(identity).and_then(|healthy| {
                let suspicion = Suspicion {
                    cause,
                    healthy,
                    unreachable,
                };
                let draw = fastrand::f64();
                self.detector.failing(identity, suspicion, draw, now())
            }),
        };
        let is_refused = matches!(decision, Some(OutlierDecision::Refused { .. }));
        if is_refused && !node.is_on_trial() {
            // It would report with each failure.
            self.refused.push(identity.clone());
        } else {
            node.report_handled();
        }
        decision.is_some_and(|decision| self.enact(identity, decision))
    }

    /// Lets the detector know whom checks, damping and warm-ups leave: the last of these stays.
    fn note_usable(&mut self) {
        let state = self.shared.cell.load();
        let seats = state.as_ref().map_or(&[][..], |state| &state.seats);
        let left = seats.iter().filter(|seat| is_left(seat));
        self.detector.note_usable(left.count());
    }

    /// An ejection ends early where checks, damping and warm-ups leave nobody else.
    pub(super) fn save_the_last(&mut self, seats: &[Arc<Seat>]) {
        let mut left = seats.iter().filter(|seat| is_left(seat)).peekable();
        if left.peek().is_none() || left.clone().any(|seat| !seat.node.is_ejected()) {
            return;
        }
        let left: BTreeSet<_> = left.map(|seat| NodeIdentity::of(&seat.instance)).collect();
        let event = self.detector.return_one(|key| left.contains(key), now());
        self.enact_all(event.as_slice());
    }

    /// Whether the registry says that it is healthy; `None` where it does not take traffic.
    fn health_of(&self, identity: &NodeIdentity) -> Option<bool> {
        let state = self.shared.cell.load();
        let instance = state
            .as_ref()?
            .view
            .snapshot()
            .get(identity.id().as_str())?;
        let is_taker = instance.takes_traffic() && NodeIdentity::of(instance) == *identity;
        is_taker.then(|| instance.is_healthy())
    }

    /// Ends what is over.
    pub(super) async fn outliers_due(&mut self, now: Instant) {
        let recorded: Vec<_> = self.detector.recorded().cloned().collect();
        for identity in recorded {
            if let Some(node) = self.table.get(&identity).filter(|node| !node.is_ejected()) {
                self.detector.succeeded(&identity, node.take_successes());
            }
        }
        let events = self.detector.due(now);
        if self.enact_all(&events) {
            self.republish().await;
        }
    }

    /// Judges the success rates and failure percentages of all instances.
    pub(super) async fn sweep(&mut self, now: Instant) {
        self.note_usable();
        let tallies = self.tallies();
        let events = self.detector.sweep(&tallies, fastrand::f64, now);
        if self.enact_all(&events) {
            self.republish().await;
        }
    }

    fn tallies(&self) -> Vec<MemberTally<NodeIdentity>> {
        let state = self.shared.cell.load();
        let seats = state.as_ref().map_or(&[][..], |state| &state.seats);
        let takers = seats.iter().filter(|seat| seat.instance.takes_traffic());
        let tallies = takers.map(|seat| {
            let (successes, failures) = seat.node.take_tally();
            MemberTally {
                key: NodeIdentity::of(&seat.instance),
                healthy: seat.instance.is_healthy(),
                successes,
                failures,
            }
        });
        tallies.collect()
    }

    /// Carries out what the detector decided. Returns whether the view has to change.
    pub(super) fn enact_all(&mut self, events: &[OutlierEvent<NodeIdentity>]) -> bool {
        let mut changed = false;
        for event in events {
            changed |= self.enact(&event.key, event.decision);
        }
        changed
    }

    pub(super) fn enact(&mut self, identity: &NodeIdentity, decision: OutlierDecision) -> bool {
        let state = self.detector.state(identity);
        let node = self.table.get(identity);
        let term = self.detector.term(identity);
        let changed = node.is_some_and(|node| {
            node.set_term(term);
            node.set_state(state)
        });
        let (instance, address) = (identity.id(), identity.address());
        match decision {
            OutlierDecision::Ejected {
                cause,
                length,
                times,
            } => {
                self.report.outliers.ejected(cause);
                self.limit_told = false;
                info!(service = %self.shared.service, %instance, %address, %cause, ?length, times, "instance ejected");
                self.shared.calls.event(&BalancerEvent::Ejected {
                    instance,
                    cause,
                    length,
                });
            }
            OutlierDecision::Refused { cause, why } => self.tell_of_refusal(identity, cause, why),
            OutlierDecision::Returned { why, on_trial } => {
                let by_probe = why == ReturnCause::ProbePassed;
                self.report.outliers.returned_by_probe += u64::from(by_probe);
                if changed {
                    info!(service = %self.shared.service, %instance, %address, ?why, on_trial, "ejection is over");
                    self.shared
                        .calls
                        .event(&BalancerEvent::Returned { instance, why });
                }
                self.ask_again();
            }
            OutlierDecision::TrialOver { proven } => {
                info!(service = %self.shared.service, %instance, %address, proven, "trial is over, instance gets its full traffic");
                self.ask_again();
            }
            OutlierDecision::Forgiven { times } => {
                debug!(service = %self.shared.service, %instance, times, "an ejection is forgiven");
            }
            // Of a later version: the state of the node is all that it asks for.
            _ => {}
        }
        changed
    }

    fn tell_of_refusal(&mut self, identity: &NodeIdentity, cause: EjectionCause, why: Refusal) {
        let instance = identity.id();
        if why == Refusal::NotEnforced {
            self.report.outliers.not_enforced += 1;
            info!(service = %self.shared.service, %instance, %cause, "failing instance stays, ejection is not enforced");
            return;
        }
        self.report.outliers.refused += 1;
        if self.limit_told {
            debug!(service = %self.shared.service, %instance, %cause, "failing instance stays, the limit is reached");
            return;
        }
        self.limit_told = true;
        let percent = self.shared.config.outlier().max_ejection_percent();
        warn!(
            service = %self.shared.service,
            %instance,
            %cause,
            max_ejection_percent = percent,
            "failing instance stays: the limit of ejections is reached, it is one of two or the last usable one; further ones are told at debug"
        );
    }

    /// The limits may allow more now.
    pub(super) fn ask_again(&mut self) {
        for identity in self.refused.drain(..) {
            if let Some(node) = self.table.get(&identity) {
                node.report_handled();
            }
        }
    }
}

/// Whether nothing but an ejection could keep it out.
fn is_left(seat: &Seat) -> bool {
    seat.instance.is_usable() && !seat.node.is_withheld_at_all()
}
