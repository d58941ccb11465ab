//! One call: pick once, then one candidate after the other.

mod choose;
mod failed;
mod hedge;
mod in_hand;
mod mark;
mod one;
mod pass;
mod places;
mod trail;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response};
use ringfence_balancer::{Decision, FailureKind, Outcome, PickError};
use ringfence_core::RequestTags;
use ringfence_policy::{GrayTag, TrustedTags};
use tokio::time::{Instant, sleep, timeout_at};

use self::choose::{Way, decide};
use self::failed::{Cost, Failed, status_text};
use self::hedge::Ahead;
use self::in_hand::InHand;
use self::pass::pass;
use self::places::{admit, begin_next};
use self::trail::Trail;
use crate::body::{Limit, RequestBody, ResponseBody};
use crate::classify::Verdict;
use crate::error::{Error, ErrorKind};
use crate::retry::{Idempotent, RetryPolicy};
use crate::settings::Settings;
use crate::transport::Transport;
use crate::{RoutingKey, deadline};

type Answer<R> = Response<ResponseBody<R>>;

pub(crate) async fn run<S, B>(
    transport: S,
    settings: Arc<Settings>,
    request: Request<B>,
) -> Result<Answer<S::ResponseBody>, S::Error>
where
    S: Transport<B>,
    B: RequestBody,
{
    let answer = call(transport, &settings, request).await;
    answer.map_err(S::Error::from)
}

async fn call<S, B>(
    mut transport: S,
    settings: &Settings,
    request: Request<B>,
) -> Result<Answer<S::ResponseBody>, Error>
where
    S: Transport<B>,
    B: RequestBody,
{
    let (mut head, body) = request.into_parts();
    let deadline = deadline::from_headers(&head.headers);
    let mut trail = Trail::default();
    let mut untouched = settings.untouched(&transport);
    // What may go to the client as it is waits for nobody before it is known that it does not.
    let is_let_in = untouched.is_none();
    if is_let_in {
        admit(settings, deadline, &mut trail).await?;
    }
    let is_limited = settings.balancer.config().concurrency().max_in_flight() > 0;
    // A rule may strip headers that it reads.
    let as_it_came = (!is_let_in && is_limited).then(|| head.headers.clone());
    let mut way = decide(settings, &mut head, &mut untouched, trail.rule());
    let waited = matches!(way, Err(PickError::NotReady { .. }));
    if waited {
        way = match until(deadline, settings.balancer.ready()).await {
            Some(Ok(())) => decide(settings, &mut head, &mut untouched, trail.rule()),
            Some(Err(error)) => Err(error),
            None => return Err(trail.late(settings)),
        };
    }
    let decision = match way.map_err(|error| trail.not_picked(settings, error))? {
        Way::Chosen(decision) => {
            match as_it_came {
                Some(headers) => {
                    // What was chosen before the wait may be gone after it, and holds a slot if it is on trial.
                    drop(decision);
                    admit(settings, deadline, &mut trail).await?;
                    head.headers = headers;
                    match decide(settings, &mut head, &mut None::<S::Service>, trail.rule()) {
                        Ok(Way::Chosen(decision)) => decision,
                        // Not without a client to be left untouched.
                        Ok(Way::Untouched { .. }) => return Err(trail.full(settings)),
                        Err(error) => return Err(trail.not_picked(settings, error)),
                    }
                }
                None => decision,
            }
        }
        Way::Untouched { service, observed } => {
            let request = Request::from_parts(head, body);
            return pass(service, settings, request, observed).await;
        }
    };
    let mut call = Call {
        transport: &mut transport,
        settings,
        deadline,
    };
    let answer = call.run(head, body, &decision, waited, &mut trail);
    let answer = until(deadline, answer).await;
    answer.unwrap_or_else(|| Err(trail.late(settings)))
}

/// `None` when the time came first. Without a limit no timer is made.
async fn until<F: Future>(limit: Option<Instant>, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    match limit {
        Some(limit) => timeout_at(limit, future.as_mut()).await.ok(),
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
        mut head: Parts,
        body: B,
        decision: &Decision,
        waited: bool,
        trail: &mut Trail,
    ) -> Result<Answer<S::ResponseBody>, Error>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let idempotent = self.settings.retry.is_idempotent(&head);
        // All of them have been read; taken out, they need no copy for a further attempt.
        trail.decided(decision.pool());
        head.extensions.remove::<RequestTags>();
        head.extensions.remove::<RoutingKey>();
        head.extensions.remove::<GrayTag>();
        head.extensions.remove::<TrustedTags>();
        head.extensions.remove::<Idempotent>();

        let mut in_hand = InHand::new(head, body);
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
            let ended = self.attempt_or_hedge(
                candidate,
                Ahead {
                    candidates: &mut candidates,
                    last_resorts,
                },
                idempotent,
                delayed,
                &mut in_hand,
                trail,
            );
            let pause = match ended.await {
                Ok(response) => {
                    let verdict = self.judge(&response);
                    let pause = self.pause_after(&response, verdict, idempotent, trail);
                    let allowed = pause.is_some();
                    let further = candidates.len();
                    if self
                        .hop(allowed, Cost::Budget, further, &mut in_hand)
                        .is_err()
                    {
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
                    if let Err(kind) = self.hop(allowed, cost, further, &mut in_hand) {
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
