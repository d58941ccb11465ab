//! What those who watch calls are told of one: observers of the balancer, and the trace.

mod span;
mod traced;

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use ringfence_balancer::{CallOutcome, CallRecord, Choice};
use ringfence_core::{Instance, InstanceId};
use tokio::time::Instant;

pub(crate) use self::traced::Traced;
use crate::error::Error;

/// One call, for those who watch it.
#[derive(Default)]
pub(crate) struct Watched {
    record: Option<CallRecord>,
    /// On the heap: few calls are traced, and all carry the room for this.
    traced: Option<Box<Traced>>,
}

impl Watched {
    #[inline]
    pub(crate) fn new(record: Option<CallRecord>, traced: Option<Box<Traced>>) -> Self {
        Self { record, traced }
    }

    /// Whether anybody watches.
    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        self.record.is_some() || self.traced.is_some()
    }

    /// When the call began, where that is known.
    #[inline]
    pub(crate) fn begun(&self) -> Option<Instant> {
        self.record.as_ref().map(CallRecord::begun)
    }

    /// The key comes from there. `key` is the key itself where traces may have it.
    pub(crate) fn key_source(&mut self, source: &dyn fmt::Display, key: Option<&[u8]>) {
        if let Some(record) = &mut self.record
            && record.wants_key_source()
        {
            record.key_source(source);
        }
        if let Some(traced) = &self.traced {
            traced.key(source, key);
        }
    }

    pub(crate) fn decided(&mut self, choice: Choice, rule: Option<&Arc<str>>) {
        if let Some(record) = &mut self.record {
            record.decided(choice, rule);
        }
        if let Some(traced) = &self.traced {
            traced.decided(choice, rule);
        }
    }

    /// An attempt begins at this instance, whose answer is to count.
    pub(crate) fn attempt(&mut self, instance: &Arc<Instance>) {
        if let Some(record) = &mut self.record {
            record.attempt();
        }
        if let Some(traced) = &mut self.traced {
            traced.attempt(Some(instance));
        }
    }

    /// The answer of this instance is to count, whose attempt began beside the other one.
    pub(crate) fn answers(&mut self, instance: &Arc<Instance>) {
        if let Some(traced) = &mut self.traced {
            traced.answers(instance);
        }
    }

    /// An attempt beside the one whose answer is to count begins.
    pub(crate) fn attempt_beside(&mut self) {
        if let Some(record) = &mut self.record {
            record.attempt();
        }
        if let Some(traced) = &mut self.traced {
            traced.attempt(None);
        }
    }

    /// What the answer begins with.
    pub(crate) fn answered(&self, status: StatusCode, headers: &HeaderMap) {
        if let Some(traced) = &self.traced {
            traced.answered(status, headers);
        }
    }

    /// What a gRPC answer ends with.
    pub(crate) fn trailers(&self, trailers: &HeaderMap) {
        if let Some(traced) = &self.traced {
            traced.trailers(trailers);
        }
    }

    pub(crate) fn failed(self, error: &Error) {
        if let Some(traced) = &self.traced {
            traced.failed(error);
        }
        let last = error.attempts().last().map(|attempt| attempt.instance());
        self.end(error.kind().outcome(), last);
    }

    /// The call is over, with the answer of this instance if of any.
    pub(crate) fn end(self, outcome: CallOutcome, instance: Option<&InstanceId>) {
        if let Some(record) = self.record {
            record.end(outcome, instance);
        }
        if let Some(mut traced) = self.traced {
            traced.over(outcome);
        }
    }

    /// The call is no business of the layer.
    pub(crate) fn leave(self) {
        if let Some(record) = self.record {
            record.leave();
        }
        if let Some(mut traced) = self.traced {
            traced.leave();
        }
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("record", &self.record)
            .field("traced", &self.traced.is_some())
            .finish()
    }
}
