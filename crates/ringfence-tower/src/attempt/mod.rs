//! One call: pick once, then one candidate after the other.

mod choose;
mod failed;
mod hedge;
mod in_hand;
mod mark;
mod one;
mod pass;
mod places;
mod start;
mod trail;

use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use http_body::Body as _;
use ringfence_balancer::{Candidate, Decision, FailureKind, Outcome};
use tokio::time::{Instant, sleep, timeout_at};

use self::failed::{Cost, Failed, status_text};
use self::hedge::Ahead;
use self::in_hand::InHand;
use self::pass::pass;
use self::places::begin_next;
use self::start::Found;
use self::trail::Trail;
use crate::body::{Limit, RequestBody, ResponseBody};
use crate::classify::Verdict;
use crate::deadline;
use crate::error::{Error, ErrorKind};
use crate::retry::RetryPolicy;
use crate::settings::Settings;
use crate::transport::Transport;
use crate::watch::{Traced, Watched};

type Answer<R> = Response<ResponseBody<R>>;

/// A whole call: finds its candidates, and tries them until one answers or none may be tried any more.
///
/// A block and not an `async fn`, whose arguments would lie in the future twice: the whole of it is copied to where it runs. The
/// first attempt is part of it, and what follows on that lies on the heap, because it is rare.
pub(crate) fn run<S, B>(
    mut transport: S,
    settings: Arc<Settings>,
    request: Request<B>,
    traced: Option<Box<Traced>>,
) -> impl Future<Output = Result<Answer<S::ResponseBody>, S::Error>> + use<S, B>
where
    S: Transport<B>,
    B: RequestBody,
{
    let (head, body) = request.into_parts();
    let deadline = deadline::from_headers(&head.headers);
    let mut in_hand = InHand::new(head, body);
    async move {
        let settings = &*settings;
        let watched = Watched::new(settings.balancer.observe_call(), traced);
        let mut trail = Trail::of(watched);
        // Where it is to stay: it is large.
        let mut decision = None;
        let error = 'failed: {
            let mut waited = false;
            let mut untouched = settings.untouched(&transport);
            let request = &mut in_hand;
            match start::at_once(settings, request, &mut untouched, &mut trail, &mut decision) {
                Ok(true) => {}
                Ok(false) => {
                    let (trail, decision) = (&mut trail, &mut decision);
                    let found =
                        start::find(settings, request, untouched, deadline, trail, decision);
                    match Box::pin(found).await {
                        Ok(Found::Chosen { has_waited }) => waited = has_waited,
                        Ok(Found::Untouched(untouched)) => {
                            let Some(request) = in_hand.take() else {
                                break 'failed trail.full(settings);
                            };
                            trail.take_watched().leave();
                            return Ok(Box::pin(pass(untouched, settings, request)).await?);
                        }
                        Err(error) => break 'failed error,
                    }
                }
                Err(error) => break 'failed error,
            }
            let Some(decision) = &decision else {
                break 'failed trail.full(settings);
            };
            trail.decided(decision);
            let mut candidates = decision.candidates_and_last_resorts();
            let mut call = Call {
                transport: &mut transport,
                settings,
                decision,
                deadline,
                idempotent: in_hand.is_idempotent(&settings.retry),
            };
            call.prepare(candidates.len(), &mut in_hand);
            let Some(candidate) = begin(&mut candidates, true, &mut in_hand, &mut trail) else {
                break 'failed trail.full(settings);
            };
            let ended = match call.hedging() {
                None => {
                    let attempt =
                        call.attempt(candidate, waited, deadline, &mut in_hand, &mut trail);
                    attempt.await
                }
                Some(delay) => {
                    let ahead = call.ahead(&mut candidates);
                    let hedged =
                        call.hedged(candidate, ahead, delay, waited, &mut in_hand, &mut trail);
                    // Calls that are not hedged shall not carry the room for two.
                    Box::pin(hedged).await
                }
            };
            let pause = match call.settle(ended, candidates.len(), &mut in_hand, &mut trail) {
                ControlFlow::Break(Ok(answer)) => return Ok(answer),
                ControlFlow::Break(Err(error)) => break 'failed error,
                ControlFlow::Continue(pause) => pause,
            };
            let further = call.further(candidates, pause, &mut in_hand, &mut trail);
            match Box::pin(further).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            }
        };
        Err(trail.told_of(error).into())
    }
}

/// Begins the next attempt of a call.
fn begin<'c, B: RequestBody>(
    candidates: &mut impl ExactSizeIterator<Item = &'c Candidate>,
    is_first: bool,
    in_hand: &mut InHand<B>,
    trail: &mut Trail,
) -> Option<&'c Candidate> {
    let (candidate, attempt) = begin_next(candidates, is_first, true)?;
    if candidates.len() == 0 {
        in_hand.is_last();
    }
    trail.begin(attempt);
    Some(candidate)
}

/// `None` when the time came first. Without a limit no timer is made.
async fn until<F: Future>(limit: Option<Instant>, future: Pin<&mut F>) -> Option<F::Output> {
    match limit {
        Some(limit) => timeout_at(limit, future).await.ok(),
        None => Some(future.await),
    }
}

/// What stays the same over the attempts of a call.
struct Call<'a, S> {
    // Exclusive, so that a transport need not be `Sync`.
    transport: &'a mut S,
    settings: &'a Settings,
    decision: &'a Decision,
    deadline: Option<Instant>,
    idempotent: bool,
}

/// How a call ends, or the pause before its next attempt, for which the request is in hand.
type Settled<R> = ControlFlow<Result<Answer<R>, Error>, Duration>;

impl<S> Call<'_, S> {
    /// Gets the request ready for so many attempts.
    fn prepare<B>(&self, candidates: usize, in_hand: &mut InHand<B>)
    where
        S: Transport<B>,
        B: RequestBody,
    {
        // All of them have been read; taken out, they need no copy for a further attempt.
        in_hand.forget_extensions();
        if candidates > 1 && self.settings.retry.may_hop() {
            in_hand.repeatable(
                self.settings.replay_limit,
                self.transport.keeps_extensions(),
            );
        }
    }

    /// After how long the running attempt gets another one beside it.
    fn hedging(&self) -> Option<Duration> {
        let hedging = self.settings.retry.hedging();
        hedging.filter(|_| self.idempotent)
    }

    fn ahead<'c, C>(&self, candidates: &'c mut C) -> Ahead<'c, C> {
        Ahead {
            candidates,
            last_resorts: self.decision.last_resorts(),
        }
    }

    /// The attempts after the first one.
    async fn further<'c, B>(
        &mut self,
        mut candidates: impl ExactSizeIterator<Item = &'c Candidate> + Clone,
        mut pause: Duration,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Result<Answer<S::ResponseBody>, Error>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        trail.set_pool(self.decision);
        loop {
            trail.log_hop(self.settings);
            if !pause.is_zero() {
                sleep(pause).await;
            }
            let Some(candidate) = begin(&mut candidates, false, in_hand, trail) else {
                // Those that are left have as many requests as they may.
                return Err(trail.full(self.settings));
            };
            let ended = match self.hedging() {
                None => {
                    let attempt = self.attempt(candidate, true, self.deadline, in_hand, trail);
                    attempt.await
                }
                Some(delay) => {
                    let ahead = self.ahead(&mut candidates);
                    let hedged = self.hedged(candidate, ahead, delay, true, in_hand, trail);
                    Box::pin(hedged).await
                }
            };
            pause = match self.settle(ended, candidates.len(), in_hand, trail) {
                ControlFlow::Break(answer) => return answer,
                ControlFlow::Continue(pause) => pause,
            };
        }
    }

    /// What becomes of a call with `further` candidates after an attempt.
    fn settle<B>(
        &self,
        ended: Result<Response<S::ResponseBody>, Failed>,
        further: usize,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Settled<S::ResponseBody>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        match ended {
            Ok(response) => {
                let verdict = self.judge(&response);
                if verdict == Verdict::Unavailable && self.idempotent {
                    return self.refused(response, further, in_hand, trail);
                }
                ControlFlow::Break(Ok(self.accept::<B>(response, verdict, trail)))
            }
            Err(failed) => match self.failed(failed, further, in_hand, trail) {
                Ok(()) => ControlFlow::Continue(Duration::ZERO),
                Err(error) => ControlFlow::Break(Err(error)),
            },
        }
    }

    /// The answer says that another instance may do better.
    #[cold]
    fn refused<B>(
        &self,
        response: Response<S::ResponseBody>,
        further: usize,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Settled<S::ResponseBody>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let pause = self.pause_after(&response, trail);
        let allowed = pause.is_some();
        if self.hop(allowed, Cost::Budget, further, in_hand).is_err() {
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
    #[cold]
    fn failed<B: RequestBody>(
        &self,
        failed: Failed,
        further: usize,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Result<(), Error> {
        trail.set_pool(self.decision);
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
                self.hop(allowed, cost, further, in_hand)
                    .map_err(|kind| trail.fail(self.settings, kind, Some(error)))
            }
            Failed::Rejected(rejection) => Err(trail.rejected(self.settings, rejection)),
            Failed::Late => Err(trail.late(self.settings)),
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

    fn is_late(&self) -> bool {
        let deadline = self.deadline;
        deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Gets everything ready for one of `further` attempts, or says why there is none.
    fn hop<B: RequestBody>(
        &self,
        allowed: bool,
        cost: Cost,
        further: usize,
        in_hand: &mut InHand<B>,
    ) -> Result<(), ErrorKind> {
        if self.is_late() {
            return Err(ErrorKind::DeadlineExceeded);
        }
        if !allowed {
            return Err(ErrorKind::Transport);
        }
        if further == 0 {
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

    fn judge<R>(&self, response: &Response<R>) -> Verdict {
        let classifier = &self.settings.classifier;
        classifier.response(response.status(), response.headers())
    }

    fn accept<B>(
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
