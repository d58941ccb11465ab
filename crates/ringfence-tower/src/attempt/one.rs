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
    pub(super) limit: Option<Instant>,
    /// Whether the call ends at the limit.
    ends_call: bool,
    /// What was known of the connections, and when that was.
    before: Option<(Connections, Instant)>,
}

/// Within this time an instance tells that the connection which a request went out on was closed before.
const CLOSED_BEFORE: Duration = Duration::from_secs(1);

/// How an attempt ended: the client's answer, or `None` when its time was over.
pub(super) type Ended<R, E> = Option<Result<Response<R>, E>>;

pub(super) type CallOf<S, B> = <<S as Transport<B>>::Service as Service<Request<B>>>::Future;
type ErrorOf<S, B> = <<S as Transport<B>>::Service as Service<Request<B>>>::Error;

impl<S> Call<S> {
    /// Hands the request to the client once that is ready. What comes back needs neither the request nor the trail, so that
    /// another attempt can be made beside it.
    pub(super) async fn begin<B>(
        &mut self,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Result<(Begun, CallOf<S, B>), Failed>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let mut begun = self.begun(trail, None);
        let mut service = self.open(trail, &mut begun)?;
        let ready = within(begun.limit, ready(&mut service)).await;
        self.may_send(ready, &begun)?;
        // It may have waited for that.
        self.is_delayed = true;
        let mut calling = None;
        let keep = |future| calling = Some(future);
        self.send(service, in_hand, trail, keep)?;
        Ok((begun, calling.ok_or_else(gone)?))
    }

    /// An attempt begins, which keeps to the `end` of the call if nothing else does.
    pub(super) fn begun(&self, trail: &Trail, end: Option<Instant>) -> Begun {
        let timeout = self.settings.retry.per_try_timeout();
        let limit = timeout.and_then(|timeout| self.now(trail).checked_add(timeout));
        let ends_call = end.is_some_and(|end| limit.is_none_or(|limit| end <= limit));
        Begun {
            limit: if ends_call { end } else { limit },
            ends_call,
            before: None,
        }
    }

    /// When an attempt begins. To look at the clock costs as much as to find the instance: it is left out where nobody needs it.
    fn now(&self, trail: &Trail) -> Instant {
        trail.begun(self.is_delayed).unwrap_or_else(Instant::now)
    }

    /// The service of the instance.
    pub(super) fn open<B>(&self, trail: &Trail, begun: &mut Begun) -> Result<S::Service, Failed>
    where
        S: Transport<B>,
    {
        let target = self.target(trail)?;
        let (service, connections) = self.transport.open(&target).map_err(Failed::Rejected)?;
        begun.before = connections.map(|connections| (connections, self.now(trail)));
        Ok(service)
    }

    fn timeout(&self) -> BoxError {
        let timeout = self.settings.retry.per_try_timeout();
        AttemptTimeout(timeout.unwrap_or_default()).into()
    }

    /// Whether the request may be handed to the client, which says that it is `ready`, or has not until the time was over.
    #[inline]
    pub(super) fn may_send(
        &self,
        ready: Option<Result<(), BoxError>>,
        begun: &Begun,
    ) -> Result<(), Failed> {
        match ready {
            // A permit that comes with the deadline would start what cannot finish.
            Some(Ok(())) if !self.is_late() => Ok(()),
            ready => Err(self.not_ready(ready, begun)),
        }
    }

    #[cold]
    fn not_ready(&self, ready: Option<Result<(), BoxError>>, begun: &Begun) -> Failed {
        match ready {
            Some(Ok(())) => {
                let error = BoxError::from("the deadline passed before it was sent");
                Failed::unsent(Failure::Local, error)
            }
            Some(Err(error)) => {
                let failure = self.settings.classifier.error(&*error);
                Failed::unsent(failure, error)
            }
            None if begun.ends_call => Failed::Late,
            None => Failed::unsent(Failure::Unprocessed, self.timeout()),
        }
    }

    /// Hands the request to the client, and the client's call to `keep`.
    pub(super) fn send<B>(
        &self,
        mut service: S::Service,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
        keep: impl FnOnce(CallOf<S, B>),
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
            if let (true, Some(deadline)) = (self.is_delayed, self.deadline) {
                deadline::write_rest(&mut head.headers, deadline, Instant::now());
            }
            Ok(())
        };
        // The very service that is ready takes the call: readiness does not pass on to clones.
        let send = |request| keep(service.call(request));
        in_hand.send(change, send).unwrap_or_else(|| Err(gone()))?;
        trail.sent();
        Ok(())
    }

    /// Where the running attempt goes.
    fn target<'t>(&'t self, trail: &'t Trail) -> Result<Target<'t>, Failed> {
        let Settings { balancer, host, .. } = &*self.settings;
        let candidate = trail.candidate().ok_or_else(gone)?;
        Ok(Target::new(
            candidate,
            balancer.service().name(),
            host.as_ref(),
        ))
    }

    /// What the end of an attempt means.
    #[inline]
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
        match ended {
            Some(Ok(response)) => Ok(response),
            Some(Err(error)) => Err(self.without_answer::<B>(trail, begun, Some(error.into()))),
            None => Err(self.without_answer::<B>(trail, begun, None)),
        }
    }

    /// The client failed, or its time was over.
    #[cold]
    fn without_answer<B>(&self, trail: &Trail, begun: &Begun, error: Option<BoxError>) -> Failed
    where
        S: Transport<B>,
    {
        let (classifier, Some(candidate)) = (&*self.settings.classifier, trail.candidate()) else {
            return gone();
        };
        let failed = error.map(|error| Failed::sent(classifier, candidate.instance(), error));
        if failed.is_none() && begun.ends_call {
            return Failed::Late;
        }
        let after = begun.before.and_then(|_| {
            let target = self.target(trail).ok()?;
            self.transport.connections(&target)
        });
        let known = begun.before.zip(after);
        match failed {
            Some(failed)
                if known.is_some_and(|((before, at), after)| {
                    at.elapsed() <= CLOSED_BEFORE && before.was_idle(after)
                }) =>
            {
                failed.on_idle_connection()
            }
            Some(failed) => failed,
            None if known.is_none_or(|((before, _), after)| before.may_have_sent(after)) => {
                Failed::timed_out(self.timeout())
            }
            None => Failed::unsent(Failure::Connect, self.timeout()),
        }
    }
}

pub(super) fn gone() -> Failed {
    Failed::unsent(Failure::Local, "the request is gone".into())
}

/// Waits until the service takes a request.
pub(super) fn ready<B, S>(service: &mut S) -> impl Future<Output = Result<(), BoxError>>
where
    S: Service<Request<B>, Error: Into<BoxError>>,
{
    poll_fn(|cx| service.poll_ready(cx).map_err(Into::into))
}

/// Whether the service takes a request, without waiting for it.
pub(super) fn ready_at_once<B, S>(
    service: &mut S,
) -> impl Future<Output = Poll<Result<(), BoxError>>>
where
    S: Service<Request<B>, Error: Into<BoxError>>,
{
    poll_fn(|cx| Poll::Ready(service.poll_ready(cx).map_err(Into::into)))
}

/// `None` when the time came first.
pub(super) async fn within<F: Future>(limit: Option<Instant>, future: F) -> Option<F::Output> {
    until(limit, pin!(future)).await
}

impl Begun {
    /// The client's answer, within the limit of the attempt.
    pub(super) async fn until_end<F: Future>(&self, call: F) -> Option<F::Output> {
        within(self.limit, call).await
    }
}
