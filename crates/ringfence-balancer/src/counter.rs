//! Counters that many threads raise at once.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

pub(crate) const STRIPES: usize = 16;

/// Cache lines of its own, and pairs of them for CPUs that prefetch in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Stripe<const N: usize>([AtomicU64; N]);

/// `N` counters that many threads raise at once without fighting over a cache line.
///
/// A single shared atomic would cost more than the whole pick as soon as two threads pick at once. Here each thread has counters of
/// its own, at most 15 threads at a time; those beyond share one more set of them. What one [`add`](Self::add) raises lies together. Whoever
/// asks for the [`totals`](Self::totals) pays: it reads all of the sets. They take 16 times 8 `N` bytes, each set rounded up to whole
/// 128.
///
/// # Examples
/// ```
/// use ringfence_balancer::StripedCounters;
///
/// let (calls, bytes) = (0, 1);
/// let counters = StripedCounters::<2>::default();
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| counters.add([(calls, 1), (bytes, 512)]));
///     }
/// });
/// assert_eq!(counters.totals(), [4, 2_048]);
/// ```
#[derive(Debug)]
pub struct StripedCounters<const N: usize> {
    stripes: [Stripe<N>; STRIPES],
}

/// One counter of its own.
pub(crate) type StripedCounter = StripedCounters<1>;

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

pub(crate) fn stripe_of_this_thread() -> usize {
    thread_local! {
        static OWN: Own = Own::take();
    }
    // A thread that is ending may have none any more.
    OWN.try_with(|own| own.0).unwrap_or(SHARED)
}

impl<const N: usize> Default for StripedCounters<N> {
    fn default() -> Self {
        let stripe = |_| Stripe(std::array::from_fn(|_| AtomicU64::new(0)));
        Self {
            stripes: std::array::from_fn(stripe),
        }
    }
}

impl<const N: usize> StripedCounters<N> {
    /// Raises counters: each by its place, from 0, with how much. Places of `N` and above are left out; a counter that is full begins
    /// anew.
    #[inline]
    pub fn add<const M: usize>(&self, additions: [(usize, u64); M]) {
        let (counters, is_shared) = self.of_this_thread();
        for (place, by) in additions {
            if let Some(count) = counters.get(place) {
                raise(count, by, is_shared);
            }
        }
    }

    /// And whether other threads write them too.
    #[inline]
    fn of_this_thread(&self) -> (&[AtomicU64; N], bool) {
        let [own @ .., Stripe(shared)] = &self.stripes;
        match own.get(stripe_of_this_thread()) {
            Some(Stripe(counters)) => (counters, false),
            None => (shared, true),
        }
    }

    /// What all threads have added. None of them falls from one time to the next; of an addition that is under way, some may be there and
    /// others not.
    #[must_use]
    pub fn totals(&self) -> [u64; N] {
        let mut totals = [0_u64; N];
        for Stripe(counters) in &self.stripes {
            for (total, count) in totals.iter_mut().zip(counters) {
                *total = total.wrapping_add(count.load(Ordering::Relaxed));
            }
        }
        totals
    }
}

/// Returns what it was before.
#[inline]
fn raise(count: &AtomicU64, by: u64, is_shared: bool) -> u64 {
    if is_shared {
        return count.fetch_add(by, Ordering::Relaxed);
    }
    // Nobody else writes it, and to write is a fraction of what an atomic addition is.
    let before = count.load(Ordering::Relaxed);
    count.store(before.wrapping_add(by), Ordering::Relaxed);
    before
}

impl StripedCounter {
    /// Returns how many this stripe had counted before.
    #[inline]
    pub(crate) fn increment(&self) -> u64 {
        let ([count], is_shared) = self.of_this_thread();
        raise(count, 1, is_shared)
    }

    pub(crate) fn total(&self) -> u64 {
        let [total] = self.totals();
        total
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

    /// More threads at once than there are stripes, none of which ends before all have counted.
    #[test]
    fn several_counters_are_raised_together_and_no_other() {
        let counters = StripedCounters::<4>::default();
        let all = std::sync::Barrier::new(40);
        std::thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| {
                    all.wait();
                    (0..500).for_each(|n| counters.add([(0, 1), (2, n), (4, 1)]));
                    all.wait();
                });
            }
        });
        assert_eq!(counters.totals(), [40 * 500, 0, 40 * 499 * 250, 0]);
    }

    #[test]
    fn totals_that_are_read_beside_additions_never_fall() {
        let counters = StripedCounters::<2>::default();
        let left = AtomicUsize::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    (0..50_000).for_each(|_| counters.add([(0, 1), (1, 3)]));
                    left.fetch_sub(1, Ordering::Relaxed);
                });
            }
            let mut before = [0; 2];
            while left.load(Ordering::Relaxed) > 0 {
                let now = counters.totals();
                assert!(
                    now[0] >= before[0] && now[1] >= before[1],
                    "{before:?} {now:?}"
                );
                before = now;
            }
        });
        assert_eq!(counters.totals(), [200_000, 600_000]);
    }
}
