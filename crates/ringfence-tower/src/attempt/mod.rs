//! One call: pick once, then one candidate after the other.

mod choose;
mod failed;
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
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::{Request, Response};
use tokio::time::{Instant, sleep, timeout_at};

use self::choose::Chosen;
use self::failed::Failed;
use self::in_hand::InHand;
use self::one::{gone, ready, ready_at_once, within};
use self::start::Otherwise;
use self::trail::Trail;
use crate::body::{RequestBody, ResponseBody};
use crate::deadline;
use crate::settings::Settings;
use crate::transport::Transport;
use crate::watch::{Traced, Watched};

type Answer<R> = Response<ResponseBody<R>>;

/// A whole call: finds whom it may go to, and tries them until one answers or none may be tried any more.
///
/// A block and not an `async fn`, whose arguments would lie in the future twice: the whole of it is copied to where it runs. For the
/// same reason an attempt is no future of its own, and what is rare lies on the heap.
pub(crate) fn run<S, B>(
    mut call: Call<S>,
    request: Request<B>,
    traced: Option<Box<Traced>>,
) -> impl Future<Output = Result<Answer<S::ResponseBody>, S::Error>> + use<S, B>
where
    S: Transport<B>,
    B: RequestBody,
{
    call.deadline = deadline::from_headers(request.headers());
    let mut in_hand = InHand::new(request);
    async move {
        let watched = Watched::new(call.settings.balancer.observe_call(), traced);
        let mut trail = Trail::of(watched);
        // Where it is to stay: it is large.
        let mut chosen = Chosen::default();
        let error = 'failed: {
            // A block, so that it is not kept.
            {
                let mut untouched = call.settings.untouched(&call.transport);
                let (settings, request) = (&*call.settings, &mut in_hand);
                match start::at_once(settings, request, &mut untouched, &mut trail, &mut chosen) {
                    Ok(true) => {}
                    Ok(false) => {
                        let (deadline, trail, chosen) = (call.deadline, &mut trail, &mut chosen);
                        let otherwise =
                            start::otherwise(settings, request, untouched, deadline, trail, chosen);
                        match Box::pin(otherwise).await {
                            Ok(Otherwise::Chosen { has_waited }) => call.is_delayed = has_waited,
                            Ok(Otherwise::Answered(answer)) => return Ok(*answer),
                            Err(error) => break 'failed error,
                        }
                    }
                    Err(error) => break 'failed error,
                }
            }
            call.idempotent = in_hand.is_idempotent(&call.settings.retry, trail.key_is_all);
            if let Err(error) = call.begin_first(&mut chosen, &mut in_hand, &mut trail) {
                break 'failed error;
            }
            loop {
                // A block, so that an answer, which need not be `Send`, is not kept over the pause.
                let pause = {
                    // Not a `match`, which would keep what it looks at.
                    let ended = if let (Some(delay), Chosen::Decision(decision)) =
                        (call.hedging(), &chosen)
                    {
                        let hedged = call.hedged(decision, delay, &mut in_hand, &mut trail);
                        // Calls that are not hedged shall not carry the room for two.
                        Box::pin(hedged).await
                    } else {
                        'attempt: {
                            let mut begun = call.begun(&trail, call.deadline);
                            let mut service = match call.open::<B>(&trail, &mut begun) {
                                Ok(service) => service,
                                Err(failed) => break 'attempt Err(failed),
                            };
                            let ready = match ready_at_once(&mut service).await {
                                Poll::Ready(ready) => Some(ready),
                                // What waits lies on the heap: others shall not carry the room for it.
                                Poll::Pending => {
                                    call.is_delayed = true;
                                    Box::pin(within(begun.limit, ready(&mut service))).await
                                }
                            };
                            if let Err(failed) = call.may_send(ready, &begun) {
                                break 'attempt Err(failed);
                            }
                            // Filled where it stays: each step out of a function would move it.
                            let mut calling = pin!(None);
                            let keep = |future| calling.set(Some(future));
                            if let Err(failed) = call.send(service, &mut in_hand, &mut trail, keep)
                            {
                                break 'attempt Err(failed);
                            }
                            let Some(mut calling) = calling.as_mut().as_pin_mut() else {
                                break 'attempt Err(gone());
                            };
                            let ended = match begun.limit {
                                None => Some(calling.await),
                                Some(_) => Box::pin(within(begun.limit, calling.as_mut())).await,
                            };
                            call.judged::<B>(&trail, &begun, ended)
                        }
                    };
                    let ended = match ended {
                        Ok(response) => match call.final_verdict(&response) {
                            // Made where it is returned: each step out of a function would move it.
                            Some(verdict) => return Ok(call.accept(response, verdict, &mut trail)),
                            None => Ok(response),
                        },
                        Err(failed) => Err(failed),
                    };
                    match call.settle(ended, &mut chosen, &mut in_hand, &mut trail) {
                        ControlFlow::Break(Ok(answer)) => return Ok(answer),
                        ControlFlow::Break(Err(error)) => break 'failed error,
                        ControlFlow::Continue(pause) => pause,
                    }
                };
                if !pause.is_zero() {
                    Box::pin(sleep(pause)).await;
                }
                if let Err(error) = call.begin_further(&chosen, &mut in_hand, &mut trail) {
                    break 'failed error;
                }
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

/// What is known of a call beside its request and what became of it.
pub(crate) struct Call<S> {
    transport: S,
    settings: Arc<Settings>,
    deadline: Option<Instant>,
    idempotent: bool,
    /// Whether time has passed since it began.
    is_delayed: bool,
    /// How many of those that were chosen have been tried.
    tried: usize,
}

/// How an attempt ended.
type Ended<R> = Result<Response<R>, Failed>;

impl<S> Call<S> {
    pub(crate) fn new(transport: S, settings: Arc<Settings>) -> Self {
        Self {
            transport,
            settings,
            deadline: None,
            idempotent: false,
            is_delayed: false,
            tried: 0,
        }
    }

    /// Gets the request ready, for more than one attempt if there may be some.
    fn prepare<B>(&self, may_repeat: bool, in_hand: &mut InHand<B>, trail: &Trail)
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let keeps_extensions = self.transport.keeps_extensions();
        if keeps_extensions {
            // All of them have been read; taken out, they need no copy for a further attempt.
            in_hand.forget_extensions(trail.key_is_all);
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
