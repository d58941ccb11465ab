//! The handle on a connection, by which it is ended.

use tokio::sync::watch;

/// How far the end of a connection has been ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    Not,
    GoAway,
    Close,
    Reset,
}

/// Handle on a running connection, for what happens on it and for the backend.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    number: u64,
    /// The name that the client asked for in its TLS handshake.
    pub(super) sni: Option<String>,
    end: watch::Sender<End>,
}

impl Connection {
    pub(super) fn new(number: u64) -> Self {
        Self {
            number,
            sni: None,
            end: watch::channel(End::Not).0,
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Orders an end; a harder one than what has been ordered replaces it.
    pub(super) fn end(&self, end: End) {
        self.end.send_if_modified(|now| {
            let harder = end > *now;
            *now = end.max(*now);
            harder
        });
    }

    pub(super) async fn ended(&self, at_least: End) -> End {
        let mut end = self.end.subscribe();
        // The sender is `self`, so waiting cannot fail.
        end.wait_for(|end| *end >= at_least)
            .await
            .map_or(End::Close, |end| *end)
    }
}
