//! What becomes of a call after an attempt.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use http::Response;
use http_body::Body as _;
use ringfence_balancer::{FailureKind, Outcome};
use tokio::time::Instant;

use super::choose::Chosen;
use super::failed::{Cost, Failed, status_text};
use super::in_hand::InHand;
use super::trail::Trail;
use super::{Answer, Call, Ended};
use crate::body::{Limit, RequestBody, ResponseBody};
use crate::classify::Verdict;
use crate::error::{Error, ErrorKind};
use crate::retry::RetryPolicy;
use crate::transport::Transport;

/// How a call ends, or the pause before its next attempt, for which the request is in hand.
type Settled<R> = ControlFlow<Result<Answer<R>, Error>, Duration>;

impl<S> Call<S> {
    /// What an answer means; `None` where another instance may do better.
    pub(super) fn final_verdict<R>(&self, response: &Response<R>) -> Option<Verdict> {
        let verdict = self.judge(response);
        (verdict != Verdict::Unavailable || !self.idempotent).then_some(verdict)
    }

    /// What becomes of a call after an attempt without a final answer.
    #[cold]
    pub(super) fn settle<B>(
        &mut self,
        ended: Ended<S::ResponseBody>,
        chosen: &mut Chosen,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Settled<S::ResponseBody>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let left = self.left(chosen, trail);
        let settled = match ended {
            Ok(refusal) => self.refused(refusal, left, in_hand, trail),
            Err(failed) => match self.failed(failed, left, in_hand, trail) {
                Ok(()) => ControlFlow::Continue(Duration::ZERO),
                Err(error) => ControlFlow::Break(Err(error)),
            },
        };
        if settled.is_continue() {
            self.is_delayed = true;
            trail.log_hop(&self.settings);
        }
        settled
    }

    /// How many may still be tried. Who is behind an owner is looked for now.
    fn left(&self, chosen: &mut Chosen, trail: &mut Trail) -> usize {
        if let Chosen::Behind(behind) = *chosen {
            let owner = trail.candidate();
            let decision = owner.and_then(|owner| self.settings.balancer.behind(behind, owner));
            *chosen = decision.map_or(Chosen::Nobody, Chosen::Decision);
        }
        let Chosen::Decision(decision) = chosen else {
            return 0;
        };
        trail.set_pool(decision);
        let all = decision.candidates_and_last_resorts().len();
        all.saturating_sub(self.tried)
    }

    /// The answer says that another instance may do better.
    fn refused<B>(
        &self,
        response: Response<S::ResponseBody>,
        left: usize,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Settled<S::ResponseBody>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let pause = self.pause_after(&response, trail);
        let allowed = pause.is_some();
        if self.hop(allowed, Cost::Budget, left, in_hand).is_err() {
            let answer = self.accept::<B>(response, Verdict::Unavailable, trail);
            return ControlFlow::Break(Ok(answer));
        }
        trail.ended(
            Outcome::Failure(FailureKind::Status),
            status_text(&response),
        );
        ControlFlow::Continue(pause.unwrap_or_default())
    }

    /// Without an answer: the error of the call, unless it goes on.
    fn failed<B: RequestBody>(
        &self,
        failed: Failed,
        left: usize,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Result<(), Error> {
        match failed {
            Failed::Attempt {
                failure,
                outcome,
                cost,
                error,
            } => {
                if RetryPolicy::is_surely_unprocessed(failure) {
                    trail.not_sent();
                }
                trail.ended_with(outcome, &*error);
                let allowed = self.settings.retry.allows(failure, self.idempotent);
                self.hop(allowed, cost, left, in_hand)
                    .map_err(|kind| trail.fail(&self.settings, kind, Some(error)))
            }
            Failed::Rejected(rejection) => Err(trail.rejected(&self.settings, rejection)),
            Failed::Late => Err(trail.late(&self.settings)),
        }
    }

    /// The pause before the next attempt, or `None` if the answer is the caller's.
    fn pause_after<R>(&self, response: &Response<R>, trail: &mut Trail) -> Option<Duration> {
        let refusals = trail.refused();
        let pause = self.settings.retry.pause(response.headers(), refusals)?;
        let end = Instant::now().checked_add(pause)?;
        let is_in_time = self.deadline.is_none_or(|deadline| end < deadline);
        is_in_time.then_some(pause)
    }

    /// Gets everything ready for one of `left` attempts, or says why there is none.
    fn hop<B: RequestBody>(
        &self,
        allowed: bool,
        cost: Cost,
        left: usize,
        in_hand: &mut InHand<B>,
    ) -> Result<(), ErrorKind> {
        if self.is_late() {
            return Err(ErrorKind::DeadlineExceeded);
        }
        if !allowed {
            return Err(ErrorKind::Transport);
        }
        if left == 0 {
            return Err(ErrorKind::AttemptsExhausted);
        }
        if !in_hand.can_repeat() {
            return Err(ErrorKind::Transport);
        }
        // Last, because what it grants counts as made.
        match cost {
            Cost::Nothing => self.settings.balancer.count_free_hop(),
            Cost::Budget if self.settings.balancer.try_hop() => {}
            Cost::Budget => return Err(ErrorKind::BudgetExhausted),
        }
        // A body that passed its limit in this very moment.
        if !in_hand.refill() {
            return Err(ErrorKind::Transport);
        }
        Ok(())
    }

    pub(super) fn judge<R>(&self, response: &Response<R>) -> Verdict {
        let classifier = &self.settings.classifier;
        classifier.response(response.status(), response.headers())
    }

    #[inline]
    pub(super) fn accept<B>(
        &self,
        response: Response<S::ResponseBody>,
        verdict: Verdict,
        trail: &mut Trail,
    ) -> Answer<S::ResponseBody>
    where
        S: Transport<B>,
    {
        let (head, body) = response.into_parts();
        if let Some(watched) = trail.watched() {
            watched.answered(head.status, &head.headers);
        }
        if body.is_end_stream() {
            trail.answered(&head.headers, verdict);
            return Response::from_parts(head, ResponseBody::untracked(body));
        }
        let classifier = &self.settings.classifier;
        let tracker = trail.accepted(classifier, &head.headers, verdict);
        let mut body = ResponseBody::new(body, tracker);
        if let (Some(deadline), Some(convert)) = (self.deadline, S::body_error()) {
            let service = Arc::clone(&self.settings.service);
            body = body.with_limit(Limit::new(deadline, service, convert));
        }
        Response::from_parts(head, body)
    }
}
