//! References that many threads take and give back at once.

use std::{fmt, ops::Deref, sync::Arc};

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
        let value = Arc::new(value);
        let stripe = |_| Arc::new(Striped(Arc::clone(&value)));
        Self {
            stripes: std::array::from_fn(stripe),
            value,
        }
    }

    #[inline]
    pub(crate) fn of_this_thread(&self) -> Arc<Striped<T>> {
        // There is one for each.
        let [first, ..] = &self.stripes;
        Arc::clone(self.stripes.get(stripe_of_this_thread()).unwrap_or(first))
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
