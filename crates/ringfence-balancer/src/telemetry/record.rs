use std::{fmt, sync::Arc, time::SystemTime};

use ringfence_core::{InstanceId, KeyHash};
use tokio::time::Instant;

use super::{
    CallEnd, CallOutcome, DecisionSample, PoolLabel,
    calls::{Calls, Meter},
};
use crate::{
    Choice,
    striped::{Striped, StripedArc},
};

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
    calls: Option<Arc<Striped<Calls>>>,
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

impl Sampled {
    #[cold]
    fn decided(&mut self, choice: Choice) {
        self.epoch = choice.epoch();
        self.key_hash = choice.key_hash();
    }

    #[cold]
    fn ended(self, calls: &Calls, pool: &PoolLabel, call: &CallEnd<'_>) {
        calls.samples.push(DecisionSample {
            at: SystemTime::now(),
            epoch: self.epoch,
            pool: pool.clone(),
            key_hash: self.key_hash,
            key_source: self.key_source,
            instance: call.instance.cloned(),
            attempts: call.attempts,
            outcome: call.outcome,
            took: call.took,
        });
    }
}

impl CallRecord {
    pub(crate) fn begin(calls: &StripedArc<Calls>) -> Self {
        let begun = Instant::now();
        let is_due = calls.samples.is_due(begun.into_std());
        Self {
            calls: Some(calls.of_this_thread()),
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
            sample.decided(choice);
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
    #[inline]
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
    // Calls that nobody watches shall not carry what it does.
    #[inline(never)]
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
        let call = CallEnd {
            outcome,
            took: self.begun.elapsed(),
            attempts: self.attempts,
            instance,
        };
        let meter = self.meter.of(&calls);
        meter.ended(&call);
        if let Some(sample) = self.sample.take() {
            sample.ended(&calls, &meter.label, &call);
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
