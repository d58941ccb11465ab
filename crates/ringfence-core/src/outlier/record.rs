//! What is remembered of an instance that was ejected.

use std::time::{Duration, Instant};

use super::{EjectionCause, OutlierConfig};

/// Where an instance is that was ejected and is not forgiven yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EjectionState {
    /// It is left out.
    Ejected,
    /// It came back, and has to prove itself.
    OnTrial,
    /// It has its full traffic again.
    Back,
}

/// Why an instance is left out, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EjectionTerm {
    /// Why.
    pub cause: EjectionCause,
    /// When it may come back at the latest; a probe that it passes, and the limits of ejection, may end it earlier.
    pub until: Instant,
    /// Ejections in a row, this one included.
    pub times: u32,
}

#[derive(Debug)]
pub(super) struct Record {
    /// Ejections in a row; falls only by proven success.
    pub(super) times: u32,
    pub(super) stage: Stage,
    pub(super) successes: u64,
    pub(super) next_decay: Instant,
    /// Member of the current snapshot and healthy there, or the time when it left.
    pub(super) presence: Presence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Ejected(Ejection),
    OnTrial { until: Instant },
    Back,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ejection {
    pub(super) cause: EjectionCause,
    pub(super) until: Instant,
    /// A probe may tell that it is back.
    pub(super) unreachable: bool,
    /// The last probe said that it does not serve.
    pub(super) probe_fails: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Member { healthy: bool },
    DepartedAt(Instant),
}

impl Record {
    pub(super) fn new(now: Instant, healthy: bool) -> Self {
        Self {
            times: 0,
            stage: Stage::Back,
            successes: 0,
            next_decay: now,
            presence: Presence::Member { healthy },
        }
    }

    pub(super) fn state(&self) -> EjectionState {
        match self.stage {
            Stage::Ejected(_) => EjectionState::Ejected,
            Stage::OnTrial { .. } => EjectionState::OnTrial,
            Stage::Back => EjectionState::Back,
        }
    }

    pub(super) fn ejection(&self) -> Option<&Ejection> {
        match &self.stage {
            Stage::Ejected(ejection) => Some(ejection),
            _ => None,
        }
    }

    pub(super) fn is_member(&self) -> bool {
        matches!(self.presence, Presence::Member { .. })
    }

    pub(super) fn is_healthy_member(&self) -> bool {
        self.presence == Presence::Member { healthy: true }
    }

    pub(super) fn is_ejected_member(&self) -> bool {
        self.ejection().is_some() && self.is_member()
    }

    pub(super) fn is_ejected_healthy(&self) -> bool {
        self.ejection().is_some() && self.is_healthy_member()
    }

    /// It may be used without reserve.
    pub(super) fn is_back(&self) -> bool {
        self.stage == Stage::Back
    }

    /// Ends an ejection, or begins a trial anew. Returns whether it is on trial.
    pub(super) fn let_in(&mut self, config: &OutlierConfig, now: Instant) -> bool {
        let on_trial = config.trial_requests() > 0;
        let until = now + config.base_ejection_time();
        self.next_decay = until;
        self.stage = if on_trial {
            Stage::OnTrial { until }
        } else {
            Stage::Back
        };
        on_trial
    }
}

/// Length of the `times`-th ejection in a row; `jitter` in 0..1.
pub(super) fn ejection_length(config: &OutlierConfig, times: u32, jitter: f64) -> Duration {
    const JITTER: f64 = 0.1;
    let max = config.max_ejection_time();
    let length = config.base_ejection_time().saturating_mul(times).min(max);
    let share = if jitter.is_finite() {
        jitter.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let jitter = length.mul_f64(JITTER * share);
    // Instances that reached the maximum together must not come back together either.
    if length + jitter <= max {
        length + jitter
    } else {
        length.saturating_sub(jitter)
    }
}
