//! The contract between the layer and a request body.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::ahead::{self, Beginning, Whole};
use super::capture::{self, Captured, Shared};

/// A request body that the layer can send, and perhaps send again to another instance.
///
/// Implemented for [`Full`], [`Empty`], [`BoxBody`] and [`UnsyncBoxBody`] with [`Bytes`] as data,
/// `String`, [`Body`](crate::Body), and with the features `tonic` and `hyper` for tonic's and
/// hyper's own bodies. Wrap anything else in [`Body`](crate::Body), or implement the trait without
/// any method: then the request is sent once and never hops. What a boxed body has at once is read
/// before it is sent, at most two frames of it.
///
/// [`Full`]: http_body_util::Full
/// [`Empty`]: http_body_util::Empty
/// [`BoxBody`]: http_body_util::combinators::BoxBody
/// [`UnsyncBoxBody`]: http_body_util::combinators::UnsyncBoxBody
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a request body that Ringfence can send again",
    label = "no `RequestBody` for this type",
    note = "box it with `ringfence::Body::new(body)`",
    note = "for a type of your own `impl RequestBody for {Self} {{}}` will do, and its requests are sent once"
)]
pub trait RequestBody: http_body::Body<Error: Send> + Sized + Send + 'static {
    /// Gives the body for the first attempt and, if it can be had, the means for further ones.
    ///
    /// Asked only for requests that may hop. `limit` is the number of bytes that may be kept for
    /// this request; a body known to be longer must give `None` and keep nothing.
    #[must_use]
    fn replayable(self, limit: usize) -> (Self, Option<Replay<Self>>) {
        let _ = limit;
        (self, None)
    }
}

/// The means to send a request body again; made by [`RequestBody::replayable`].
pub struct Replay<B: http_body::Body> {
    kind: Kind<B>,
}

enum Kind<B: http_body::Body> {
    Make(fn() -> B),
    Bytes {
        bytes: Bytes,
        make: fn(Bytes) -> B,
    },
    Copy {
        body: B,
        copy: fn(&B) -> B,
    },
    Whole {
        whole: Whole,
        wrap: fn(Captured<B>) -> B,
    },
    Captured {
        shared: Arc<Shared<B>>,
        wrap: fn(Captured<B>) -> B,
        stale: Option<fn() -> B::Error>,
    },
}

impl<B: http_body::Body> Replay<B> {
    /// Makes a new body for each further attempt, for bodies without content.
    #[must_use]
    pub fn from_fn(make: fn() -> B) -> Self {
        Self {
            kind: Kind::Make(make),
        }
    }

    /// Copies the body for each further attempt, for bodies that are held in memory anyway.
    #[must_use]
    pub fn from_clone(body: B) -> Self
    where
        B: Clone,
    {
        Self {
            kind: Kind::Copy {
                body,
                copy: B::clone,
            },
        }
    }

    /// Makes a body from the same bytes for each further attempt.
    #[must_use]
    pub fn from_bytes(bytes: Bytes, make: fn(Bytes) -> B) -> Self {
        Self {
            kind: Kind::Bytes { bytes, make },
        }
    }

    /// Keeps the body, up to `limit` bytes: what of it is there already at once, the rest as it passes. `wrap` boxes the
    /// capturing body.
    /// `stale` gives the error that an outdated attempt sees; without one it waits for ever.
    pub(crate) fn capture(
        body: B,
        limit: usize,
        wrap: fn(Captured<B>) -> B,
        stale: Option<fn() -> B::Error>,
    ) -> (B, Self)
    where
        B: http_body::Body<Data = Bytes> + Unpin,
    {
        let ahead = match ahead::read(body, limit) {
            Beginning::Whole(whole) => {
                let first = wrap(Captured::whole(whole.clone()));
                let kind = Kind::Whole { whole, wrap };
                return (first, Self { kind });
            }
            Beginning::Part(ahead) => ahead,
        };
        let shared = Arc::new(Shared::new(ahead, limit));
        let first = wrap(Captured::first(Arc::clone(&shared), stale));
        let kind = Kind::Captured {
            shared,
            wrap,
            stale,
        };
        (first, Self { kind })
    }

    /// The body for the next attempt; `None` if what was sent is no longer held.
    /// Bodies given out before become useless.
    pub(crate) fn again(&mut self) -> Option<B> {
        match &self.kind {
            Kind::Make(make) => Some(make()),
            Kind::Bytes { bytes, make } => Some(make(bytes.clone())),
            Kind::Copy { body, copy } => Some(copy(body)),
            Kind::Whole { whole, wrap } => Some(wrap(Captured::whole(whole.clone()))),
            Kind::Captured {
                shared,
                wrap,
                stale,
            } => capture::next(shared, *stale).map(wrap),
        }
    }

    /// The body for an attempt beside the one that is running: `None` as well where that one still needs its own.
    pub(crate) fn beside(&mut self) -> Option<B> {
        let is_free = match &self.kind {
            Kind::Make(_) | Kind::Bytes { .. } | Kind::Copy { .. } | Kind::Whole { .. } => true,
            Kind::Captured { shared, .. } => shared.is_read(),
        };
        if is_free { self.again() } else { None }
    }
}

impl<B: http_body::Body> Drop for Replay<B> {
    /// No further attempt comes: what was kept is freed, what follows passes through.
    fn drop(&mut self) {
        if let Kind::Captured { shared, .. } = &self.kind {
            shared.release();
        }
    }
}

impl<B: http_body::Body> fmt::Debug for Replay<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.kind {
            Kind::Make(_) => "make",
            Kind::Bytes { .. } => "bytes",
            Kind::Copy { .. } => "copy",
            Kind::Whole { .. } => "whole",
            Kind::Captured { .. } => "captured",
        };
        f.debug_struct("Replay").field("kind", &kind).finish()
    }
}
