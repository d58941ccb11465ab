//! What is in use, and whether a reading replaces it. No clock, no I/O.

use std::sync::Arc;

use ringfence_core::Instance;
use tokio::time::Instant;

use super::guard::{Hold, Judgement, LossGuard};
use crate::{HoldReason, Revision, ServiceState, Update, WatchConfig};

/// How a reading was made, as far as its age can be told from that.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading {
    /// From a watch, among the first it delivered; it was opened at this mark.
    WatchStart(Mark),
    /// From a watch that had delivered before.
    Watch,
    /// A read that was sent off at this mark.
    Fetch(Mark),
}

/// A point in the order of readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(u64);

/// What became of a reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is in use now.
    Accepted {
        /// It differs from what was in use.
        changed: bool,
        /// It ended a hold, one way or the other.
        ended: Option<Ended>,
    },
    /// It is suspicious and a hold began, lasting until then.
    Held { reason: HoldReason, until: Instant },
    /// It is as suspicious as the one before.
    StillHeld,
    /// Something newer is known.
    Outdated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Confirmed(HoldReason),
    Released(HoldReason),
}

#[derive(Debug)]
pub(crate) struct Ledger {
    in_use: Option<ServiceState>,
    /// What is in use was not read live.
    from_copy: bool,
    /// Counter of the latest reading, held or not.
    revision: Option<Revision>,
    mark: Mark,
    guard: LossGuard,
}

impl Ledger {
    pub(crate) fn new(config: &WatchConfig) -> Self {
        Self {
            in_use: None,
            from_copy: false,
            revision: None,
            mark: Mark(0),
            guard: LossGuard::new(config),
        }
    }

    /// The present place in the order of readings.
    pub(crate) fn mark(&self) -> Mark {
        self.mark
    }

    pub(crate) fn revision(&self) -> Option<Revision> {
        self.revision
    }

    #[cfg(feature = "disk")]
    pub(crate) fn has_state(&self) -> bool {
        self.in_use.is_some()
    }

    /// Uses a copy until something is read live. It is older than any reading and has no place in their order.
    #[cfg(feature = "disk")]
    pub(crate) fn adopt_copy(&mut self, state: ServiceState) {
        self.in_use = Some(state);
        self.from_copy = true;
    }

    pub(crate) fn hold(&self) -> Option<&Hold> {
        self.guard.hold()
    }

    pub(crate) fn hold_mut(&mut self) -> Option<&mut Hold> {
        self.guard.hold_mut()
    }

    /// The instances in use that are healthy, take traffic and are not in `read`.
    pub(crate) fn lost(&self, read: &ServiceState) -> Vec<Arc<Instance>> {
        let in_use = self.in_use.as_ref().and_then(ServiceState::as_snapshot);
        let has = |instance: &Instance| {
            read.as_snapshot()
                .is_some_and(|read| read.get(instance.id().as_str()).is_some())
        };
        let instances = in_use.map_or(&[][..], |snapshot| snapshot.instances());
        let lost = instances.iter().filter(|i| i.is_usable() && !has(i));
        lost.cloned().collect()
    }

    pub(crate) fn offer(&mut self, update: &Update, reading: Reading, now: Instant) -> Verdict {
        if self.is_outdated(update, reading) {
            return Verdict::Outdated;
        }
        self.mark.0 += 1;
        self.revision = update.revision;
        let judged = self
            .guard
            .judge(self.in_use.as_ref(), self.from_copy, &update.state, now);
        let ended = match judged {
            Judgement::Hold { reason, until } => return Verdict::Held { reason, until },
            Judgement::StillHeld => return Verdict::StillHeld,
            Judgement::Pass => None,
            Judgement::Confirm(reason) => Some(Ended::Confirmed(reason)),
            Judgement::Release(reason) => Some(Ended::Released(reason)),
        };
        self.from_copy = false;
        let changed = self.in_use.as_ref() != Some(&update.state);
        if changed {
            self.in_use = Some(update.state.clone());
        }
        Verdict::Accepted { changed, ended }
    }

    /// A lower counter is old data, unless nothing was heard since the reading was asked for: then the registry was reset.
    /// Without counters, a reading that was asked for before something else was heard may be older than that.
    fn is_outdated(&self, update: &Update, reading: Reading) -> bool {
        let asked_at = match reading {
            Reading::WatchStart(mark) | Reading::Fetch(mark) => Some(mark),
            Reading::Watch => None,
        };
        let overtaken = asked_at.is_some_and(|mark| mark != self.mark);
        match (self.revision, update.revision) {
            (Some(known), Some(new)) => new < known && (overtaken || asked_at.is_none()),
            _ => {
                let agrees = self.hold().is_none() && self.in_use.as_ref() == Some(&update.state);
                overtaken && !agrees
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ringfence_core::Instance;

    use super::*;
    use crate::Provenance;

    fn update(ids: &[&str], revision: Option<u64>) -> Update {
        let instances = ids
            .iter()
            .map(|id| Instance::builder(id, "10.0.0.1:80").build().expect("legal"));
        let update = Update::instances(instances, Provenance::live("test"));
        match revision {
            Some(revision) => update.with_revision(revision),
            None => update,
        }
    }

    const CHANGED: Verdict = Verdict::Accepted {
        changed: true,
        ended: None,
    };
    const SAME: Verdict = Verdict::Accepted {
        changed: false,
        ended: None,
    };

    fn ledger() -> (Ledger, Instant) {
        (Ledger::new(&WatchConfig::default()), Instant::now())
    }

    #[test]
    fn an_older_revision_on_a_running_watch_is_dropped() {
        let (mut ledger, now) = ledger();
        let start = Reading::WatchStart(ledger.mark());
        assert_eq!(
            ledger.offer(&update(&["a", "b"], Some(120)), start, now),
            CHANGED
        );
        let old = update(&["a"], Some(110));
        assert_eq!(ledger.offer(&old, Reading::Watch, now), Verdict::Outdated);
        assert_eq!(
            ledger.offer(&update(&["a", "b"], Some(121)), Reading::Watch, now),
            SAME
        );
    }

    #[test]
    fn a_lower_revision_that_was_asked_for_afterwards_is_a_reset() {
        for reset in [Reading::Fetch, Reading::WatchStart] {
            let (mut ledger, now) = ledger();
            ledger.offer(&update(&["a", "b"], Some(100)), Reading::Watch, now);
            let reading = reset(ledger.mark());
            assert_eq!(
                ledger.offer(&update(&["c"], Some(40)), reading, now),
                CHANGED
            );
            // From here on the low numbers are the order.
            assert_eq!(
                ledger.offer(&update(&["c", "d"], Some(41)), Reading::Watch, now),
                CHANGED
            );
        }
    }

    #[test]
    fn a_read_that_a_watch_overtook_does_not_undo_it() {
        for (before, after) in [(Some(7), Some(6)), (None, None)] {
            let (mut ledger, now) = ledger();
            ledger.offer(&update(&["a"], Some(1)), Reading::Watch, now);
            let read = Reading::Fetch(ledger.mark());
            ledger.offer(&update(&["a", "b"], before), Reading::Watch, now);
            assert_eq!(
                ledger.offer(&update(&["a"], after), read, now),
                Verdict::Outdated
            );
        }
        let (mut ledger, now) = ledger();
        let read = Reading::Fetch(ledger.mark());
        ledger.offer(&update(&["a"], Some(7)), Reading::Watch, now);
        let newer = update(&["a", "b"], Some(8));
        assert_eq!(ledger.offer(&newer, read, now), CHANGED, "proven newer");
    }

    #[test]
    fn a_read_sent_before_a_hold_does_not_release_it() {
        let (mut ledger, now) = ledger();
        ledger.offer(&update(&["a"], None), Reading::Watch, now);
        let read = Reading::Fetch(ledger.mark());
        ledger.offer(&update(&[], None), Reading::Watch, now);
        assert_eq!(
            ledger.offer(&update(&["a"], None), read, now),
            Verdict::Outdated
        );
        assert!(ledger.hold().is_some());
    }

    #[test]
    fn revisions_of_held_states_count_too() {
        let (mut ledger, now) = ledger();
        ledger.offer(&update(&["a", "b"], Some(5)), Reading::Watch, now);
        assert!(matches!(
            ledger.offer(&update(&[], Some(7)), Reading::Watch, now),
            Verdict::Held { .. }
        ));
        assert_eq!(
            ledger.offer(&update(&["a", "b"], Some(6)), Reading::Watch, now),
            Verdict::Outdated
        );
        assert!(ledger.hold().is_some());
    }
}
