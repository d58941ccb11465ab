//! What those who watch calls are told of one: observers of the balancer, and the trace.

mod span;

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use ringfence_balancer::{Balancer, CallOutcome, CallRecord, Decision};
use ringfence_core::Instance;
use tracing::Span;

use crate::error::Error;

/// One call, for those who watch. It lies on the heap and is made for those calls alone that somebody watches.
pub(crate) struct Watched {
    span: Span,
    record: Option<CallRecord>,
    attempts: u32,
    instance: Option<Arc<Instance>>,
    is_over: bool,
}

impl Watched {
    /// `None` if nobody watches.
    #[inline]
    pub(crate) fn begin<B>(balancer: &Balancer, request: &http::Request<B>) -> Option<Box<Self>> {
        let record = balancer.observe_call();
        let span = span::of(balancer, request.method(), request.uri(), request.headers());
        if record.is_none() && span.is_disabled() {
            return None;
        }
        Some(Box::new(Self {
            span,
            record,
            attempts: 0,
            instance: None,
            is_over: false,
        }))
    }

    /// The span of the call, which is disabled where nobody traces it.
    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// The key comes from there. `key` is the key itself where traces may have it.
    pub(crate) fn key_source(&mut self, source: &dyn fmt::Display, key: Option<&[u8]>) {
        if let Some(record) = self
            .record
            .as_mut()
            .filter(|record| record.wants_key_source())
        {
            record.key_source(source);
        }
        span::key(&self.span, source, key);
    }

    pub(crate) fn decided(&mut self, decision: &Decision, rule: Option<&Arc<str>>) {
        if let Some(record) = &mut self.record {
            record.decided(decision, rule);
        }
        span::decided(&self.span, decision, rule);
    }

    /// An attempt begins at this instance.
    pub(crate) fn attempt(&mut self, instance: &Arc<Instance>) {
        self.attempts = self.attempts.saturating_add(1);
        if let Some(record) = &mut self.record {
            record.attempt(instance);
        }
        if !self.span.is_disabled() {
            self.instance = Some(Arc::clone(instance));
        }
    }

    /// An attempt beside the one whose answer counts is over.
    pub(crate) fn attempt_beside(&mut self) {
        self.attempts = self.attempts.saturating_add(1);
        if let Some(record) = &mut self.record {
            record.attempt_beside();
        }
    }

    /// What the answer begins with.
    pub(crate) fn answered(&self, status: StatusCode, headers: &HeaderMap) {
        span::answered(&self.span, status, headers);
    }

    /// What a gRPC answer ends with.
    pub(crate) fn trailers(&self, trailers: &HeaderMap) {
        span::grpc_status(&self.span, trailers);
    }

    pub(crate) fn failed(mut self, error: &Error) {
        span::failed(&self.span, error);
        self.over(error.kind().outcome());
    }

    pub(crate) fn end(mut self, outcome: CallOutcome) {
        self.over(outcome);
    }

    /// The call is no business of the layer.
    pub(crate) fn leave(mut self) {
        self.is_over = true;
        if let Some(record) = self.record.take() {
            record.leave();
        }
    }

    fn over(&mut self, outcome: CallOutcome) {
        self.is_over = true;
        if let Some(record) = self.record.take() {
            record.end(outcome);
        }
        span::over(&self.span, outcome, self.attempts, self.instance.as_deref());
    }
}

impl Drop for Watched {
    /// A caller who went away.
    fn drop(&mut self) {
        if !self.is_over {
            self.over(CallOutcome::Cancelled);
        }
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}
