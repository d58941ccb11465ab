//! What an error or a response says about the instance that gave it.

mod chain;

pub(crate) use self::chain::cause;

use std::error::Error as StdError;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// gRPC's status, in headers or trailers.
pub(crate) static GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
/// gRPC A6: what a server says of a further attempt.
pub(crate) static PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// How an attempt failed without a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Failure {
    /// No connection could be made: nothing was sent.
    Connect,
    /// The instance, or the client before it, refused the request before it was processed.
    Unprocessed,
    /// The connection was closed in peace before the request was processed: it was found closed before anything was written, or
    /// the instance said `GOAWAY` without an error. It says nothing about the instance.
    ConnectionClosed,
    /// The connection or the stream broke; the request may have been processed.
    Broken,
    /// No answer in time; the request may have been processed.
    Timeout,
    /// The cause is on this side (the caller's own body failed, a local limit): it says nothing
    /// about the instance, and another instance would not help.
    Local,
}

/// What a response head or its trailers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// The instance did its work, whatever the answer was.
    Success,
    /// The instance could not serve; an idempotent request may be tried elsewhere.
    Unavailable,
    /// The instance failed, and trying elsewhere is not called for.
    Failure,
    /// Says nothing about the instance.
    Neutral,
}

/// Judges errors and responses of the inner client.
///
/// Each method has a default that knows hyper, h2 and tonic (with the features of these names),
/// HTTP statuses and gRPC statuses. Implement it for another client, or to judge a service's own
/// statuses, and set it with
/// [`RingfenceLayer::with_classifier`](crate::RingfenceLayer::with_classifier).
///
/// ```
/// use http::{HeaderMap, HeaderName, StatusCode};
/// use ringfence_tower::{Classify, Verdict};
///
/// #[derive(Debug)]
/// struct Throttled;
///
/// impl Classify for Throttled {
///     fn response(&self, status: StatusCode, headers: &HeaderMap) -> Verdict {
///         match status {
///             StatusCode::TOO_MANY_REQUESTS => Verdict::Unavailable,
///             _ => ringfence_tower::classify_response(status, headers),
///         }
///     }
/// }
/// ```
pub trait Classify: fmt::Debug + Send + Sync + 'static {
    /// Judges an error of the inner client. The default is [`classify_error`].
    fn error(&self, error: &(dyn StdError + 'static)) -> Failure {
        classify_error(error)
    }

    /// Judges a response head. The default is [`classify_response`].
    fn response(&self, status: StatusCode, headers: &HeaderMap) -> Verdict {
        classify_response(status, headers)
    }

    /// Judges the trailers of a response whose head was a success. The default is
    /// [`classify_trailers`].
    fn trailers(&self, trailers: &HeaderMap) -> Verdict {
        classify_trailers(trailers)
    }
}

/// The defaults of [`Classify`].
#[derive(Debug, Clone, Copy, Default)]
struct DefaultClassifier;

impl Classify for DefaultClassifier {}

/// What judges for a layer: the defaults, unless something else was set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classifier {
    set: Option<Arc<dyn Classify>>,
}

impl Classifier {
    pub(crate) fn new(classifier: impl Classify) -> Self {
        Self {
            set: Some(Arc::new(classifier)),
        }
    }

    #[inline]
    pub(crate) fn response(&self, status: StatusCode, headers: &HeaderMap) -> Verdict {
        match &self.set {
            Some(classifier) => classifier.response(status, headers),
            None => classify_response(status, headers),
        }
    }

    /// Judges trailers in which this status of gRPC was found.
    #[inline]
    pub(crate) fn trailers_with(
        &self,
        trailers: &HeaderMap,
        status: Option<&HeaderValue>,
    ) -> Verdict {
        match &self.set {
            Some(classifier) => classifier.trailers(trailers),
            None => classify_status(status),
        }
    }
}

impl Deref for Classifier {
    type Target = dyn Classify;

    fn deref(&self) -> &Self::Target {
        match &self.set {
            Some(classifier) => &**classifier,
            None => &DefaultClassifier,
        }
    }
}

/// Judges an error by its chain of sources: connection errors of hyper-util and tonic, requests
/// that hyper never dispatched, HTTP/2 `REFUSED_STREAM` and `GOAWAY`, refused TCP connections.
/// What is not recognised is [`Failure::Broken`].
#[must_use]
pub fn classify_error(error: &(dyn StdError + 'static)) -> Failure {
    chain::classify(error)
}

/// HTTP 502, 503 and 504 and gRPC `UNAVAILABLE` in a response without messages are
/// [`Verdict::Unavailable`], gRPC `DEADLINE_EXCEEDED` is [`Verdict::Failure`], the rest is a
/// success: an application that says no is healthy. A server that forbids further attempts
/// (negative `grpc-retry-pushback-ms`) turns `Unavailable` into `Failure`.
#[must_use]
pub fn classify_response(status: StatusCode, headers: &HeaderMap) -> Verdict {
    let verdict = match status {
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            Verdict::Unavailable
        }
        _ => classify_trailers(headers),
    };
    if verdict == Verdict::Unavailable && forbids_retry(headers) {
        return Verdict::Failure;
    }
    verdict
}

/// Judges by `grpc-status`: 14 (`UNAVAILABLE`) and 4 (`DEADLINE_EXCEEDED`) are failures of the
/// instance, every other status and its absence a success.
#[must_use]
pub fn classify_trailers(trailers: &HeaderMap) -> Verdict {
    classify_status(field(trailers, &GRPC_STATUS))
}

fn classify_status(status: Option<&HeaderValue>) -> Verdict {
    match status.map(HeaderValue::as_bytes) {
        Some(b"14") => Verdict::Unavailable,
        Some(b"4") => Verdict::Failure,
        _ => Verdict::Success,
    }
}

/// gRPC A6: a negative or malformed value asks not to try again.
fn forbids_retry(headers: &HeaderMap) -> bool {
    field(headers, &PUSHBACK).is_some_and(|value| {
        value
            .to_str()
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
            .is_none()
    })
}

/// Up to so many fields, looking at all of them finds one sooner than its hash does.
const FEW: usize = 4;

/// The first value of a field.
#[inline]
pub(crate) fn field<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h HeaderValue> {
    match headers.len() {
        0 => None,
        1..=FEW => {
            let mut fields = headers.iter();
            fields.find_map(|(other, value)| (other == name).then_some(value))
        }
        _ => headers.get(name),
    }
}

/// Whether the status of the call comes in trailers.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    field(headers, &CONTENT_TYPE).is_some_and(is_grpc_type)
}

fn is_grpc_type(content_type: &HeaderValue) -> bool {
    let rest = content_type.as_bytes().strip_prefix(b"application/grpc");
    // grpc-web carries its trailers in the body.
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

/// A gRPC response without a status so far.
pub(crate) fn lacks_status(headers: &HeaderMap) -> bool {
    if headers.len() > FEW {
        return is_grpc(headers) && !headers.contains_key(&GRPC_STATUS);
    }
    let mut content_type = None;
    for (name, value) in headers {
        if name == GRPC_STATUS {
            return false;
        }
        if content_type.is_none() && name == CONTENT_TYPE {
            content_type = Some(value);
        }
    }
    content_type.is_some_and(is_grpc_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_among_few_and_many() {
        let mut headers = HeaderMap::new();
        assert_eq!(field(&headers, &GRPC_STATUS), None);
        for n in 0..8_u32 {
            let name = HeaderName::try_from(format!("x-{n}")).expect("valid name");
            headers.append(&name, HeaderValue::from(n));
            headers.append(&name, HeaderValue::from(n + 100));
            assert_eq!(
                field(&headers, &name),
                Some(&HeaderValue::from(n)),
                "the first"
            );
            assert_eq!(field(&headers, &GRPC_STATUS), None);
        }
    }

    fn grpc(status: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("grpc-status", HeaderValue::from_static(status));
        headers
    }

    #[test]
    fn statuses() {
        let none = HeaderMap::new();
        for status in [502, 503, 504] {
            let status = StatusCode::from_u16(status).expect("valid status");
            assert_eq!(classify_response(status, &none), Verdict::Unavailable);
        }
        for status in [200, 204, 301, 400, 404, 429, 500, 501] {
            let status = StatusCode::from_u16(status).expect("valid status");
            assert_eq!(classify_response(status, &none), Verdict::Success);
        }
        assert_eq!(
            classify_response(StatusCode::OK, &grpc("14")),
            Verdict::Unavailable
        );
        assert_eq!(
            classify_response(StatusCode::OK, &grpc("4")),
            Verdict::Failure
        );
        assert_eq!(
            classify_response(StatusCode::OK, &grpc("5")),
            Verdict::Success
        );
    }

    #[test]
    fn pushback_forbids_the_hop() {
        let mut headers = grpc("14");
        headers.insert("grpc-retry-pushback-ms", HeaderValue::from_static("20"));
        assert_eq!(
            classify_response(StatusCode::OK, &headers),
            Verdict::Unavailable
        );
        headers.insert("grpc-retry-pushback-ms", HeaderValue::from_static("-1"));
        assert_eq!(
            classify_response(StatusCode::OK, &headers),
            Verdict::Failure
        );
        headers.insert("grpc-retry-pushback-ms", HeaderValue::from_static("soon"));
        assert_eq!(
            classify_response(StatusCode::OK, &headers),
            Verdict::Failure
        );
    }
}
