//! One attempt at one instance.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response};
use tokio::time::Instant;
use tower_service::Service;

use super::failed::Failed;
use super::in_hand::InHand;
use super::mark::mark;
use super::trail::Trail;
use super::{Call, until};
use crate::body::RequestBody;
use crate::classify::Failure;
use crate::deadline;
use crate::error::{AttemptTimeout, BoxError};
use crate::settings::Settings;
use crate::transport::{Connections, Target, Transport};

/// What is needed to judge the end of an attempt that has begun.
pub(super) struct Begun {
    limit: Option<Instant>,
    at: Instant,
    connections: Option<Connections>,
}

/// How an attempt stands in its call.
#[derive(Clone, Copy)]
pub(super) struct How {
    /// Whether time has passed since the call began.
    pub(super) is_delayed: bool,
    /// Whether it keeps to the deadline, because nothing else does.
    pub(super) ends_with_call: bool,
}

/// Within this time an instance tells that the connection which a request went out on was closed before.
const CLOSED_BEFORE: Duration = Duration::from_secs(1);

/// How an attempt ended: the client's answer, or `None` when its time was over.
pub(super) type Ended<R, E> = Option<Result<Response<R>, E>>;

type CallOf<S, B> = <<S as Transport<B>>::Service as Service<Request<B>>>::Future;
type ErrorOf<S, B> = <<S as Transport<B>>::Service as Service<Request<B>>>::Error;

impl<S> Call<'_, S> {
    /// One attempt, from readiness to the response head, or to the end of the call where it is said to keep to that.
    ///
    /// All of it is one future, because each one inside of another costs every call a move of its response; and a block and not an
    /// `async fn`, see [`run`](super::run).
    #[expect(
        clippy::manual_async_fn,
        reason = "the arguments of an `async fn` lie in its future twice"
    )]
    pub(super) fn attempt<B>(
        &mut self,
        mut how: How,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> impl Future<Output = Result<Response<S::ResponseBody>, Failed>>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        async move {
            let (mut service, mut begun) = self.open(trail, how)?;
            let end = self.deadline.filter(|_| how.ends_with_call);
            let is_last = end.is_some_and(|end| begun.limit.is_none_or(|limit| end <= limit));
            if is_last {
                begun.limit = end;
            }
            let ready = poll_fn(|cx| Poll::Ready(service.poll_ready(cx).map_err(Into::into))).await;
            let ready = match ready {
                Poll::Ready(ready) => Some(ready),
                // What waits lies on the heap: others shall not carry the room for it.
                Poll::Pending => {
                    how.is_delayed = true;
                    let ready = poll_fn(|cx| service.poll_ready(cx).map_err(Into::into));
                    Box::pin(within(begun.limit, ready)).await
                }
            };
            // Filled where it stays: each step out of a function would move it.
            let mut call = pin!(None);
            match ready {
                Some(ready) => {
                    self.may_send(ready)?;
                    let sent = |future| call.set(Some(future));
                    self.send(service, how, in_hand, trail, sent)?;
                }
                None if is_last => return Err(Failed::Late),
                None => return Err(Failed::unsent(Failure::Unprocessed, self.timeout())),
            }
            let Some(mut call) = call.as_mut().as_pin_mut() else {
                return Err(gone());
            };
            let ended = match begun.limit {
                None => Some(call.await),
                Some(_) => Box::pin(within(begun.limit, call.as_mut())).await,
            };
            match ended {
                Some(Ok(response)) => Ok(response),
                None if is_last => Err(Failed::Late),
                ended => self.judged::<B>(trail, &begun, ended),
            }
        }
    }

    /// Hands the request to the client once that is ready. What comes back needs neither the request nor the trail, so that
    /// another attempt can be made beside it.
    pub(super) async fn begin<B>(
        &mut self,
        how: How,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Result<(Begun, CallOf<S, B>), Failed>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let (mut service, begun) = self.open(trail, how)?;
        let how = How {
            // By the wait for readiness, if there is one.
            is_delayed: true,
            ..how
        };
        let ready = poll_fn(|cx| service.poll_ready(cx).map_err(Into::into));
        let Some(ready) = within(begun.limit, ready).await else {
            return Err(Failed::unsent(Failure::Unprocessed, self.timeout()));
        };
        self.may_send(ready)?;
        let mut call = None;
        let sent = |future| call = Some(future);
        self.send(service, how, in_hand, trail, sent)?;
        Ok((begun, call.ok_or_else(gone)?))
    }

    /// The service of the instance, and what is needed to judge the end of an attempt with it.
    fn open<B>(&self, trail: &Trail, how: How) -> Result<(S::Service, Begun), Failed>
    where
        S: Transport<B>,
    {
        let now = trail.begun(how.is_delayed).unwrap_or_else(Instant::now);
        let timeout = self.settings.retry.per_try_timeout();
        let target = self.target(trail)?;
        let (service, connections) = self.transport.open(&target).map_err(Failed::Rejected)?;
        let begun = Begun {
            limit: timeout.and_then(|timeout| now.checked_add(timeout)),
            at: now,
            connections,
        };
        Ok((service, begun))
    }

    fn timeout(&self) -> BoxError {
        let timeout = self.settings.retry.per_try_timeout();
        AttemptTimeout(timeout.unwrap_or_default()).into()
    }

    /// Whether the request may be handed to the client, which says that it is `ready`.
    fn may_send(&self, ready: Result<(), BoxError>) -> Result<(), Failed> {
        if let Err(error) = ready {
            let failure = self.settings.classifier.error(&*error);
            return Err(Failed::unsent(failure, error));
        }
        // A permit that comes with the deadline would start what cannot finish.
        if self.is_late() {
            let error = BoxError::from("the deadline passed before it was sent");
            return Err(Failed::unsent(Failure::Local, error));
        }
        Ok(())
    }

    /// Hands the request to the client, and the client's call to `sent`.
    fn send<B>(
        &self,
        mut service: S::Service,
        how: How,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
        sent: impl FnOnce(CallOf<S, B>),
    ) -> Result<(), Failed>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let target = self.target(trail)?;
        let change = |head: &mut Parts| {
            self.transport
                .prepare(head, &target)
                .map_err(Failed::Rejected)?;
            mark(head, trail.seen());
            self.settings.propagator.inject(&mut head.headers);
            if let (true, Some(deadline)) = (how.is_delayed, self.deadline) {
                deadline::write_rest(&mut head.headers, deadline, Instant::now());
            }
            Ok(())
        };
        // The very service that is ready takes the call: readiness does not pass on to clones.
        let send = |request| sent(service.call(request));
        in_hand.send(change, send).unwrap_or_else(|| Err(gone()))?;
        trail.sent();
        Ok(())
    }

    /// Where the running attempt goes.
    fn target<'t>(&'t self, trail: &'t Trail) -> Result<Target<'t>, Failed> {
        let Settings { balancer, host, .. } = self.settings;
        let candidate = trail.candidate().ok_or_else(gone)?;
        Ok(Target::new(
            candidate,
            balancer.service().name(),
            host.as_ref(),
        ))
    }

    /// What the end of an attempt means.
    pub(super) fn judged<B>(
        &self,
        trail: &Trail,
        begun: &Begun,
        ended: Ended<S::ResponseBody, ErrorOf<S, B>>,
    ) -> Result<Response<S::ResponseBody>, Failed>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let failed = match ended {
            Some(Ok(response)) => return Ok(response),
            Some(Err(error)) => {
                let Some(candidate) = trail.candidate() else {
                    return Err(gone());
                };
                Some(Failed::sent(
                    &*self.settings.classifier,
                    candidate.instance(),
                    error.into(),
                ))
            }
            None => None,
        };
        let before = begun.connections;
        let after = before.and_then(|_| self.transport.connections(&self.target(trail).ok()?));
        let connections = before.zip(after);
        Err(match failed {
            Some(failed)
                if begun.at.elapsed() <= CLOSED_BEFORE
                    && connections.is_some_and(|(before, after)| before.was_idle(after)) =>
            {
                failed.on_idle_connection()
            }
            Some(failed) => failed,
            None if connections.is_none_or(|(before, after)| before.may_have_sent(after)) => {
                Failed::timed_out(self.timeout())
            }
            None => Failed::unsent(Failure::Connect, self.timeout()),
        })
    }
}

fn gone() -> Failed {
    Failed::unsent(Failure::Local, "the request is gone".into())
}

/// `None` when the time came first.
async fn within<F: Future>(limit: Option<Instant>, future: F) -> Option<F::Output> {
    until(limit, pin!(future)).await
}

impl Begun {
    /// The client's answer, within the limit of the attempt.
    pub(super) async fn until_end<F: Future>(&self, call: F) -> Option<F::Output> {
        within(self.limit, call).await
    }
}
