//! What is remembered of an instance that was ejected.

use std::time::{Duration, Instant};

use super::OutlierConfig;

#[derive(Debug)]
pub(super) struct Record {
    /// Ejections in a row; falls only by proven success.
    pub(super) times: u32,
    pub(super) ejected_until: Option<Instant>,
    pub(super) successes: u64,
    pub(super) next_decay: Instant,
    /// Member of the current snapshot and healthy there, or the time when it left.
    pub(super) presence: Presence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Member { healthy: bool },
    DepartedAt(Instant),
}

impl Record {
    pub(super) fn is_ejected_member(&self) -> bool {
        self.ejected_until.is_some() && matches!(self.presence, Presence::Member { .. })
    }

    pub(super) fn is_ejected_healthy(&self) -> bool {
        self.ejected_until.is_some() && self.presence == Presence::Member { healthy: true }
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
