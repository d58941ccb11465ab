//! The context of a trace in headers, as the W3C has it: `traceparent` and `tracestate`.

use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::{
    Context, global,
    propagation::{Extractor, Injector},
};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// What [`RingfenceLayer::with_propagator`](ringfence::RingfenceLayer::with_propagator) is given. It is called within the span of
/// the call.
pub(crate) fn inject(headers: &mut HeaderMap) {
    let context = Span::current().context();
    global::get_text_map_propagator(|propagator| {
        propagator.inject_context(&context, &mut Writer(headers));
    });
}

/// The context that a client sent.
pub(crate) fn extract(headers: &HeaderMap) -> Context {
    global::get_text_map_propagator(|propagator| propagator.extract(&Reader(headers)))
}

struct Writer<'a>(&'a mut HeaderMap);

impl Injector for Writer<'_> {
    fn set(&mut self, key: &str, value: String) {
        // A propagator's own names and values are legal ones.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(key), HeaderValue::try_from(value)) {
            self.0.insert(name, value);
        }
    }
}

struct Reader<'a>(&'a HeaderMap);

impl Extractor for Reader<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(HeaderName::as_str).collect()
    }
}
