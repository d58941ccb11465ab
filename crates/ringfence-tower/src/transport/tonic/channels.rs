//! The connections of one instance.

use std::sync::atomic::{AtomicUsize, Ordering};

use tonic::transport::Channel;

/// Lazily connected channels that take turns.
pub(super) struct Channels {
    channels: Box<[Channel]>,
    next: AtomicUsize,
}

impl Channels {
    pub(super) fn new(channels: Box<[Channel]>) -> Self {
        Self {
            channels,
            next: AtomicUsize::new(0),
        }
    }

    pub(super) fn next(&self) -> Option<&Channel> {
        let turn = match self.channels.len() {
            0 | 1 => 0,
            len => self.next.fetch_add(1, Ordering::Relaxed) % len,
        };
        self.channels.get(turn)
    }
}
