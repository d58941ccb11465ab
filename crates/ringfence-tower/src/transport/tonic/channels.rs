//! The connections of one instance.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_queue::ArrayQueue;
use tonic::transport::Channel;

use super::counted::Tally;
use super::lent::LentChannel;
use crate::transport::Connections;

/// Handles that are kept for each connection. A call needs one only until it has begun, so as many threads as this can do without
/// more, which are made and thrown away.
const KEPT: usize = 8;

/// Lazily connected channels that take turns.
pub(super) struct Channels {
    first: Line,
    others: Box<[Line]>,
    next: AtomicUsize,
    tally: Arc<Tally>,
}

/// A connection.
struct Line {
    channel: Channel,
    /// Handles that nobody uses. A new one allocates, and again when it is used for the first time.
    idle: ArrayQueue<Channel>,
}

impl Line {
    fn new(channel: Channel) -> Self {
        Self {
            channel,
            idle: ArrayQueue::new(KEPT),
        }
    }
}

impl Channels {
    /// Channels whose connections are in this tally.
    pub(super) fn new(
        first: Channel,
        others: impl IntoIterator<Item = Channel>,
        tally: Arc<Tally>,
    ) -> Self {
        Self {
            first: Line::new(first),
            others: others.into_iter().map(Line::new).collect(),
            next: AtomicUsize::new(0),
            tally,
        }
    }

    pub(super) fn connections(&self) -> Connections {
        self.tally.now()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Channel> {
        iter::once(&self.first)
            .chain(&self.others)
            .map(|line| &line.channel)
    }

    /// The one whose turn it is.
    pub(super) fn lend(self: &Arc<Self>) -> LentChannel {
        self.tally.used();
        let turn = match self.others.len() {
            0 => 0,
            others => self.next.fetch_add(1, Ordering::Relaxed) % (others + 1),
        };
        LentChannel::new(Arc::clone(self), turn)
    }

    fn line(&self, turn: usize) -> &Line {
        let other = turn.checked_sub(1).and_then(|turn| self.others.get(turn));
        other.unwrap_or(&self.first)
    }

    /// A handle that nobody else has.
    pub(super) fn handle(&self, turn: usize) -> Channel {
        let line = self.line(turn);
        line.idle.pop().unwrap_or_else(|| line.channel.clone())
    }

    /// Takes back a handle that holds no place in the channel's queue.
    pub(super) fn take_back(&self, handle: Channel, turn: usize) {
        // It goes if enough are kept already.
        let _ = self.line(turn).idle.push(handle);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use http::Request;
    use tonic::body::Body;
    use tonic::transport::Endpoint;
    use tower_service::Service as _;

    use super::*;

    fn channels(others: usize) -> Arc<Channels> {
        let channel = || Endpoint::from_static("http://127.0.0.1:1").connect_lazy();
        let others = (0..others).map(|_| channel());
        Arc::new(Channels::new(channel(), others, Arc::default()))
    }

    fn idle(channels: &Channels) -> Vec<usize> {
        let others = channels.others.iter();
        let lines = iter::once(&channels.first).chain(others);
        lines.map(|line| line.idle.len()).collect()
    }

    #[tokio::test]
    async fn a_handle_comes_back_with_the_call_that_it_took() {
        let channels = channels(0);
        for _ in 0..3 {
            let mut lent = channels.lend();
            poll_fn(|cx| lent.poll_ready(cx)).await.expect("ready");
            assert_eq!(idle(&channels), [0]);
            drop(lent.call(Request::new(Body::empty())));
            assert_eq!(idle(&channels), [1]);
        }
        // It holds a place in the queue, so nobody else may have it.
        let mut lent = channels.lend();
        poll_fn(|cx| lent.poll_ready(cx)).await.expect("ready");
        drop(lent);
        assert_eq!(idle(&channels), [0]);
    }

    #[tokio::test]
    async fn one_that_took_a_call_takes_another() {
        let channels = channels(0);
        let mut lent = channels.lend();
        for _ in 0..3 {
            poll_fn(|cx| lent.poll_ready(cx)).await.expect("ready");
            drop(lent.call(Request::new(Body::empty())));
        }
        assert_eq!(idle(&channels), [1]);
    }

    #[tokio::test]
    async fn connections_take_turns_and_no_more_handles_are_kept_than_may_be() {
        let channels = channels(2);
        let mut lent: Vec<_> = (0..3 * (KEPT + 4)).map(|_| channels.lend()).collect();
        for lent in &mut lent {
            poll_fn(|cx| lent.poll_ready(cx)).await.expect("ready");
            drop(lent.call(Request::new(Body::empty())));
        }
        assert_eq!(idle(&channels), [KEPT; 3]);
        assert_eq!(
            channels.tally.uses(),
            u64::try_from(lent.len()).expect("few")
        );
    }
}
