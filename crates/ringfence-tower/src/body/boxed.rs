//! A boxed request body that can be sent again.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};

use super::impls::is_over;
use super::replay::{Replay, RequestBody};
use crate::error::{BoxError, Superseded};

/// A request body that boxes any other body, so that it can be sent again.
///
/// Bodies made from bytes or text are held as they are and copied by reference counting.
///
/// ```
/// use http_body_util::{BodyExt, StreamBody};
/// use ringfence_tower::Body;
///
/// let small = Body::from("hello");
/// let frames = futures_util::stream::empty::<Result<_, std::io::Error>>();
/// let streamed = Body::new(StreamBody::new(frames));
/// # let _ = (small, streamed);
/// ```
pub struct Body {
    kind: Kind,
}

enum Kind {
    Full(Full<Bytes>),
    Boxed(UnsyncBoxBody<Bytes, BoxError>),
}

impl Body {
    /// Boxes a body.
    #[must_use]
    pub fn new<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        if body.is_end_stream() {
            return Self::empty();
        }
        let boxed = body.map_err(Into::into).boxed_unsync();
        Self {
            kind: Kind::Boxed(boxed),
        }
    }

    /// A body without content.
    #[must_use]
    pub fn empty() -> Self {
        Self::from(Bytes::new())
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::empty()
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self {
            kind: Kind::Full(Full::new(bytes)),
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(Bytes::from(bytes))
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::from(Bytes::from(text))
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Self::from(Bytes::from_static(text.as_bytes()))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.kind {
            Kind::Full(full) => Pin::new(full)
                .poll_frame(cx)
                .map_err(|never| match never {}),
            Kind::Boxed(boxed) => Pin::new(boxed).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Full(full) => full.is_end_stream(),
            Kind::Boxed(boxed) => boxed.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Full(full) => full.size_hint(),
            Kind::Boxed(boxed) => boxed.size_hint(),
        }
    }
}

impl RequestBody for Body {
    fn replayable(self, limit: usize) -> (Self, Option<Replay<Self>>) {
        if is_over(&self, limit) {
            return (self, None);
        }
        match self.kind {
            Kind::Full(full) => {
                let bytes = full.into_inner().unwrap_or_default();
                let replay = Replay::from_bytes(bytes.clone(), Self::from);
                (Self::from(bytes), Some(replay))
            }
            Kind::Boxed(boxed) => {
                let whole = Self {
                    kind: Kind::Boxed(boxed),
                };
                let stale = || BoxError::from(Superseded);
                let (first, replay) = Replay::capture(whole, limit, Self::new, Some(stale));
                (first, Some(replay))
            }
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}
