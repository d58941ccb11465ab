//! Tells servers that a request may have been seen before.

use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderName, HeaderValue};

use crate::classify::is_grpc;

/// gRPC A6: how many attempts there were before.
const GRPC: HeaderName = HeaderName::from_static("grpc-previous-rpc-attempts");
const OTHERS: HeaderName = HeaderName::from_static("ringfence-previous-attempts");

/// Says how many instances got the request before. A first attempt stays as the caller made it.
pub(super) fn mark(head: &mut Parts, before: u32) {
    if before == 0 {
        return;
    }
    let is_grpc = head.headers.contains_key(CONTENT_TYPE) && is_grpc(&head.headers);
    let name = if is_grpc { GRPC } else { OTHERS };
    head.headers.insert(name, HeaderValue::from(before));
}
