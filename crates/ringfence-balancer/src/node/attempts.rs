//! The attempts at one instance.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many attempts there were, and how many of them run: in one word, so that each end of an attempt costs one write, and both are
/// of the same moment.
///
/// The lower bits are those that run. More than they hold (a million on one instance) would add to the others for as long as that lasts.
#[derive(Debug, Default)]
pub(super) struct Attempts(AtomicU64);

const RUNNING_BITS: u32 = 20;
const RUNNING: u64 = (1 << RUNNING_BITS) - 1;
const ONE_BEGUN: u64 = 1 << RUNNING_BITS;

impl Attempts {
    /// All that were ever begun.
    pub(super) fn begun(&self) -> u64 {
        self.0.load(Ordering::Relaxed) >> RUNNING_BITS
    }

    /// Those that are not over.
    pub(super) fn running(&self) -> u64 {
        self.0.load(Ordering::Relaxed) & RUNNING
    }

    #[inline]
    pub(super) fn begin(&self) {
        self.0.fetch_add(ONE_BEGUN + 1, Ordering::Relaxed);
    }

    /// One more, unless so many are running.
    pub(super) fn try_begin(&self, most: u64) -> bool {
        let order = Ordering::Relaxed;
        let one_more =
            |word: u64| (word & RUNNING < most).then(|| word.wrapping_add(ONE_BEGUN + 1));
        self.0.fetch_update(order, order, one_more).is_ok()
    }

    #[inline]
    pub(super) fn end(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConcurrencyLimits;

    #[test]
    fn no_limit_is_above_what_can_be_counted() {
        let limits = ConcurrencyLimits::default();
        let beyond = limits.with_max_in_flight_per_instance(RUNNING + 1);
        assert!(beyond.is_err());
        assert!(limits.with_max_in_flight_per_instance(1_000_000).is_ok());
    }

    #[test]
    fn threads_never_have_more_than_there_may_be() {
        let attempts = Attempts::default();
        let (now, most) = (AtomicU64::new(0), AtomicU64::new(0));
        let begun = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..5_000 {
                        if attempts.try_begin(3) {
                            begun.fetch_add(1, Ordering::SeqCst);
                            let running = now.fetch_add(1, Ordering::SeqCst) + 1;
                            most.fetch_max(running, Ordering::SeqCst);
                            assert!((1..=3).contains(&attempts.running()));
                            now.fetch_sub(1, Ordering::SeqCst);
                            attempts.end();
                        }
                    }
                });
            }
        });
        assert!((1..=3).contains(&most.into_inner()));
        assert_eq!(attempts.running(), 0);
        assert_eq!(attempts.begun(), begun.into_inner());
    }

    #[test]
    fn more_than_there_is_room_for_do_no_lasting_harm() {
        let attempts = Attempts(AtomicU64::new(RUNNING));
        attempts.begin();
        attempts.begin();
        assert_eq!(attempts.running(), 1);
        (0..3).for_each(|_| attempts.end());
        assert_eq!((attempts.begun(), attempts.running()), (2, RUNNING - 1));
    }
}
