//! [`RequestBody`] for the bodies of the field.

use bytes::{Buf, Bytes};
use http_body::Body as _;
use http_body_util::combinators::{BoxBody, UnsyncBoxBody};
use http_body_util::{BodyExt as _, Empty, Full};

use super::replay::{Replay, RequestBody};

/// Whether the body says itself that it is longer than the limit.
pub(super) fn is_over(body: &impl http_body::Body, limit: usize) -> bool {
    usize::try_from(body.size_hint().lower()).map_or(true, |lower| lower > limit)
}

fn copied<B: RequestBody + Clone>(body: B, limit: usize) -> (B, Option<Replay<B>>) {
    if is_over(&body, limit) {
        return (body, None);
    }
    let again = body.clone();
    (body, Some(Replay::from_clone(again)))
}

impl<D> RequestBody for Full<D>
where
    D: Buf + Clone + Send + 'static,
{
    fn replayable(self, limit: usize) -> (Self, Option<Replay<Self>>) {
        copied(self, limit)
    }
}

impl<D> RequestBody for Empty<D>
where
    D: Buf + Send + 'static,
{
    fn replayable(self, _limit: usize) -> (Self, Option<Replay<Self>>) {
        (self, Some(Replay::from_fn(Self::new)))
    }
}

impl RequestBody for String {
    fn replayable(self, limit: usize) -> (Self, Option<Replay<Self>>) {
        copied(self, limit)
    }
}

impl<E> RequestBody for BoxBody<Bytes, E>
where
    E: Send + 'static,
{
    fn replayable(self, limit: usize) -> (Self, Option<Replay<Self>>) {
        if self.is_end_stream() {
            let empty = || Self::new(Empty::new().map_err(|never| match never {}));
            return (self, Some(Replay::from_fn(empty)));
        }
        if is_over(&self, limit) {
            return (self, None);
        }
        let (first, replay) = Replay::capture(self, limit, Self::new, None);
        (first, Some(replay))
    }
}

impl<E> RequestBody for UnsyncBoxBody<Bytes, E>
where
    E: Send + 'static,
{
    fn replayable(self, limit: usize) -> (Self, Option<Replay<Self>>) {
        if self.is_end_stream() {
            let empty = || Self::new(Empty::new().map_err(|never| match never {}));
            return (self, Some(Replay::from_fn(empty)));
        }
        if is_over(&self, limit) {
            return (self, None);
        }
        let (first, replay) = Replay::capture(self, limit, Self::new, None);
        (first, Some(replay))
    }
}

#[cfg(feature = "tonic")]
impl RequestBody for tonic::body::Body {
    fn replayable(self, limit: usize) -> (Self, Option<Replay<Self>>) {
        if self.is_end_stream() {
            return (self, Some(Replay::from_fn(Self::empty)));
        }
        if is_over(&self, limit) {
            return (self, None);
        }
        let stale = || tonic::Status::cancelled("the request went on to another instance");
        let (first, replay) = Replay::capture(self, limit, Self::new, Some(stale));
        (first, Some(replay))
    }
}

/// Sent once: a second body of this type cannot be made. Box it with [`Body`](crate::Body) to let
/// it hop.
#[cfg(feature = "hyper")]
impl RequestBody for hyper::body::Incoming {}
