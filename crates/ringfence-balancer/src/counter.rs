//! Counters that many threads raise at once.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
};

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

fn stripe_of_this_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    STRIPE.with(|cell| {
        let stripe = cell.get();
        if stripe != usize::MAX {
            return stripe;
        }
        let stripe = NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES;
        cell.set(stripe);
        stripe
    })
}

impl StripedCounter {
    /// Returns how many this stripe had counted before.
    pub(crate) fn increment(&self) -> u64 {
        let stripe = self.stripes.get(stripe_of_this_thread());
        stripe.map_or(0, |stripe| stripe.0.fetch_add(1, Ordering::Relaxed))
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
}
