//! The request between attempts.

use http::Request;
use http::request::Parts;
use ringfence_core::RequestTags;
use ringfence_policy::{GrayTag, RoutingKey, TrustedTags};

use crate::body::{Replay, RequestBody};
use crate::head::SavedHead;
use crate::retry::{Idempotent, RetryPolicy};

/// A request that can be taken out for an attempt and, where it was made repeatable, be made again.
///
/// Head and body are apart, because a head is large: making the body repeatable must not move it.
pub(super) struct InHand<B: RequestBody> {
    /// `None` while an attempt has the request.
    head: Option<Parts>,
    body: Option<B>,
    /// What is kept of the head, while there is a `replay`.
    saved: SavedHead,
    replay: Option<Replay<B>>,
}

impl<B: RequestBody> InHand<B> {
    pub(super) fn new(head: Parts, body: B) -> Self {
        Self {
            head: Some(head),
            body: Some(body),
            saved: SavedHead::default(),
            replay: None,
        }
    }

    /// The head, while no attempt has it.
    pub(super) fn head(&mut self) -> Option<&mut Parts> {
        self.head.as_mut()
    }

    /// Whether sending it twice does no harm.
    pub(super) fn is_idempotent(&self, retry: &RetryPolicy) -> bool {
        let head = self.head.as_ref();
        head.is_some_and(|head| retry.is_idempotent(head))
    }

    /// Takes out what was said to the layer alone.
    pub(super) fn forget_extensions(&mut self) {
        let Some(head) = &mut self.head else {
            return;
        };
        let extensions = &mut head.extensions;
        extensions.remove::<RoutingKey>();
        if !extensions.is_empty() {
            extensions.remove::<RequestTags>();
            extensions.remove::<GrayTag>();
            extensions.remove::<TrustedTags>();
            extensions.remove::<Idempotent>();
        }
    }

    /// Keeps what a further attempt needs, the body up to `limit` bytes.
    pub(super) fn repeatable(&mut self, limit: usize, with_extensions: bool) {
        let Some((head, body)) = self.head.as_ref().zip(self.body.take()) else {
            return;
        };
        let (body, replay) = body.replayable(limit);
        self.body = Some(body);
        self.replay = replay.filter(|_| self.saved.fill(head, with_extensions));
    }

    /// No further attempt will come: what was kept for one is freed.
    pub(super) fn is_last(&mut self) {
        self.replay = None;
    }

    pub(super) fn take(&mut self) -> Option<Request<B>> {
        let head = self.head.take()?;
        Some(Request::from_parts(head, self.body.take()?))
    }

    /// Whether a further attempt could have the request, as far as can be told.
    pub(super) fn can_repeat(&self) -> bool {
        self.head.is_some() || self.replay.is_some()
    }

    /// The same request for an attempt beside the one that is running.
    pub(super) fn beside(&mut self) -> Option<Self> {
        let body = self.replay.as_mut()?.beside()?;
        Some(Self::new(self.saved.restore()?, body))
    }

    /// Makes the request anew unless it was never taken out. False if that is not possible; then an
    /// attempt that is still running keeps its body.
    pub(super) fn refill(&mut self) -> bool {
        if self.head.is_none() {
            let made = self.replay.as_mut().and_then(|replay| {
                let head = self.saved.restore()?;
                Some((head, replay.again()?))
            });
            (self.head, self.body) = made.unzip();
        }
        self.head.is_some()
    }
}
