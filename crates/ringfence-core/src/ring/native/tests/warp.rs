//! Points other than those of the layout, for rings that hashes do not make.

use std::cell::RefCell;

type Warp = Box<dyn Fn(u64) -> u64>;

thread_local! {
    static WARP: RefCell<Option<Warp>> = const { RefCell::new(None) };
}

/// Rings are as the layout wants them again once it is dropped.
#[must_use]
pub(in crate::ring::native) struct Warped(());

/// From now on each point of this thread's rings is what `warp` makes of it.
pub(in crate::ring::native) fn warp(warp: impl Fn(u64) -> u64 + 'static) -> Warped {
    WARP.set(Some(Box::new(warp)));
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
