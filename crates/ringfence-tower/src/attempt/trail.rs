//! What happened so far in a call.

mod log;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use http::HeaderMap;
use ringfence_balancer::{
    Candidate, Choice, Decision, FailureKind, InFlight, Outcome, Permit, PickError,
};
use ringfence_core::PoolSpec;
use tokio::time::Instant;

use crate::body::Tracker;
use crate::classify::{Classifier, Verdict};
use crate::error::{BoxError, Causes, Error, ErrorKind, FailedAttempt};
use crate::settings::Settings;
use crate::transport::Rejection;
use crate::watch::Watched;

/// The attempts of a call, the running one included. It outlives the future of the attempts, so
/// that the end of the time can be put down to the instance that was being waited for.
#[derive(Default)]
pub(super) struct Trail {
    /// The call, for those who watch it.
    watched: Watched,
    /// Name of the policy's rule, where it decided.
    rule: Option<Arc<str>>,
    /// What the call is counted by, where a policy decided and somebody watches.
    label: Option<Arc<str>>,
    /// The call's place among those in flight.
    permit: Option<Permit>,
    past: Option<Box<Past>>,
    running: Option<InFlight>,
    sent: bool,
    /// Instances that may have got the request in former attempts.
    seen: u32,
    /// Answers of former attempts that said no.
    refusals: u32,
    /// Whether the key is known to be the only extension of the request.
    pub(super) key_is_all: bool,
}

/// What is known once an attempt has failed. On the heap: few calls come to that, and all carry the room for this.
#[derive(Default)]
struct Past {
    failed: Vec<FailedAttempt>,
    /// What the candidates have in common.
    pool: Option<Arc<PoolSpec>>,
}

impl Trail {
    fn past(&mut self) -> &mut Past {
        self.past.get_or_insert_default()
    }

    fn failed(&self) -> &[FailedAttempt] {
        self.past.as_ref().map_or(&[], |past| &past.failed)
    }

    /// Takes over what an attempt beside the running one came to.
    fn failed_too(&mut self, past: Option<Box<Past>>) {
        if let Some(past) = past {
            self.past().failed.extend(past.failed);
        }
    }

    pub(super) fn of(watched: Watched) -> Self {
        Self {
            watched,
            ..Self::default()
        }
    }

    pub(super) fn note_label(&mut self, label: &Arc<str>) {
        self.label = self.watched.is_any().then(|| Arc::clone(label));
    }

    /// Whether anybody watches the call.
    pub(super) fn is_watched(&self) -> bool {
        self.watched.is_any()
    }

    /// What is told to those who watch the call.
    pub(super) fn watched(&mut self) -> Option<&mut Watched> {
        self.watched.is_any().then_some(&mut self.watched)
    }

    /// When the attempt began, if nothing `delayed` it since the call did and that is known.
    pub(super) fn begun(&self, delayed: bool) -> Option<Instant> {
        self.watched.begun().filter(|_| !delayed)
    }

    /// Takes it, for what comes after the attempts.
    pub(super) fn take_watched(&mut self) -> Watched {
        std::mem::take(&mut self.watched)
    }

    /// Where the name of the rule goes.
    pub(super) fn rule(&mut self) -> &mut Option<Arc<str>> {
        &mut self.rule
    }

    /// The error of a call that got no candidates.
    pub(super) fn not_picked(&mut self, settings: &Settings, error: PickError) -> Error {
        Error::from_pick(error, &settings.service).with_rule(self.rule.take())
    }

    /// Errors are to name the pool.
    pub(super) fn set_pool(&mut self, decision: &Decision) {
        self.past().pool = Some(Arc::clone(decision.pool()));
    }

    pub(super) fn decided(&mut self, choice: Choice) {
        self.watched.decided(choice, self.label.as_ref());
    }

    pub(super) fn admitted(&mut self, permit: Permit) {
        self.permit = Some(permit);
    }

    #[inline]
    pub(super) fn begin(&mut self, attempt: InFlight) {
        if self.watched.is_any() {
            self.watched.attempt(attempt.instance());
        }
        self.running = Some(attempt);
        self.seen += u32::from(self.sent);
        self.sent = false;
    }

    /// Who is asked now.
    pub(super) fn candidate(&self) -> Option<&Candidate> {
        self.running.as_ref().map(InFlight::candidate)
    }

    /// The error of a call that has lost what it cannot be without.
    pub(super) fn gone(&mut self, settings: &Settings) -> Error {
        let cause = BoxError::from("the request is gone");
        self.fail(settings, ErrorKind::Transport, Some(cause))
    }

    /// The error of a call whose last candidate is full.
    pub(super) fn full(&mut self, settings: &Settings) -> Error {
        if !self.failed().is_empty() {
            return self.fail(settings, ErrorKind::AttemptsExhausted, None);
        }
        let overloaded = settings.balancer.overloaded();
        self.not_picked(settings, overloaded)
    }

    /// A trail for an attempt beside the running one.
    pub(super) fn beside(&self) -> Self {
        Self {
            seen: self.seen + u32::from(self.sent),
            refusals: self.refusals,
            ..Self::default()
        }
    }

    /// The attempt beside the running one goes on in its place. If that one is not over, it is given up, which says nothing
    /// about its instance.
    pub(super) fn overtaken_by(&mut self, other: Option<Self>) {
        let Some(other) = other else {
            return;
        };
        if let Some(running) = &other.running {
            self.watched.answers(running.instance());
        }
        self.running = other.running;
        self.failed_too(other.past);
        (self.sent, self.seen) = (other.sent, other.seen);
        self.refusals = self.refusals.max(other.refusals);
    }

    /// An attempt beside the running one begins.
    pub(super) fn attempt_beside(&mut self) {
        self.watched.attempt_beside();
    }

    /// The deadline passed while the attempt beside the running one had no answer either.
    pub(super) fn late_beside(&mut self, mut other: Self) {
        other.out_of_time();
        self.joined_by(other);
    }

    /// The attempt beside the running one is over.
    pub(super) fn joined_by(&mut self, other: Self) {
        self.failed_too(other.past);
        self.seen += u32::from(other.sent);
        self.refusals = self.refusals.max(other.refusals);
    }

    /// The inner client has the request now.
    pub(super) fn sent(&mut self) {
        self.sent = true;
    }

    /// The inner client has it, but it is known that it never left.
    pub(super) fn not_sent(&mut self) {
        self.sent = false;
    }

    /// How many instances may have got the request before the running attempt.
    pub(super) fn seen(&self) -> u32 {
        self.seen
    }

    /// The answer of the running attempt says no: how many did, with this one.
    pub(super) fn refused(&mut self) -> u32 {
        self.refusals += 1;
        self.refusals
    }

    /// The running attempt is over.
    pub(super) fn ended(&mut self, outcome: Outcome, reason: impl fmt::Display) {
        if let Some(mut running) = self.running.take() {
            running.report(outcome);
            self.past()
                .failed
                .push(FailedAttempt::new(running.instance(), reason));
        }
    }

    pub(super) fn ended_with(&mut self, outcome: Outcome, error: &(dyn StdError + 'static)) {
        self.ended(outcome, Causes(error));
    }

    /// The deadline passed during the running attempt.
    fn out_of_time(&mut self) {
        // One that waits for a local limit has not asked the instance yet.
        let outcome = if self.sent {
            Outcome::Failure(FailureKind::Timeout)
        } else {
            Outcome::Neutral
        };
        self.ended(outcome, "no response before the deadline");
    }

    /// The error of a call whose deadline passed.
    pub(super) fn late(&mut self, settings: &Settings) -> Error {
        self.out_of_time();
        self.fail(settings, ErrorKind::DeadlineExceeded, None)
    }

    /// The running attempt is over with this head, which no body follows on.
    pub(super) fn answered(&mut self, headers: &HeaderMap, verdict: Verdict) {
        let (attempt, call) = Tracker::outcomes_of_head(headers, verdict);
        if let Some(mut running) = self.running.take() {
            if self.is_watched() {
                let id = running.instance().id();
                self.take_watched().end(call, Some(id));
            }
            running.report(attempt);
        }
        self.permit = None;
    }

    /// The running attempt goes on in the response body.
    pub(super) fn accepted(
        &mut self,
        classifier: &Classifier,
        headers: &HeaderMap,
        verdict: Verdict,
    ) -> Tracker {
        let running = self.running.take();
        Tracker::new(running, classifier.clone(), headers, verdict)
            .with_permit(self.permit.take())
            .watched(self.take_watched())
    }

    /// The error that the call ends with.
    pub(super) fn fail(
        &mut self,
        settings: &Settings,
        kind: ErrorKind,
        source: Option<BoxError>,
    ) -> Error {
        let mut error = Error::new(kind, &settings.service).with_rule(self.rule.take());
        let past = self.past.take().unwrap_or_default();
        if let Some(pool) = &past.pool {
            error = error.with_pool(pool);
        }
        if let Some(source) = source {
            error = error.with_source(source);
        }
        error.with_attempts(past.failed)
    }

    /// The call ends with this error.
    pub(super) fn told_of(&mut self, error: Error) -> Error {
        self.take_watched().failed(&error);
        error
    }

    /// The transport refused the request; the instance was not asked.
    pub(super) fn rejected(&mut self, settings: &Settings, rejection: Rejection) -> Error {
        let (kind, cause) = match rejection {
            Rejection::BadRequest(cause) => (ErrorKind::BadRequest, cause),
            Rejection::Config(cause) => (ErrorKind::Config, cause),
        };
        self.ended_with(Outcome::Neutral, &*cause);
        self.fail(settings, kind, Some(cause))
    }
}
