//! References that many threads take and give back at once.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, Weak},
};

use crate::counter::{STRIPES, stripe_of_this_thread};

/// A shared value whose references by different threads are not counted in one cache line.
///
/// Whoever holds it takes one [of its thread](Self::of_this_thread), and may give it back in another one.
pub(crate) struct StripedArc<T> {
    value: Arc<T>,
    stripes: [Arc<Striped<T>>; STRIPES],
}

/// The value, behind counts of references that lie in cache lines of their own.
#[repr(align(128))]
pub(crate) struct Striped<T>(Arc<T>);

impl<T> StripedArc<T> {
    pub(crate) fn new(value: T) -> Self {
        Self::of(Arc::new(value))
    }

    pub(crate) fn of(value: Arc<T>) -> Self {
        let stripe = |_| Striped::of(Arc::clone(&value));
        Self {
            stripes: std::array::from_fn(stripe),
            value,
        }
    }

    #[inline]
    pub(crate) fn of_this_thread(&self) -> Arc<Striped<T>> {
        let [own @ .., shared] = &self.stripes;
        Arc::clone(own.get(stripe_of_this_thread()).unwrap_or(shared))
    }

    /// What keeps nothing alive: the value goes with the last reference of any thread.
    pub(crate) fn downgrade(&self) -> Weak<T> {
        Arc::downgrade(&self.value)
    }
}

impl<T> Striped<T> {
    /// One beside those of threads.
    pub(crate) fn of(value: Arc<T>) -> Arc<Self> {
        Arc::new(Self(value))
    }
}

impl<T> Deref for StripedArc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Deref for Striped<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for StripedArc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads that take references and give back those of others, more of them than there are stripes.
    #[test]
    fn the_value_goes_with_the_last_reference_of_any_thread() {
        let shared = StripedArc::new(7);
        let weak = shared.downgrade();
        let (give, taken) = std::sync::mpsc::channel();
        let all = std::sync::Barrier::new(2 * STRIPES);
        std::thread::scope(|scope| {
            for _ in 0..2 * STRIPES {
                let (give, shared, all) = (give.clone(), &shared, &all);
                scope.spawn(move || {
                    all.wait();
                    (0..100).for_each(|_| give.send(shared.of_this_thread()).expect("it is read"));
                    all.wait();
                });
            }
        });
        drop(give);
        drop(shared);
        let held: Vec<_> = taken.into_iter().collect();
        assert!(held.iter().all(|held| ***held == 7));
        let stripes: std::collections::BTreeSet<_> = held.iter().map(Arc::as_ptr).collect();
        assert!(stripes.len() <= STRIPES, "one for each stripe");
        for held in held {
            assert_eq!(weak.upgrade().as_deref(), Some(&7));
            drop(held);
        }
        assert_eq!(weak.upgrade(), None);
    }
}
