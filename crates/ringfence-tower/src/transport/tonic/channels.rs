//! The connections of one instance.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tonic::transport::Channel;

use super::counted::Tally;
use crate::transport::Connections;

/// Lazily connected channels that take turns.
pub(super) struct Channels {
    channels: Box<[Channel]>,
    next: AtomicUsize,
    tally: Arc<Tally>,
}

impl Channels {
    /// Channels whose connections are in this tally.
    pub(super) fn new(channels: Box<[Channel]>, tally: Arc<Tally>) -> Self {
        Self {
            channels,
            next: AtomicUsize::new(0),
            tally,
        }
    }

    pub(super) fn connections(&self) -> Connections {
        self.tally.now()
    }

    pub(super) fn all(&self) -> &[Channel] {
        &self.channels
    }

    pub(super) fn next(&self) -> Option<&Channel> {
        self.tally.used();
        let turn = match self.channels.len() {
            0 | 1 => 0,
            len => self.next.fetch_add(1, Ordering::Relaxed) % len,
        };
        self.channels.get(turn)
    }
}
