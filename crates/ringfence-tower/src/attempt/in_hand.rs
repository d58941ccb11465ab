//! The request between attempts.

use std::convert::Infallible;
use std::mem;

use http::request::Parts;
use http::{Extensions, Request};
use ringfence_core::RequestTags;
use ringfence_policy::{GrayTag, RoutingKey, TrustedTags};

use crate::body::{Replay, RequestBody};
use crate::head::SavedHead;
use crate::retry::{Idempotent, RetryPolicy};

/// A request that can be taken out for an attempt and, where it was made repeatable, be made again.
///
/// Head and body are apart, because a head is large: making the body repeatable must not move it.
pub(super) struct InHand<B: RequestBody> {
    head: Head,
    body: Option<B>,
    replay: Option<Replay<B>>,
    /// How much of the body may be kept for a further attempt, where one may be needed and the body is still as it came.
    keep: Option<usize>,
    /// Whether a copy of the head has its extensions.
    with_extensions: bool,
}

/// The head is either here or with an attempt, and only then a copy is needed: the two share one place.
enum Head {
    Here(Parts),
    /// An attempt has it. What it was is kept while there is a `replay`.
    Taken(SavedHead),
}

impl<B: RequestBody> InHand<B> {
    pub(super) fn new(request: Request<B>) -> Self {
        let (head, body) = request.into_parts();
        Self {
            head: Head::Here(head),
            body: Some(body),
            replay: None,
            keep: None,
            with_extensions: false,
        }
    }

    /// The head, while no attempt has it.
    pub(super) fn head(&mut self) -> Option<&mut Parts> {
        match &mut self.head {
            Head::Here(head) => Some(head),
            Head::Taken(_) => None,
        }
    }

    /// Whether sending it twice does no harm. It does not say so itself if its key is known to be its only extension.
    pub(super) fn is_idempotent(&self, retry: &RetryPolicy, key_is_all: bool) -> bool {
        match &self.head {
            Head::Here(head) if key_is_all => retry.is_idempotent_untold(head),
            Head::Here(head) => retry.is_idempotent(head),
            Head::Taken(_) => false,
        }
    }

    /// Takes out what was said to the layer alone, which is all if the key is known to be all.
    pub(super) fn forget_extensions(&mut self, key_is_all: bool) {
        let Some(head) = self.head() else {
            return;
        };
        let extensions = &mut head.extensions;
        if key_is_all || (extensions.len() == 1 && extensions.get::<RoutingKey>().is_some()) {
            // Nearly always, and to let go of the map is less work than to empty it.
            *extensions = Extensions::new();
        }
        if extensions.is_empty() {
            return;
        }
        extensions.remove::<RoutingKey>();
        extensions.remove::<RequestTags>();
        extensions.remove::<GrayTag>();
        extensions.remove::<TrustedTags>();
        extensions.remove::<Idempotent>();
    }

    /// What a further attempt needs is to be kept, the body up to `limit` bytes.
    pub(super) fn repeatable(&mut self, limit: usize, with_extensions: bool) {
        self.keep = Some(limit);
        self.with_extensions = with_extensions;
    }

    /// No further attempt will come: what was kept for one is freed.
    pub(super) fn forget_replay(&mut self) {
        self.keep = None;
        self.replay = None;
    }

    /// Not before it is sent: a body may be read for that, and what it waits for may have a time of its own.
    fn keep_body(&mut self) {
        if let Some(limit) = self.keep.take()
            && let Some(body) = self.body.take()
        {
            let (body, replay) = body.replayable(limit);
            self.body = Some(body);
            self.replay = replay;
        }
    }

    /// As it came.
    pub(super) fn take(&mut self) -> Option<Request<B>> {
        self.send(|_| Ok::<(), Infallible>(()), |request| request)?
            .ok()
    }

    /// Hands it to an attempt, after changes to the head that are this attempt's alone. `None` while an attempt has it.
    ///
    /// What is done with it is done in here, because a request is large and each step out of a function moves it.
    #[inline]
    pub(super) fn send<T, E>(
        &mut self,
        change: impl FnOnce(&mut Parts) -> Result<(), E>,
        send: impl FnOnce(Request<B>) -> T,
    ) -> Option<Result<T, E>> {
        if matches!(self.head, Head::Taken(_)) {
            return None;
        }
        self.keep_body();
        // The copy is filled where it stays.
        let taken = Head::Taken(SavedHead::default());
        let Head::Here(mut head) = mem::replace(&mut self.head, taken) else {
            return None;
        };
        if let (Some(_), Head::Taken(saved)) = (&self.replay, &mut self.head)
            && !saved.fill(&head, self.with_extensions)
        {
            self.replay = None;
        }
        if let Err(error) = change(&mut head) {
            return Some(Err(error));
        }
        let body = self.body.take()?;
        Some(Ok(send(Request::from_parts(head, body))))
    }

    /// Whether a further attempt could have the request, as far as can be told.
    pub(super) fn can_repeat(&self) -> bool {
        matches!(self.head, Head::Here(_)) || self.replay.is_some()
    }

    /// The head again, after an attempt took it.
    fn copied_head(&self) -> Option<Parts> {
        match &self.head {
            Head::Here(_) => None,
            Head::Taken(saved) => saved.restore(),
        }
    }

    /// The same request for an attempt beside the one that is running.
    pub(super) fn beside(&mut self) -> Option<Self> {
        let body = self.replay.as_mut()?.beside()?;
        Some(Self::new(Request::from_parts(self.copied_head()?, body)))
    }

    /// Makes the request anew unless it was never taken out. False if that is not possible; then an
    /// attempt that is still running keeps its body.
    pub(super) fn refill(&mut self) -> bool {
        if matches!(self.head, Head::Here(_)) {
            return true;
        }
        let body = self.replay.as_mut().and_then(Replay::again);
        let Some((head, body)) = self.copied_head().zip(body) else {
            return false;
        };
        self.head = Head::Here(head);
        self.body = Some(body);
        true
    }
}
