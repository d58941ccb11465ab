//! Whether a state that lost many instances is believed: a state machine without a clock.

use std::time::Duration;

use tokio::time::Instant;

use crate::{HoldReason, ServiceState, WatchConfig};

/// What the guard makes of a reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// Ordinary: use it.
    Pass,
    /// Suspicious, and the first such reading: keep what we have until `until`.
    Hold { reason: HoldReason, until: Instant },
    /// Still suspicious and the hold is not over.
    StillHeld,
    /// Suspicious after the hold's end: it is so; use it.
    Confirm(HoldReason),
    /// Ordinary again: the hold is over; use it.
    Release(HoldReason),
}

/// A hold under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub(crate) reason: HoldReason,
    pub(crate) since: Instant,
    pub(crate) until: Instant,
}

#[derive(Debug)]
pub(crate) struct LossGuard {
    hold_for: Option<Duration>,
    max_loss_percent: Option<u8>,
    hold: Option<Hold>,
}

impl LossGuard {
    pub(crate) fn new(config: &WatchConfig) -> Self {
        Self {
            hold_for: config.empty_hold(),
            max_loss_percent: config.max_loss_percent(),
            hold: None,
        }
    }

    pub(crate) fn hold(&self) -> Option<&Hold> {
        self.hold.as_ref()
    }

    pub(crate) fn hold_mut(&mut self) -> Option<&mut Hold> {
        self.hold.as_mut()
    }

    /// Judges a reading made at `now` against the state in use. Only a reading can end a hold, never time alone: a registry
    /// that went away says nothing about the instances. Of a state that is a mere copy, only the loss of all is suspicious.
    pub(crate) fn judge(
        &mut self,
        in_use: Option<&ServiceState>,
        is_copy: bool,
        read: &ServiceState,
        now: Instant,
    ) -> Judgement {
        let loss = in_use.and_then(|in_use| self.loss(in_use, is_copy, read));
        match (loss, &mut self.hold) {
            (None, None) => Judgement::Pass,
            (None, Some(hold)) => {
                let reason = hold.reason;
                self.hold = None;
                Judgement::Release(reason)
            }
            (Some(reason), None) => {
                let Some(hold_for) = self.hold_for else {
                    return Judgement::Pass;
                };
                let until = now + hold_for;
                self.hold = Some(Hold {
                    reason,
                    since: now,
                    until,
                });
                Judgement::Hold { reason, until }
            }
            (Some(reason), Some(hold)) if now >= hold.until => {
                self.hold = None;
                Judgement::Confirm(reason)
            }
            (Some(reason), Some(hold)) => {
                hold.reason = reason;
                Judgement::StillHeld
            }
        }
    }

    fn loss(
        &self,
        in_use: &ServiceState,
        is_copy: bool,
        read: &ServiceState,
    ) -> Option<HoldReason> {
        let (had, has) = (in_use.instance_count(), read.instance_count());
        if had == 0 {
            return None;
        }
        match read {
            ServiceState::NoSuchService => return Some(HoldReason::NoSuchService),
            ServiceState::Instances(_) if has == 0 => return Some(HoldReason::Empty),
            // The world may have changed while nobody looked.
            ServiceState::Instances(_) if is_copy => return None,
            ServiceState::Instances(_) => {}
        }
        let (lost, limit) = (had.saturating_sub(has), usize::from(self.max_loss_percent?));
        (lost.saturating_mul(100) > had.saturating_mul(limit))
            .then_some(HoldReason::MassLoss { had, has })
    }
}

#[cfg(test)]
mod tests {
    use ringfence_core::Instance;

    use super::*;
    use crate::{Provenance, Update};

    fn state(ids: std::ops::Range<u32>) -> ServiceState {
        let instances = ids.map(|n| {
            Instance::builder(format!("i{n}"), format!("10.0.0.1:{}", n + 1))
                .build()
                .expect("legal")
        });
        Update::instances(instances, Provenance::live("test")).state
    }

    fn guard() -> (LossGuard, Instant) {
        (LossGuard::new(&WatchConfig::default()), Instant::now())
    }

    const HOLD: Duration = Duration::from_secs(10);

    #[test]
    fn the_first_state_and_growth_from_nothing_pass() {
        let (mut guard, now) = guard();
        assert_eq!(guard.judge(None, false, &state(0..0), now), Judgement::Pass);
        assert_eq!(
            guard.judge(None, false, &ServiceState::NoSuchService, now),
            Judgement::Pass
        );
        let empty = state(0..0);
        assert_eq!(
            guard.judge(Some(&empty), false, &ServiceState::NoSuchService, now),
            Judgement::Pass
        );
        assert_eq!(
            guard.judge(Some(&empty), false, &state(0..3), now),
            Judgement::Pass
        );
    }

    #[test]
    fn the_limit_itself_passes_and_one_more_is_held() {
        let (mut guard, now) = guard();
        let ten = state(0..10);
        assert_eq!(
            guard.judge(Some(&ten), false, &state(0..5), now),
            Judgement::Pass
        );
        let held = guard.judge(Some(&ten), false, &state(0..4), now);
        let reason = HoldReason::MassLoss { had: 10, has: 4 };
        assert_eq!(
            held,
            Judgement::Hold {
                reason,
                until: now + HOLD
            }
        );
    }

    #[test]
    fn replacing_all_instances_is_no_loss() {
        let (mut guard, now) = guard();
        assert_eq!(
            guard.judge(Some(&state(0..4)), false, &state(10..14), now),
            Judgement::Pass
        );
    }

    #[test]
    fn a_hold_ends_by_a_reading_at_its_end_and_not_before() {
        let (mut guard, now) = guard();
        let (three, empty) = (state(0..3), state(0..0));
        assert!(matches!(
            guard.judge(Some(&three), false, &empty, now),
            Judgement::Hold { .. }
        ));
        let early = now + HOLD - Duration::from_millis(1);
        assert_eq!(
            guard.judge(Some(&three), false, &empty, early),
            Judgement::StillHeld
        );
        // The kind of loss may change on the way; the end stays.
        assert_eq!(
            guard.judge(Some(&three), false, &ServiceState::NoSuchService, early),
            Judgement::StillHeld
        );
        assert_eq!(
            guard.judge(
                Some(&three),
                false,
                &ServiceState::NoSuchService,
                now + HOLD
            ),
            Judgement::Confirm(HoldReason::NoSuchService)
        );
        assert!(guard.hold().is_none());
    }

    #[test]
    fn a_partial_recovery_within_the_limit_releases() {
        let (mut guard, now) = guard();
        let ten = state(0..10);
        assert!(matches!(
            guard.judge(Some(&ten), false, &state(0..0), now),
            Judgement::Hold { .. }
        ));
        assert_eq!(
            guard.judge(Some(&ten), false, &state(0..3), now),
            Judgement::StillHeld
        );
        assert_eq!(
            guard.judge(Some(&ten), false, &state(0..6), now),
            Judgement::Release(HoldReason::MassLoss { had: 10, has: 3 })
        );
    }

    #[test]
    fn against_a_copy_only_the_loss_of_all_is_held() {
        let (mut guard, now) = guard();
        let (ten, one) = (state(0..10), state(0..1));
        assert_eq!(guard.judge(Some(&ten), true, &one, now), Judgement::Pass);
        for nothing in [state(0..0), ServiceState::NoSuchService] {
            assert!(matches!(
                guard.judge(Some(&ten), true, &nothing, now),
                Judgement::Hold { .. }
            ));
            assert!(matches!(
                guard.judge(Some(&ten), true, &one, now),
                Judgement::Release(_)
            ));
        }
    }

    #[test]
    fn switched_off_nothing_is_held() {
        let now = Instant::now();
        let mut off = LossGuard::new(&WatchConfig::default().without_hold());
        assert_eq!(
            off.judge(Some(&state(0..3)), false, &state(0..0), now),
            Judgement::Pass
        );
        let mut only_empty = LossGuard::new(&WatchConfig::default().without_max_loss());
        assert_eq!(
            only_empty.judge(Some(&state(0..100)), false, &state(0..1), now),
            Judgement::Pass
        );
        assert!(matches!(
            only_empty.judge(Some(&state(0..100)), false, &state(0..0), now),
            Judgement::Hold { .. }
        ));
    }
}
