use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, Request, StatusCode};
use ringfence_balancer::{Balancer, CallOutcome, Choice};
use ringfence_core::Instance;
use tracing::Span;

use super::span;
use crate::error::Error;

/// A call that a subscriber wants the span of.
pub(crate) struct Traced {
    span: Span,
    attempts: u32,
    instance: Option<Arc<Instance>>,
    is_over: bool,
}

impl Traced {
    /// `None` if nobody traces calls.
    #[inline]
    pub(crate) fn begin<B>(balancer: &Balancer, request: &Request<B>) -> Option<Box<Self>> {
        let span = span::of(balancer, request.method(), request.uri(), request.headers());
        if span.is_disabled() {
            return None;
        }
        Some(Box::new(Self {
            span,
            attempts: 0,
            instance: None,
            is_over: false,
        }))
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    pub(super) fn key(&self, source: &dyn fmt::Display, key: Option<&[u8]>) {
        span::key(&self.span, source, key);
    }

    pub(super) fn decided(&self, choice: Choice, rule: Option<&Arc<str>>) {
        span::decided(&self.span, choice, rule);
    }

    /// Another attempt; the instance is that of the one whose answer is to count.
    pub(super) fn attempt(&mut self, instance: Option<&Arc<Instance>>) {
        self.attempts = self.attempts.saturating_add(1);
        if let Some(instance) = instance {
            self.answers(instance);
        }
    }

    pub(super) fn answers(&mut self, instance: &Arc<Instance>) {
        self.instance = Some(Arc::clone(instance));
    }

    pub(super) fn answered(&self, status: StatusCode, headers: &HeaderMap) {
        span::answered(&self.span, status, headers);
    }

    pub(super) fn trailers(&self, trailers: &HeaderMap) {
        span::grpc_status(&self.span, trailers);
    }

    pub(super) fn failed(&self, error: &Error) {
        span::failed(&self.span, error);
    }

    pub(super) fn over(&mut self, outcome: CallOutcome) {
        self.is_over = true;
        span::over(&self.span, outcome, self.attempts, self.instance.as_deref());
    }

    /// Nothing more is said of it.
    pub(super) fn leave(&mut self) {
        span::untouched(&self.span);
        self.is_over = true;
    }
}

impl Drop for Traced {
    /// A caller who went away.
    fn drop(&mut self) {
        if !self.is_over {
            self.over(CallOutcome::Cancelled);
        }
    }
}
