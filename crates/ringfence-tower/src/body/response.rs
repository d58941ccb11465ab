//! A response body that counts as in flight until it ends.

use std::fmt;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use ringfence_balancer::{CallOutcome, FailureKind};
use ringfence_core::Instance;
use tokio::time::{Instant, Sleep, sleep_until};

use super::Tracker;
use crate::error::{Error, ErrorKind, FailedAttempt};

pin_project! {
    /// The inner client's response body, passed through frame by frame.
    ///
    /// The request counts as in flight on its instance until the end of the stream, an error, or
    /// the drop of this body, and its outcome is reported then: for gRPC by the status in
    /// the trailers, for a broken stream as a failure. A body that is dropped earlier counts by
    /// what has come until then: by the head, for gRPC by the first message, without one not at all.
    pub struct ResponseBody<B>
    where
        B: Body,
    {
        #[pin]
        inner: B,
        // Until the end.
        tracker: Option<Tracker>,
        limit: Option<Limit<B::Error>>,
    }

    impl<B> PinnedDrop for ResponseBody<B>
    where
        B: Body,
    {
        /// A reader may look for the end instead of asking for more; gRPC's streams are not looked at for it at each frame.
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            let is_due = this.tracker.as_ref().is_some_and(|tracker| tracker.status_due);
            if is_due && this.inner.is_end_stream() {
                ended(this.tracker);
            }
        }
    }
}

/// The rest of the call's deadline.
pub(crate) struct Limit<E> {
    sleep: Pin<Box<Sleep>>,
    service: Arc<str>,
    convert: fn(Error) -> E,
}

impl<E> Limit<E> {
    pub(crate) fn new(deadline: Instant, service: Arc<str>, convert: fn(Error) -> E) -> Self {
        Self {
            sleep: Box::pin(sleep_until(deadline)),
            service,
            convert,
        }
    }

    fn error(&self, instance: Option<&Instance>) -> E {
        let error = Error::new(ErrorKind::DeadlineExceeded, &self.service);
        let reason = "the response did not end before the deadline";
        let late = instance.map(|instance| FailedAttempt::new(instance, reason));
        (self.convert)(error.with_attempts(late.into_iter().collect()))
    }
}

impl<B: Body> ResponseBody<B> {
    /// A body that is not at its end.
    pub(crate) fn new(inner: B, tracker: Tracker) -> Self {
        Self {
            inner,
            tracker: Some(tracker),
            limit: None,
        }
    }

    /// A body that is no business of the layer.
    pub(crate) fn untracked(inner: B) -> Self {
        Self {
            inner,
            tracker: None,
            limit: None,
        }
    }

    #[must_use]
    pub(crate) fn with_limit(mut self, limit: Limit<B::Error>) -> Self {
        self.limit = Some(limit);
        self
    }
}

fn ended(tracker: &mut Option<Tracker>) {
    if let Some(over) = tracker {
        over.ended();
        *tracker = None;
    }
}

impl<B: Body + Default> Default for ResponseBody<B> {
    /// The default body, which belongs to no request.
    fn default() -> Self {
        Self {
            inner: B::default(),
            tracker: None,
            limit: None,
        }
    }
}

impl<B: Body + fmt::Debug> fmt::Debug for ResponseBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody")
            .field("inner", &self.inner)
            .field("tracker", &self.tracker)
            .finish_non_exhaustive()
    }
}

impl<B: Body> Body for ResponseBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let polled = this.inner.as_mut().poll_frame(cx);
        if polled.is_pending() {
            let Some(limit) = this.limit.as_mut() else {
                return Poll::Pending;
            };
            ready!(limit.sleep.as_mut().poll(cx));
            let tracker = this.tracker.take();
            let instance = tracker.as_ref().and_then(Tracker::instance);
            let error = this.limit.take().map(|limit| limit.error(instance));
            if let Some(mut tracker) = tracker {
                tracker.broken(FailureKind::Timeout, CallOutcome::DeadlineExceeded);
            }
            return Poll::Ready(error.map(Err));
        }
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                let Some(tracker) = this.tracker.as_mut() else {
                    return polled;
                };
                let is_last = if let Some(trailers) = frame.trailers_ref() {
                    tracker.trailers(trailers);
                    true
                } else {
                    tracker.has_data |= frame.is_data();
                    // Many readers stop here instead of asking once more. A status that is due comes after it.
                    !tracker.status_due && this.inner.is_end_stream()
                };
                if is_last {
                    ended(this.tracker);
                }
            }
            Poll::Ready(Some(Err(_))) => {
                if let Some(mut tracker) = this.tracker.take() {
                    tracker.broken(FailureKind::Reset, CallOutcome::Broken);
                }
            }
            Poll::Ready(None) => ended(this.tracker),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
