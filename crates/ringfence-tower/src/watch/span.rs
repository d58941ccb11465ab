//! The span of a call. Its names are those of OpenTelemetry's semantic conventions where these have one; for gRPC those from before
//! 2025, since a span cannot have either by a switch without paying for both.

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, Method, StatusCode, Uri};
use ringfence_balancer::{Balancer, CallOutcome, Choice, PoolLabel};
use ringfence_core::Instance;
use tracing::field::{Empty, display};
use tracing::{Level, Span, span};

use crate::classify::{GRPC_STATUS, field, is_grpc};
use crate::error::Error;

/// The target by which subscribers choose the spans of calls.
const TARGET: &str = "ringfence::call";

#[inline]
pub(super) fn of(balancer: &Balancer, method: &Method, uri: &Uri, headers: &HeaderMap) -> Span {
    let span = span!(
        target: TARGET,
        Level::INFO,
        "ringfence.call",
        "otel.kind" = "client",
        "otel.name" = Empty,
        "otel.status_code" = Empty,
        "otel.status_description" = Empty,
        "error.type" = Empty,
        "rpc.system" = Empty,
        "rpc.service" = Empty,
        "rpc.method" = Empty,
        "rpc.grpc.status_code" = Empty,
        "http.request.method" = Empty,
        "http.response.status_code" = Empty,
        "server.address" = Empty,
        "server.port" = Empty,
        "ringfence.service" = Empty,
        "ringfence.pool" = Empty,
        "ringfence.instance" = Empty,
        "ringfence.hop" = Empty,
        "ringfence.epoch" = Empty,
        "ringfence.key_source" = Empty,
        "ringfence.key" = Empty,
        "ringfence.outcome" = Empty,
    );
    if !span.is_disabled() {
        begin(&span, balancer, method, uri, headers);
    }
    span
}

#[cold]
fn begin(span: &Span, balancer: &Balancer, method: &Method, uri: &Uri, headers: &HeaderMap) {
    span.record("ringfence.service", display(balancer.service()));
    let path = uri.path().trim_start_matches('/');
    // Paths of other calls have what clients send in them, so they are no names.
    if let (true, Some((service, name))) = (is_grpc(headers), path.rsplit_once('/')) {
        span.record("otel.name", path);
        span.record("rpc.system", "grpc");
        span.record("rpc.service", service);
        span.record("rpc.method", name);
    } else {
        span.record("otel.name", method.as_str());
        span.record("http.request.method", method.as_str());
    }
}

pub(super) fn key(span: &Span, source: &dyn fmt::Display, key: Option<&[u8]>) {
    span.record("ringfence.key_source", display(source));
    if let Some(key) = key {
        span.record("ringfence.key", &*String::from_utf8_lossy(key));
    }
}

pub(super) fn decided(span: &Span, choice: Choice, rule: Option<&Arc<str>>) {
    let rule = rule.map_or(PoolLabel::DEFAULT_RULE, |rule| rule);
    span.record(
        "ringfence.pool",
        display(format_args!("{rule}/{}", choice.stage())),
    );
    span.record("ringfence.epoch", choice.epoch());
}

pub(super) fn answered(span: &Span, status: StatusCode, headers: &HeaderMap) {
    if is_grpc(headers) {
        grpc_status(span, headers);
    } else {
        span.record("http.response.status_code", status.as_u16());
    }
}

pub(super) fn grpc_status(span: &Span, headers: &HeaderMap) {
    let status = field(headers, &GRPC_STATUS).and_then(|status| status.to_str().ok());
    if let Some(status) = status.and_then(|status| status.parse::<u32>().ok()) {
        span.record("rpc.grpc.status_code", status);
    }
}

pub(super) fn failed(span: &Span, error: &Error) {
    // Not the error as it is shown: that names the conditions of pools, with tags of requests in them.
    let what = error.kind().outcome();
    let attempts = error.attempts().iter();
    let told = attempts.fold(what.to_string(), |told, attempt| {
        format!("{told}; {attempt}")
    });
    span.record("otel.status_description", told.as_str());
}

/// The call is no business of the layer.
pub(super) fn untouched(span: &Span) {
    span.record("ringfence.outcome", "untouched");
}

pub(super) fn over(span: &Span, outcome: CallOutcome, attempts: u32, instance: Option<&Instance>) {
    span.record("ringfence.outcome", outcome.as_str());
    span.record("ringfence.hop", attempts.saturating_sub(1));
    if let Some(instance) = instance {
        span.record("ringfence.instance", instance.id().as_str());
        span.record("server.address", instance.address().host());
        span.record("server.port", instance.address().port());
    }
    if !outcome.is_success() && outcome != CallOutcome::Cancelled {
        span.record("otel.status_code", "ERROR");
        span.record("error.type", outcome.as_str());
    }
}
