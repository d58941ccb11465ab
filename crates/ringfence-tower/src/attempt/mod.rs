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
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use ringfence_balancer::{Decision, FailureKind, Outcome};
use ringfence_core::RequestTags;
use ringfence_policy::{GrayTag, TrustedTags};
use tokio::time::{Instant, sleep, timeout_at};

use self::choose::Way;
use self::failed::{Cost, Failed, status_text};
use self::hedge::Ahead;
use self::in_hand::InHand;
use self::pass::pass;
use self::places::begin_next;
use self::trail::Trail;
use crate::body::{Limit, RequestBody, ResponseBody};
use crate::classify::Verdict;
use crate::error::{Error, ErrorKind};
use crate::retry::{Idempotent, RetryPolicy};
use crate::settings::Settings;
use crate::transport::Transport;
use crate::watch::Watched;
use crate::{RoutingKey, deadline};

type Answer<R> = Response<ResponseBody<R>>;

/// A whole call: finds its candidates, and tries them until one answers or none may be tried any more.
///
/// A block and not an `async fn`, whose arguments would lie in the future twice: the whole of it is copied to where it runs.
pub(crate) fn run<S, B>(
    mut transport: S,
    settings: Arc<Settings>,
    request: Request<B>,
    watched: Option<Box<Watched>>,
) -> impl Future<Output = Result<Answer<S::ResponseBody>, S::Error>> + use<S, B>
where
    S: Transport<B>,
    B: RequestBody,
{
    let (head, body) = request.into_parts();
    let deadline = deadline::from_headers(&head.headers);
    let mut in_hand = InHand::new(head, body);
    async move {
        let mut trail = Trail::of(watched);
        let settings = &*settings;
        let untouched = settings.untouched(&transport);
        let found = start::find(settings, &mut in_hand, untouched, deadline, &mut trail);
        let (decision, waited) = match found.await {
            Ok((Way::Chosen(decision), waited)) => (decision, waited),
            Err(error) => return Err(trail.told_of(error).into()),
            Ok((Way::Untouched { service, observed }, _)) => {
                let Some((head, body)) = in_hand.take() else {
                    let error = trail.full(settings);
                    return Err(trail.told_of(error).into());
                };
                if let Some(watched) = trail.take_watched() {
                    watched.leave();
                }
                let request = Request::from_parts(head, body);
                // What is decided shall not carry the room for it.
                let passed = Box::pin(pass(service, settings, request, observed));
                return Ok(passed.await?);
            }
        };
        let mut call = Call {
            transport: &mut transport,
            settings,
            deadline,
        };
        let answer = {
            let answer = pin!(call.run(&mut in_hand, &decision, waited, &mut trail));
            until(deadline, answer).await
        };
        let answer = answer.unwrap_or_else(|| Err(trail.late(settings)));
        answer.map_err(|error| trail.told_of(error).into())
    }
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
    deadline: Option<Instant>,
}

impl<S> Call<'_, S> {
    async fn run<B>(
        &mut self,
        in_hand: &mut InHand<B>,
        decision: &Decision,
        waited: bool,
        trail: &mut Trail,
    ) -> Result<Answer<S::ResponseBody>, Error>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let Some(head) = in_hand.head() else {
            return Err(trail.full(self.settings));
        };
        let idempotent = self.settings.retry.is_idempotent(head);
        // All of them have been read; taken out, they need no copy for a further attempt.
        trail.decided(decision);
        let extensions = &mut head.extensions;
        extensions.remove::<RoutingKey>();
        if !extensions.is_empty() {
            extensions.remove::<RequestTags>();
            extensions.remove::<GrayTag>();
            extensions.remove::<TrustedTags>();
            extensions.remove::<Idempotent>();
        }

        let mut candidates = decision.candidates_and_last_resorts();
        let last_resorts = decision.last_resorts();
        if candidates.len() > 1 && self.settings.retry.may_hop() {
            in_hand.repeatable(
                self.settings.replay_limit,
                self.transport.keeps_extensions(),
            );
        }
        // Whether `grpc-timeout` says too much by now.
        let mut delayed = waited;
        let mut next = begin_next(&mut candidates, true, true);
        while let Some((candidate, attempt)) = next.take() {
            if candidates.len() == 0 {
                in_hand.is_last();
            }
            trail.begin(attempt);
            let hedging = self.settings.retry.hedging().filter(|_| idempotent);
            let ended = async {
                let Some(delay) = hedging else {
                    let attempt = self.attempt(candidate, delayed, in_hand, trail);
                    return attempt.await;
                };
                let ahead = Ahead {
                    candidates: &mut candidates,
                    last_resorts,
                };
                let hedged = self.hedged(candidate, ahead, delay, delayed, in_hand, trail);
                // Calls that are not hedged shall not carry the room for two.
                Box::pin(hedged).await
            };
            let pause = match ended.await {
                Ok(response) => {
                    let verdict = self.judge(&response);
                    let pause = self.pause_after(&response, verdict, idempotent, trail);
                    let allowed = pause.is_some();
                    let further = candidates.len();
                    if self.hop(allowed, Cost::Budget, further, in_hand).is_err() {
                        return Ok(self.accept::<B>(response, verdict, trail));
                    }
                    trail.ended(
                        Outcome::Failure(FailureKind::Status),
                        status_text(&response),
                    );
                    pause.unwrap_or_default()
                }
                Err(Failed::Attempt {
                    failure,
                    outcome,
                    cost,
                    error,
                }) => {
                    if RetryPolicy::is_surely_unprocessed(failure) {
                        trail.not_sent();
                    }
                    trail.ended_with(outcome, &*error);
                    let allowed = self.settings.retry.allows(failure, idempotent);
                    let further = candidates.len();
                    if let Err(kind) = self.hop(allowed, cost, further, in_hand) {
                        return Err(trail.fail(self.settings, kind, Some(error)));
                    }
                    Duration::ZERO
                }
                Err(Failed::Rejected(rejection)) => {
                    return Err(trail.rejected(self.settings, rejection));
                }
            };
            trail.log_hop(self.settings);
            if !pause.is_zero() {
                sleep(pause).await;
            }
            delayed = true;
            next = begin_next(&mut candidates, false, true);
        }
        // Those that are left have as many requests as they may.
        Err(trail.full(self.settings))
    }

    /// The pause before the next attempt, or `None` if the answer is the caller's.
    fn pause_after<R>(
        &self,
        response: &Response<R>,
        verdict: Verdict,
        idempotent: bool,
        trail: &mut Trail,
    ) -> Option<Duration> {
        if verdict != Verdict::Unavailable || !idempotent {
            return None;
        }
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
