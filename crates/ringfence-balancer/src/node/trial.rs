//! The limit of attempts on an instance that has just come back from an ejection.

use std::{
    num::NonZeroU64,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

/// Bits of the count in [`Trial::running`].
const COUNT_BITS: u32 = 32;

#[derive(Debug, Default)]
pub(super) struct Trial {
    /// Attempts that may run at a time; zero while it is not on trial.
    limit: AtomicU32,
    /// Number of the trial in the upper half, attempts of it that run in the lower. What is given back from an earlier trial
    /// must not make room in this one.
    running: AtomicU64,
    successes: AtomicU32,
}

/// Number of the trial that an attempt counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrialSlot(NonZeroU64);

/// A slot that is handed on at most once.
#[derive(Debug, Default)]
pub(crate) struct HeldSlot(AtomicU64);

impl HeldSlot {
    pub(crate) fn hold(&mut self, TrialSlot(number): TrialSlot) {
        *self.0.get_mut() = number.get();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    #[inline]
    pub(crate) fn take(&self) -> Option<TrialSlot> {
        // Nearly always there is none.
        if self.is_empty() {
            return None;
        }
        NonZeroU64::new(self.0.swap(0, Ordering::Relaxed)).map(TrialSlot)
    }
}

fn number(running: u64) -> u64 {
    running >> COUNT_BITS
}

fn count(running: u64) -> u64 {
    running & u64::from(u32::MAX)
}

impl Trial {
    pub(super) fn is_on(&self) -> bool {
        self.limit.load(Ordering::Acquire) != 0
    }

    pub(super) fn begin(&self, limit: u32) {
        let next = number(self.running.load(Ordering::Relaxed)) + 1;
        self.running.store(next << COUNT_BITS, Ordering::Relaxed);
        self.successes.store(0, Ordering::Relaxed);
        self.limit.store(limit, Ordering::Release);
    }

    pub(super) fn end(&self) {
        self.limit.store(0, Ordering::Release);
    }

    /// Whether an attempt may begin.
    pub(super) fn has_room(&self) -> bool {
        let limit = self.limit.load(Ordering::Acquire);
        limit == 0 || count(self.running.load(Ordering::Relaxed)) < u64::from(limit)
    }

    /// Takes a slot; `None` if all are taken.
    pub(super) fn take(&self) -> Option<TrialSlot> {
        self.take_below(self.limit.load(Ordering::Acquire))
    }

    /// Takes a slot even if all are taken.
    pub(super) fn take_beyond(&self) -> Option<TrialSlot> {
        self.take_below(u32::MAX)
    }

    fn take_below(&self, limit: u32) -> Option<TrialSlot> {
        let one_more = |running| (count(running) < u64::from(limit)).then(|| running + 1);
        let order = Ordering::Relaxed;
        let before = self.running.fetch_update(order, order, one_more).ok()?;
        NonZeroU64::new(number(before)).map(TrialSlot)
    }

    pub(super) fn give_back(&self, TrialSlot(of): TrialSlot) {
        let one_less = |running| {
            let is_this = number(running) == of.get() && count(running) > 0;
            is_this.then(|| running - 1)
        };
        let order = Ordering::Relaxed;
        let _ = self.running.fetch_update(order, order, one_less);
    }

    /// Successes in a row, this one included.
    pub(super) fn succeeded(&self) -> u32 {
        let before = self.successes.fetch_add(1, Ordering::Relaxed);
        before.saturating_add(1)
    }

    pub(super) fn failed(&self) {
        self.successes.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_slots_as_the_limit_says() {
        let trial = Trial::default();
        assert!(!trial.is_on() && trial.has_room());
        trial.begin(2);
        let slots = [trial.take(), trial.take()].map(|slot| slot.expect("free"));
        assert!(trial.take().is_none() && !trial.has_room());
        let beyond = trial.take_beyond().expect("always");
        trial.give_back(beyond);
        assert!(!trial.has_room());
        trial.give_back(slots[0]);
        assert!(trial.has_room() && trial.take().is_some());
        trial.end();
        assert!(trial.has_room() && !trial.is_on());
    }

    #[test]
    fn what_an_earlier_trial_took_neither_blocks_nor_frees_this_one() {
        let trial = Trial::default();
        trial.begin(1);
        let hanging = trial.take().expect("free");
        trial.end();
        trial.begin(1);
        let slot = trial.take().expect("free, whatever hangs");
        trial.give_back(hanging);
        assert!(!trial.has_room());
        trial.give_back(slot);
        trial.give_back(slot);
        assert!(trial.take().is_some());
        assert!(trial.take().is_none(), "there is still one slot only");
    }

    #[test]
    fn threads_never_take_more_than_there_are() {
        let trial = Trial::default();
        trial.begin(3);
        let (now, most) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..5_000 {
                        if let Some(slot) = trial.take() {
                            let running = now.fetch_add(1, Ordering::SeqCst) + 1;
                            most.fetch_max(running, Ordering::SeqCst);
                            now.fetch_sub(1, Ordering::SeqCst);
                            trial.give_back(slot);
                        }
                    }
                });
            }
        });
        assert!((1..=3).contains(&most.into_inner()));
        assert_eq!(count(trial.running.into_inner()), 0);
    }
}
