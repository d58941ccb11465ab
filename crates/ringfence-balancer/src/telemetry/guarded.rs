use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
};

use tracing::error;

/// Runs what is not ours: a fault in it must end neither the balancer's task nor a request.
#[inline]
pub(crate) fn guarded<T>(observe: impl FnOnce() -> T) -> Option<T> {
    // Nothing of ours is left half-done: it is only told something.
    match catch_unwind(AssertUnwindSafe(observe)) {
        Ok(result) => Some(result),
        Err(_) => {
            tell_once();
            None
        }
    }
}

#[cold]
fn tell_once() {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if !TOLD.swap(true, Ordering::Relaxed) {
        error!(
            "an observer panicked; what it was told is lost, and so is what it panics on after this"
        );
    }
}
