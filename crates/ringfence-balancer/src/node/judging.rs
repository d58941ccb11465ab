//! What outcomes say of an instance, and what outlier detection made of it.

use std::sync::atomic::Ordering;

use ringfence_core::{EjectionCause, EjectionState};

use super::{Node, Outcome, reports::News};

/// Counts the ejections and returns of a node. Odd: it is ejected now. Zero: it never was, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Era(pub(super) u32);

impl Era {
    pub(super) fn is_ejected(self) -> bool {
        self.0 % 2 == 1
    }

    pub(super) fn after(self, steps: u32) -> Self {
        Self(self.0.wrapping_add(steps))
    }
}

impl Node {
    pub(super) fn record(&self, outcome: Outcome, begun: Era) {
        if let Outcome::Failure(kind) = outcome {
            self.totals.failed(kind);
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        // A request that began before an ejection, or during one, says nothing about the time after it.
        if begun.is_ejected() || begun != self.era() {
            return;
        }
        let config = self.reporter.config();
        if config.counts_rates() && outcome != Outcome::Neutral {
            self.tally.count(outcome == Outcome::Success);
        }
        match outcome {
            Outcome::Success => {
                self.streak.end();
                if begun != Era(0) {
                    self.successes.fetch_add(1, Ordering::Relaxed);
                }
                if self.trial.is_on() && self.trial.succeeded() >= config.trial_successes() {
                    self.reporter.report(News::Proven, &self.identity);
                }
            }
            Outcome::Failure(kind) => {
                let mut cause = self.streak.failed(kind, config);
                let mut unreachable = self.streak.is_unreachable();
                if self.trial.is_on() {
                    self.trial.failed();
                    cause = Some(EjectionCause::TrialFailed);
                    unreachable = kind.is_unreachable();
                }
                if let Some(cause) = cause {
                    let news = News::Failing { cause, unreachable };
                    self.reporter.report(news, &self.identity);
                }
            }
            Outcome::Neutral => {}
        }
    }

    /// The task has dealt with the report of this node.
    pub(crate) fn report_handled(&self) {
        self.reporter.handled();
    }

    /// What became of an ejection, `None` if nothing is remembered of one. Returns whether it was ejected by that, or is not any
    /// more. Only the balancer's task calls it.
    pub(crate) fn set_state(&self, state: Option<EjectionState>) -> bool {
        let era = self.era();
        let was_on_trial = self.trial.is_on();
        let next = match state {
            Some(EjectionState::Ejected) => era.after(u32::from(!era.is_ejected())),
            _ if era.is_ejected() => era.after(1),
            // Of an instance that came back as a new node.
            Some(_) if era == Era(0) => era.after(2),
            _ => era,
        };
        let is_on_trial = state == Some(EjectionState::OnTrial);
        if is_on_trial && !was_on_trial {
            self.trial.begin(self.reporter.config().trial_requests());
        } else if was_on_trial && !is_on_trial {
            self.trial.end();
        }
        self.totals.trial(was_on_trial, self.trial.is_on());
        if next == era {
            return false;
        }
        self.era.store(next.0, Ordering::Release);
        self.streak.end();
        self.successes.store(0, Ordering::Relaxed);
        self.tally.take();
        era.is_ejected() != next.is_ejected()
    }

    /// Successes since the last call.
    pub(crate) fn take_successes(&self) -> u64 {
        self.successes.swap(0, Ordering::Relaxed)
    }

    /// Successes and failures since the last call; only counted where success rates or failure percentages are judged.
    pub(crate) fn take_tally(&self) -> (u64, u64) {
        self.tally.take()
    }
}
