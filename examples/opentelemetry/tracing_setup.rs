//! From the spans of `tracing` to an exporter of OpenTelemetry.

use opentelemetry::{global, trace::TracerProvider as _};
use opentelemetry_sdk::{
    propagation::TraceContextPropagator,
    trace::{InMemorySpanExporter, SdkTracerProvider, SpanData},
};
use ringfence_examples::BoxError;
use tracing_subscriber::{Layer as _, filter::LevelFilter, layer::SubscriberExt as _};

/// Spans that were exported.
pub(crate) struct Spans {
    exporter: InMemorySpanExporter,
    provider: SdkTracerProvider,
}

impl Spans {
    pub(crate) fn install() -> Result<Self, BoxError> {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder()
            .with_simple_exporter(exporter.clone())
            .build();
        global::set_text_map_propagator(TraceContextPropagator::new());
        let spans = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("shop"))
            .with_filter(LevelFilter::INFO);
        tracing::subscriber::set_global_default(tracing_subscriber::registry().with(spans))?;
        Ok(Self { exporter, provider })
    }

    /// All of them, in the order in which they began.
    pub(crate) fn finished(&self) -> Result<Vec<SpanData>, BoxError> {
        self.provider.force_flush()?;
        let mut spans = self.exporter.get_finished_spans()?;
        spans.sort_by_key(|span| span.start_time);
        Ok(spans)
    }
}

/// An attribute as text.
pub(crate) fn attribute(span: &SpanData, name: &str) -> Option<String> {
    let mut attributes = span.attributes.iter();
    let found = attributes.find(|attribute| attribute.key.as_str() == name)?;
    Some(found.value.to_string())
}

/// One line.
pub(crate) fn describe(span: &SpanData) -> String {
    let told = [
        "ringfence.instance",
        "ringfence.hop",
        "ringfence.pool",
        "server",
        "user",
    ];
    let told: Vec<_> = told
        .iter()
        .filter_map(|name| Some(format!("{name}={}", attribute(span, name)?)))
        .collect();
    format!(
        "trace {} span {} of {}: {} {}",
        span.span_context.trace_id(),
        span.span_context.span_id(),
        span.parent_span_id,
        span.name,
        told.join(" ")
    )
}
