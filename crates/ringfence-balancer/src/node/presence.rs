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

/// Follows an instance without keeping its [`Node`]: for connections, which are let go with the node.
///
/// # Examples
/// See [`Candidate::presence`](crate::Candidate::presence).
#[derive(Clone)]
pub struct Presence {
    left: watch::Receiver<Option<Instant>>,
    node: Weak<Node>,
}

impl Presence {
    pub(crate) fn of(seat: &Seat) -> Self {
        Self {
            left: seat.node.left.subscribe(),
            node: Arc::downgrade(&seat.node),
        }
    }

    /// Since when the instance is not in the list any more; `None` while it is.
    #[must_use]
    pub fn left_at(&self) -> Option<Instant> {
        *self.left.borrow()
    }

    /// Attempts that are running on it now.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.node.upgrade().map_or(0, |node| node.in_flight())
    }

    /// Waits until the instance has not been in the list for this long. It starts anew if the instance comes back, and never ends
    /// if the node goes first.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    pub async fn away_for(&mut self, limit: Duration) {
        loop {
            let Some(left) = self.changed(None).await else {
                return pending().await;
            };
            let Some(end) = left.and_then(|left| left.checked_add(limit)) else {
                return pending().await;
            };
            match timeout_at(end, self.changed(left)).await {
                Err(_elapsed) => return,
                Ok(None) => return pending().await,
                Ok(Some(_back)) => {}
            }
        }
    }

    /// What it is once it is not this any more; `None` when the node goes first.
    async fn changed(&mut self, from: Option<Instant>) -> Option<Option<Instant>> {
        let changed = self.left.wait_for(|left| *left != from).await;
        changed.ok().map(|left| *left)
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
