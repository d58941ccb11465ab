//! Answers, with the headers that all of them have.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use http_body_util::Full;
use serde::Serialize;

/// Version of the form of all documents.
pub(crate) const VERSION: u32 = 1;

/// What answers are made of.
pub(crate) type Answer = Response<Full<Bytes>>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
/// The text format of Prometheus.
const EXPOSITION: HeaderValue =
    HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
/// Of all that is not the page: nothing of it may be run or shown as a document.
const NOTHING: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// A document with its version and its service.
#[derive(Serialize)]
struct Versioned<'a, T> {
    ringfence: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<&'a str>,
    #[serde(flatten)]
    body: T,
}

#[derive(Serialize)]
struct Problem<'a> {
    error: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

pub(crate) fn json(status: StatusCode, service: Option<&str>, body: impl Serialize) -> Answer {
    match written(service, body) {
        Ok(text) => answer(status, JSON, text),
        Err(error) => unwritten(&error),
    }
}

/// A document that has a form of its own.
pub(crate) fn json_text(text: String) -> Answer {
    answer(StatusCode::OK, JSON, text)
}

/// With a tag of the text, or 304 without a body where who asks has the text already.
pub(crate) fn tagged_json(asked: &HeaderMap, service: &str, body: impl Serialize) -> Answer {
    let text = match written(Some(service), body) {
        Ok(text) => text,
        Err(error) => return unwritten(&error),
    };
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let tag = format!("\"{:016x}\"", hasher.finish());
    let known = asked.get_all(header::IF_NONE_MATCH).iter();
    let is_known = known
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|known| known.trim().trim_start_matches("W/") == tag);
    let mut answer = answer(StatusCode::OK, JSON, text);
    if is_known {
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
        *answer.body_mut() = Full::new(Bytes::new());
        answer.headers_mut().remove(header::CONTENT_LENGTH);
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        answer.headers_mut().insert(header::ETAG, tag);
    }
    answer
}

fn written(service: Option<&str>, body: impl Serialize) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Versioned {
        ringfence: VERSION,
        service,
        body,
    })
}

/// Keys are texts and values are our own, so this does not happen; if it does, it must not take the server with it.
fn unwritten(error: &serde_json::Error) -> Answer {
    tracing::warn!(%error, "a document could not be written");
    let said = "the document could not be written\n";
    text(StatusCode::INTERNAL_SERVER_ERROR, said)
}

/// What went wrong, and what to do about it.
pub(crate) fn problem(status: StatusCode, error: &str, hint: Option<&str>) -> Answer {
    json(status, None, Problem { error, hint })
}

pub(crate) fn text(status: StatusCode, text: impl Into<Bytes>) -> Answer {
    answer(status, TEXT, text)
}

pub(crate) fn exposition(text: impl Into<Bytes>) -> Answer {
    answer(StatusCode::OK, EXPOSITION, text)
}

pub(crate) fn answer(
    status: StatusCode,
    content_type: HeaderValue,
    body: impl Into<Bytes>,
) -> Answer {
    let body: Bytes = body.into();
    let length = HeaderValue::from(body.len());
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(header::CONTENT_LENGTH, length);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_SECURITY_POLICY, NOTHING);
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    answer
}

/// What this method gets of an answer: nothing but the head for `HEAD`.
pub(crate) fn for_method(method: &Method, mut answer: Answer) -> Answer {
    if method == Method::HEAD {
        // The length stays that of what `GET` gets.
        *answer.body_mut() = Full::new(Bytes::new());
    }
    answer
}
