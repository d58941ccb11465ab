//! Counters that many threads raise at once.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const STRIPES: usize = 16;

/// One cache line (two, for CPUs that prefetch in pairs) of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe(AtomicU64);

/// A counter whose increments by different threads do not fight over one cache line.
///
/// A single shared atomic would cost more than the whole pick as soon as two threads pick at once.
#[derive(Debug, Default)]
pub(crate) struct StripedCounter {
    stripes: [Stripe; STRIPES],
}

/// The stripe of threads that have none to themselves.
const SHARED: usize = STRIPES - 1;

/// A stripe that is one thread's alone as long as it lives.
struct Own(usize);

impl Own {
    /// The stripes that nobody has, a bit for each; the shared one is not among them.
    fn free() -> &'static AtomicUsize {
        static FREE: AtomicUsize = AtomicUsize::new((1 << SHARED) - 1);
        &FREE
    }

    /// One that is free, else the shared one.
    fn take() -> Self {
        let order = Ordering::AcqRel;
        let without_lowest = |free: usize| (free != 0).then(|| free & (free - 1));
        // Whoever had it before has written it for the last time: that is to be seen here.
        let taken = Self::free().fetch_update(order, Ordering::Acquire, without_lowest);
        Self(taken.map_or(SHARED, |free| free.trailing_zeros() as usize))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if self.0 != SHARED {
            Self::free().fetch_or(1 << self.0, Ordering::Release);
        }
    }
}

fn stripe_of_this_thread() -> usize {
    thread_local! {
        static OWN: Own = Own::take();
    }
    // A thread that is ending may have none any more.
    OWN.try_with(|own| own.0).unwrap_or(SHARED)
}

impl StripedCounter {
    /// Returns how many this stripe had counted before.
    #[inline]
    pub(crate) fn increment(&self) -> u64 {
        let place = stripe_of_this_thread();
        let Some(Stripe(count)) = self.stripes.get(place) else {
            return 0;
        };
        if place == SHARED {
            return count.fetch_add(1, Ordering::Relaxed);
        }
        // Nobody else writes it, and to write is a fraction of what an atomic addition is.
        let before = count.load(Ordering::Relaxed);
        count.store(before.wrapping_add(1), Ordering::Relaxed);
        before
    }

    pub(crate) fn total(&self) -> u64 {
        self.stripes
            .iter()
            .map(|stripe| stripe.0.load(Ordering::Relaxed))
            .fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_threads_add_up() {
        let counter = StripedCounter::default();
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    (0..1_000).for_each(|_| {
                        counter.increment();
                    })
                });
            }
        });
        assert_eq!(counter.total(), 20_000);
    }

    /// One after the other, and many at once, some of which end while others begin.
    #[test]
    fn stripes_are_handed_on_without_a_loss() {
        let counter = StripedCounter::default();
        for _ in 0..50 {
            std::thread::scope(|scope| {
                scope.spawn(|| counter.increment());
            });
        }
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        std::thread::scope(|inner| {
                            for _ in 0..6 {
                                inner.spawn(|| {
                                    for _ in 0..10 {
                                        counter.increment();
                                    }
                                });
                            }
                        });
                    }
                });
            }
        });
        assert_eq!(counter.total(), 50 + 4 * 200 * 6 * 10);
    }
}
