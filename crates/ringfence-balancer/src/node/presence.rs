//! Whether an instance is in the list of its service.

use std::{
    fmt,
    future::pending,
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

use super::{Node, Seat};

/// Whether an instance is in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stay {
    Listed,
    /// It left then; what runs on it may go on for a while.
    Left(Instant),
    /// What runs on it is to end at once.
    Over(Instant),
}

/// Follows an instance without keeping its [`Node`]: for connections, which are let go with the node.
///
/// # Examples
/// See [`Candidate::presence`](crate::Candidate::presence).
#[derive(Clone)]
pub struct Presence {
    stay: watch::Receiver<Stay>,
    node: Weak<Node>,
}

impl Presence {
    pub(crate) fn of(seat: &Seat) -> Self {
        Self {
            stay: seat.node.stay.subscribe(),
            node: Arc::downgrade(&seat.node),
        }
    }

    /// Since when the instance is not in the list any more; `None` while it is.
    #[must_use]
    pub fn left_at(&self) -> Option<Instant> {
        match *self.stay.borrow() {
            Stay::Listed => None,
            Stay::Left(at) | Stay::Over(at) => Some(at),
        }
    }

    /// Attempts that are running on it now.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.node.upgrade().map_or(0, |node| node.in_flight())
    }

    /// Waits until the instance has not been in the list for this long, or until
    /// [`Balancer::shutdown_within`](crate::Balancer::shutdown_within) cuts off what still runs. It starts anew if the instance comes
    /// back, and never ends if the node goes first.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    pub async fn away_for(&mut self, limit: Duration) {
        let mut stay = *self.stay.borrow_and_update();
        loop {
            let end = match stay {
                Stay::Over(_) => return,
                Stay::Left(at) => at.checked_add(limit),
                Stay::Listed => None,
            };
            let changed = self.stay.changed();
            let changed = match end {
                Some(end) => match timeout_at(end, changed).await {
                    Err(_elapsed) => return,
                    Ok(changed) => changed,
                },
                None => changed.await,
            };
            if changed.is_err() {
                return pending().await;
            }
            stay = *self.stay.borrow_and_update();
        }
    }
}

impl fmt::Debug for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Presence")
            .field("left_at", &self.left_at())
            .field("in_flight", &self.in_flight())
            .finish()
    }
}
