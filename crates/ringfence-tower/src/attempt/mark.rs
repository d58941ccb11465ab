//! Tells servers that a request may have been seen before.

use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderName, HeaderValue};

use crate::classify::is_grpc;

/// gRPC A6: how many attempts there were before.
const GRPC: HeaderName = HeaderName::from_static("grpc-previous-rpc-attempts");
const OTHERS: HeaderName = HeaderName::from_static("ringfence-previous-attempts");

/// Says how many instances got the request before, with those of a caller who is a proxy and has counted some. A first attempt stays
/// as the caller made it.
#[inline]
pub(super) fn mark(head: &mut Parts, before: u32) {
    if before > 0 {
        count(head, before);
    }
}

#[cold]
fn count(head: &mut Parts, before: u32) {
    let is_grpc = head.headers.contains_key(CONTENT_TYPE) && is_grpc(&head.headers);
    let name = if is_grpc { GRPC } else { OTHERS };
    let told = head.headers.get(&name);
    let told = told.and_then(|value| value.to_str().ok()?.parse().ok());
    let before = before.saturating_add(told.unwrap_or(0));
    head.headers.insert(name, HeaderValue::from(before));
}
