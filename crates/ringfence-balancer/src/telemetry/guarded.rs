use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
};

use tracing::error;

/// Runs what is not ours: a fault in it must end neither the balancer's task nor a request.
pub(crate) fn guarded<T>(observe: impl FnOnce() -> T) -> Option<T> {
    static TOLD: AtomicBool = AtomicBool::new(false);
    // Nothing of ours is left half-done: it is only told something.
    let result = catch_unwind(AssertUnwindSafe(observe));
    if result.is_err() && !TOLD.swap(true, Ordering::Relaxed) {
        error!(
            "an observer panicked; what it was told is lost, and so is what it panics on after this"
        );
    }
    result.ok()
}
