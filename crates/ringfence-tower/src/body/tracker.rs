//! What an attempt and its call come to, as the response passes.

use http::HeaderMap;
use ringfence_balancer::{CallOutcome, FailureKind, InFlight, Outcome, Permit};
use ringfence_core::Instance;

use crate::classify::{Classifier, GRPC_STATUS, Verdict, field, lacks_status};
use crate::watch::Watched;

/// gRPC: a stream that ends without a status was cut off.
const CUT_OFF: FailureKind = FailureKind::Reset;

/// The outcome of one attempt in the making.
#[derive(Debug)]
pub(crate) struct Tracker {
    in_flight: Option<InFlight>,
    classifier: Classifier,
    /// A gRPC response without a status so far: it has to come in the trailers.
    pub(super) status_due: bool,
    /// Some of the body has come.
    pub(super) has_data: bool,
    verdict: Verdict,
    /// The call's place among those in flight.
    _permit: Option<Permit>,
    /// The call, for those who watch it.
    watched: Watched,
}

impl Tracker {
    /// `verdict` is what the head says.
    #[inline]
    pub(crate) fn new(
        mut in_flight: Option<InFlight>,
        classifier: Classifier,
        headers: &HeaderMap,
        verdict: Verdict,
    ) -> Self {
        // A failure in the head is one whatever becomes of the body; a caller may well drop it.
        if let (Outcome::Failure(kind), Some(in_flight)) = (outcome(verdict), &mut in_flight) {
            in_flight.report(Outcome::Failure(kind));
        }
        Self {
            in_flight,
            classifier,
            status_due: lacks_status(headers),
            has_data: false,
            verdict,
            _permit: None,
            watched: Watched::default(),
        }
    }

    /// What a response that is over with its head means for the attempt and for the call.
    pub(crate) fn outcomes_of_head(
        headers: &HeaderMap,
        verdict: Verdict,
    ) -> (Outcome, CallOutcome) {
        let attempt = outcome(verdict);
        if !matches!(attempt, Outcome::Failure(_)) && lacks_status(headers) {
            return (Outcome::Failure(CUT_OFF), CallOutcome::Broken);
        }
        (attempt, call_outcome(verdict))
    }

    /// Keeps the place of the call as long as the response lasts.
    #[inline]
    #[must_use]
    pub(crate) fn with_permit(mut self, permit: Option<Permit>) -> Self {
        self._permit = permit;
        self
    }

    /// Tells of the call when the response is over.
    #[inline]
    #[must_use]
    pub(crate) fn watched(mut self, watched: Watched) -> Self {
        self.watched = watched;
        self
    }

    pub(super) fn trailers(&mut self, trailers: &HeaderMap) {
        let status = field(trailers, &GRPC_STATUS);
        self.status_due &= status.is_none();
        self.watched.trailers(trailers);
        if self.verdict == Verdict::Success {
            self.verdict = self.classifier.trailers_with(trailers, status);
        }
    }

    pub(super) fn instance(&self) -> Option<&Instance> {
        self.in_flight
            .as_ref()
            .map(|in_flight| &**in_flight.instance())
    }

    pub(super) fn ended(&mut self) {
        if self.status_due {
            return self.broken(CUT_OFF, CallOutcome::Broken);
        }
        self.finish(outcome(self.verdict), call_outcome(self.verdict));
    }

    /// The response ends before its end.
    pub(super) fn broken(&mut self, kind: FailureKind, call: CallOutcome) {
        self.finish(Outcome::Failure(kind), call);
    }

    fn finish(&mut self, attempt: Outcome, call: CallOutcome) {
        self.tell(call);
        self.report(attempt);
    }

    fn tell(&mut self, call: CallOutcome) {
        if self.watched.is_any() {
            let watched = std::mem::take(&mut self.watched);
            watched.end(call, self.instance().map(Instance::id));
        }
    }

    fn report(&mut self, outcome: Outcome) {
        if let Some(mut in_flight) = self.in_flight.take() {
            in_flight.report(outcome);
        }
    }
}

impl Drop for Tracker {
    /// A caller who has seen enough: were it not a success, an instance whose callers never read
    /// to the end would only ever fail.
    fn drop(&mut self) {
        // Once it is over there is nothing to be told.
        if self.in_flight.is_none() && !self.watched.is_any() {
            return;
        }
        if self.has_data || !self.status_due {
            self.finish(outcome(self.verdict), call_outcome(self.verdict));
        }
        self.tell(CallOutcome::Cancelled);
    }
}

fn outcome(verdict: Verdict) -> Outcome {
    match verdict {
        Verdict::Success => Outcome::Success,
        Verdict::Unavailable | Verdict::Failure => Outcome::Failure(FailureKind::Status),
        Verdict::Neutral => Outcome::Neutral,
    }
}

fn call_outcome(verdict: Verdict) -> CallOutcome {
    match verdict {
        Verdict::Success | Verdict::Neutral => CallOutcome::Success,
        Verdict::Unavailable | Verdict::Failure => CallOutcome::FailedResponse,
    }
}
