//! A channel for one call.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::{Request, Response};
use tonic::body::Body;
use tonic::transport::channel::ResponseFuture;
use tonic::transport::{Channel, Error};
use tower_service::Service;

use super::channels::Channels;

/// A channel to an instance, as a [`TonicConnector`](super::TonicConnector) lends it to each attempt.
///
/// With the call that it takes its handle of the channel goes back to be lent again; without one the handle is thrown away, because
/// it may hold a place in the channel's queue.
pub struct LentChannel {
    /// `None` once it has taken a call.
    channel: Option<Channel>,
    home: Arc<Channels>,
    turn: usize,
}

impl LentChannel {
    /// The connection whose `turn` it is.
    pub(super) fn new(home: Arc<Channels>, turn: usize) -> Self {
        Self {
            channel: Some(home.handle(turn)),
            home,
            turn,
        }
    }
}

impl Service<Request<Body>> for LentChannel {
    type Response = Response<Body>;
    type Error = Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let (home, turn) = (&self.home, self.turn);
        let channel = self.channel.get_or_insert_with(|| home.handle(turn));
        ready!(channel.poll_ready(cx))?;
        Poll::Ready(Ok(()))
    }

    /// # Panics
    /// As of a [`Channel`]: where it was not ready.
    fn call(&mut self, request: Request<Body>) -> ResponseFuture {
        let channel = self.channel.take();
        let mut channel = channel.unwrap_or_else(|| self.home.handle(self.turn));
        let call = channel.call(request);
        self.home.take_back(channel, self.turn);
        call
    }
}

impl fmt::Debug for LentChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LentChannel")
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}
