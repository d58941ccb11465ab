//! Points other than those of the layout, for rings that hashes do not make.

use std::{cell::RefCell, sync::Arc};

type Warp = Arc<dyn Fn(u64) -> u64 + Send + Sync>;

thread_local! {
    static WARP: RefCell<Option<Warp>> = const { RefCell::new(None) };
}

/// Rings are as the layout wants them again once it is dropped.
#[must_use]
pub(in crate::ring::native) struct Warped(());

/// From now on each point of this thread's rings is what `warp` makes of it.
pub(in crate::ring::native) fn warp(warp: impl Fn(u64) -> u64 + Send + Sync + 'static) -> Warped {
    taken(Some(Arc::new(warp)))
}

/// Work for another thread, whose points are as this one's.
pub(in crate::ring::native) fn with_current<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let warp = WARP.with_borrow(Clone::clone);
    move || {
        let _warped = taken(warp);
        work()
    }
}

fn taken(warp: Option<Warp>) -> Warped {
    WARP.set(warp);
    Warped(())
}

impl Drop for Warped {
    fn drop(&mut self) {
        WARP.set(None);
    }
}

pub(in crate::ring::native) fn warped(point: u64) -> u64 {
    WARP.with_borrow(|warp| warp.as_ref().map_or(point, |warp| warp(point)))
}
