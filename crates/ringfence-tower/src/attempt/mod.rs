//! One call: pick once, then one candidate after the other.

mod choose;
mod failed;
mod further;
mod hedge;
mod in_hand;
mod mark;
mod one;
mod pass;
mod places;
mod settle;
mod start;
mod trail;

use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use tokio::time::{Instant, timeout_at};

use self::failed::Failed;
use self::hedge::Ahead;
use self::in_hand::InHand;
use self::one::How;
use self::places::begin_next;
use self::start::{Otherwise, Start};
use self::trail::Trail;
use crate::body::{RequestBody, ResponseBody};
use crate::deadline;
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
    let deadline = deadline::from_headers(request.headers());
    async move {
        let mut in_hand = InHand::new(request);
        let settings = &*settings;
        let watched = Watched::new(settings.balancer.observe_call(), traced);
        let mut trail = Trail::of(watched);
        // Where it is to stay: it is large.
        let mut decision = None;
        let error = 'failed: {
            let (start, waited) = {
                let mut untouched = settings.untouched(&transport);
                let request = &mut in_hand;
                match start::at_once(settings, request, &mut untouched, &mut trail, &mut decision) {
                    Ok(Some(start)) => (start, false),
                    Ok(None) => {
                        let (trail, decision) = (&mut trail, &mut decision);
                        let otherwise = start::otherwise(
                            settings, request, untouched, deadline, trail, decision,
                        );
                        match Box::pin(otherwise).await {
                            Ok(Otherwise::Chosen { start, has_waited }) => (start, has_waited),
                            Ok(Otherwise::Answered(answer)) => return Ok(*answer),
                            Err(error) => break 'failed error,
                        }
                    }
                    Err(error) => break 'failed error,
                }
            };
            let mut call = Call {
                transport: &mut transport,
                settings,
                deadline,
                idempotent: in_hand.is_idempotent(&settings.retry),
            };
            let mut tried = 1;
            match start {
                Start::AtOwner(behind) => call.prepare(behind.is_any(), &mut in_hand),
                Start::Chosen => {
                    let Some(decision) = &decision else {
                        break 'failed trail.gone(settings);
                    };
                    trail.decided(decision.choice());
                    let all = decision.candidates_and_last_resorts().len();
                    call.prepare(all > 1, &mut in_hand);
                    tried = 0;
                    let Some(attempt) = begin_next(decision, &mut tried, true) else {
                        break 'failed trail.full(settings);
                    };
                    if tried == all {
                        in_hand.forget_replay();
                    }
                    trail.begin(attempt);
                }
            }
            // Not a `match`, which would keep what it looks at.
            let ended = if let (Some(delay), Some(decision)) = (call.hedging(), &decision) {
                let ahead = Ahead::new(decision, &mut tried);
                let hedged = call.hedged(ahead, delay, waited, &mut in_hand, &mut trail);
                // Calls that are not hedged shall not carry the room for two.
                Box::pin(hedged).await
            } else {
                let how = How {
                    is_delayed: waited,
                    ends_with_call: true,
                };
                call.attempt(how, &mut in_hand, &mut trail).await
            };
            let ended = match call.answered::<B>(ended, &mut trail) {
                Ok(answer) => return Ok(answer),
                Err(ended) => ended,
            };
            if let Start::AtOwner(behind) = start {
                let owner = trail.candidate();
                decision = owner.and_then(|owner| settings.balancer.behind(behind, owner));
            }
            let left = decision.as_ref().map_or(0, |decision| {
                trail.set_pool(decision);
                decision.candidates_and_last_resorts().len() - tried
            });
            let pause = match call.settle(ended, left, &mut in_hand, &mut trail) {
                ControlFlow::Break(Ok(answer)) => return Ok(answer),
                ControlFlow::Break(Err(error)) => break 'failed error,
                ControlFlow::Continue(pause) => pause,
            };
            let Some(decision) = &decision else {
                break 'failed trail.gone(settings);
            };
            let further = call.further(decision, tried, pause, &mut in_hand, &mut trail);
            match Box::pin(further).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            }
        };
        Err(trail.told_of(error).into())
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
    idempotent: bool,
}

/// How an attempt ended.
type Ended<R> = Result<Response<R>, Failed>;

impl<S> Call<'_, S> {
    /// Gets the request ready, for more than one attempt if there may be some.
    fn prepare<B>(&self, may_repeat: bool, in_hand: &mut InHand<B>)
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let keeps_extensions = self.transport.keeps_extensions();
        if keeps_extensions {
            // All of them have been read; taken out, they need no copy for a further attempt.
            in_hand.forget_extensions();
        }
        if may_repeat && self.settings.retry.may_hop() {
            in_hand.repeatable(self.settings.replay_limit, keeps_extensions);
        }
    }

    /// After how long the running attempt gets another one beside it.
    fn hedging(&self) -> Option<Duration> {
        let hedging = self.settings.retry.hedging();
        hedging.filter(|_| self.idempotent)
    }

    fn is_late(&self) -> bool {
        let deadline = self.deadline;
        deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}
