//! The request between attempts.

use http::request::Parts;

use crate::body::{Replay, RequestBody};
use crate::head::SavedHead;

/// A request that can be taken out for an attempt and, where it was made repeatable, be made again.
///
/// Head and body are apart, because a head is large: making the body repeatable must not move it.
pub(super) struct InHand<B: RequestBody> {
    /// `None` while an attempt has the request.
    head: Option<Parts>,
    body: Option<B>,
    again: Option<(SavedHead, Replay<B>)>,
}

impl<B: RequestBody> InHand<B> {
    pub(super) fn new(head: Parts, body: B) -> Self {
        Self {
            head: Some(head),
            body: Some(body),
            again: None,
        }
    }

    /// The head, while no attempt has it.
    pub(super) fn head(&mut self) -> Option<&mut Parts> {
        self.head.as_mut()
    }

    /// Keeps what a further attempt needs, the body up to `limit` bytes.
    pub(super) fn repeatable(&mut self, limit: usize, with_extensions: bool) {
        if let Some((head, body)) = self.head.as_ref().zip(self.body.take()) {
            let (body, replay) = body.replayable(limit);
            self.again = replay.and_then(|replay| {
                let saved = SavedHead::of(head, with_extensions)?;
                Some((saved, replay))
            });
            self.body = Some(body);
        }
    }

    /// No further attempt will come: what was kept for one is freed.
    pub(super) fn is_last(&mut self) {
        self.again = None;
    }

    pub(super) fn take(&mut self) -> Option<(Parts, B)> {
        self.head.take().zip(self.body.take())
    }

    /// Whether a further attempt could have the request, as far as can be told.
    pub(super) fn can_repeat(&self) -> bool {
        self.head.is_some() || self.again.is_some()
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
        if self.head.is_none() {
            let made = self.again.as_mut().and_then(|(saved, replay)| {
                let head = saved.restore()?;
                Some((head, replay.again()?))
            });
            (self.head, self.body) = made.unzip();
        }
        self.head.is_some()
    }
}
