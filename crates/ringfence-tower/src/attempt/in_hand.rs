//! The request between attempts.

use http::request::Parts;

use crate::body::{Replay, RequestBody};
use crate::head::SavedHead;

/// A request that can be taken out for an attempt and, where it was made repeatable, be made again.
pub(super) struct InHand<B: RequestBody> {
    request: Option<(Parts, B)>,
    again: Option<(SavedHead, Replay<B>)>,
}

impl<B: RequestBody> InHand<B> {
    pub(super) fn new(head: Parts, body: B) -> Self {
        Self {
            request: Some((head, body)),
            again: None,
        }
    }

    /// The head, while no attempt has it.
    pub(super) fn head(&mut self) -> Option<&mut Parts> {
        self.request.as_mut().map(|(head, _)| head)
    }

    /// Keeps what a further attempt needs, the body up to `limit` bytes.
    pub(super) fn repeatable(&mut self, limit: usize, with_extensions: bool) {
        if let Some((head, body)) = self.request.take() {
            let (body, replay) = body.replayable(limit);
            self.again = replay.and_then(|replay| {
                let saved = SavedHead::of(&head, with_extensions)?;
                Some((saved, replay))
            });
            self.request = Some((head, body));
        }
    }

    /// No further attempt will come: what was kept for one is freed.
    pub(super) fn is_last(&mut self) {
        self.again = None;
    }

    pub(super) fn take(&mut self) -> Option<(Parts, B)> {
        self.request.take()
    }

    /// Whether a further attempt could have the request, as far as can be told.
    pub(super) fn can_repeat(&self) -> bool {
        self.request.is_some() || self.again.is_some()
    }

    /// The same request for an attempt beside the one that is running.
    pub(super) fn beside(&mut self) -> Option<Self> {
        let (saved, replay) = self.again.as_mut()?;
        let body = replay.beside()?;
        Some(Self::new(saved.restore()?, body))
    }

    /// Makes the request anew unless it was never taken out. False if that is not possible; then an
    /// attempt that is still running keeps its body.
    pub(super) fn refill(&mut self) -> bool {
        if self.request.is_none() {
            self.request = self.again.as_mut().and_then(|(saved, replay)| {
                let head = saved.restore()?;
                Some((head, replay.again()?))
            });
        }
        self.request.is_some()
    }
}
