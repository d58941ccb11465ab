use std::{fmt, sync::Arc, time::SystemTime};

use ringfence_core::{InstanceId, KeyHash};
use tokio::time::Instant;

use super::{
    CallEnd, CallOutcome, DecisionSample, PoolLabel,
    calls::{Calls, Meter},
};
use crate::Choice;

/// A call under way, for those who [observe](crate::Balancer::observe_call) the balancer.
///
/// It tells them when it [ends](Self::end); dropped before, the call counts as [cancelled](CallOutcome::Cancelled). Keep it to the end
/// of the answer.
///
/// # Examples
/// See [`Observer`](super::Observer).
#[must_use = "the call counts as over when this is dropped"]
pub struct CallRecord {
    /// `None` once it is over.
    calls: Option<Arc<Calls>>,
    meter: Meter,
    begun: Instant,
    attempts: u32,
    sample: Option<Box<Sampled>>,
}

/// What is kept of a call that is looked at.
#[derive(Default)]
struct Sampled {
    epoch: u64,
    key_hash: Option<KeyHash>,
    key_source: Option<String>,
}

impl CallRecord {
    pub(crate) fn begin(calls: &Arc<Calls>) -> Self {
        let begun = Instant::now();
        let is_due = calls.samples.is_due(begun.into_std());
        Self {
            calls: Some(Arc::clone(calls)),
            meter: Meter::None,
            begun,
            attempts: 0,
            sample: is_due.then(Box::default),
        }
    }

    /// The call goes to this pool. `rule` is what the policy [counts](ringfence_policy::Evaluation::shared_label) it by, if one
    /// decided.
    pub fn decided(&mut self, choice: Choice, rule: Option<&Arc<str>>) {
        let Some(calls) = &self.calls else {
            return;
        };
        self.meter = calls.of(rule, choice.stage());
        if let Some(sample) = &mut self.sample {
            sample.epoch = choice.epoch();
            sample.key_hash = choice.key_hash();
        }
    }

    /// Whether [`key_source`](Self::key_source) is of use: a few calls alone are shown.
    #[must_use]
    pub fn wants_key_source(&self) -> bool {
        self.sample.is_some()
    }

    /// Where the key came from, such as `header x-user`. Never the key.
    pub fn key_source(&mut self, source: impl fmt::Display) {
        if let Some(sample) = &mut self.sample {
            sample.key_source = Some(source.to_string());
        }
    }

    /// An attempt begins.
    pub fn attempt(&mut self) {
        self.attempts = self.attempts.saturating_add(1);
    }

    /// Nobody hears of the call: it was none of the balancer's.
    pub fn leave(mut self) {
        self.calls = None;
    }

    /// Attempts that were begun so far.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// When the call began.
    #[must_use]
    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// The call is over; `instance` is that of its last attempt.
    pub fn end(mut self, outcome: CallOutcome, instance: Option<&InstanceId>) {
        self.over(outcome, instance);
    }

    fn label(&self) -> Option<&PoolLabel> {
        let calls = self.calls.as_ref()?;
        Some(&self.meter.of(calls).label)
    }

    fn over(&mut self, outcome: CallOutcome, instance: Option<&InstanceId>) {
        let Some(calls) = self.calls.take() else {
            return;
        };
        let took = self.begun.elapsed();
        let meter = self.meter.of(&calls);
        meter.ended(&CallEnd {
            outcome,
            took,
            attempts: self.attempts,
            instance,
        });
        if let Some(sample) = self.sample.take() {
            calls.samples.push(DecisionSample {
                at: SystemTime::now(),
                epoch: sample.epoch,
                pool: meter.label.clone(),
                key_hash: sample.key_hash,
                key_source: sample.key_source,
                instance: instance.cloned(),
                attempts: self.attempts,
                outcome,
                took,
            });
        }
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        self.over(CallOutcome::Cancelled, None);
    }
}

impl fmt::Debug for CallRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallRecord")
            .field("pool", &self.label())
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}
