//! One attempt at one instance.

use std::future::{Future, poll_fn};
use std::pin::pin;
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
    at: Instant,
    connections: Option<Connections>,
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
        let ready = poll_fn(|cx| service.poll_ready(cx).map_err(Into::into));
        let ready = within(begun.limit, ready).await;
        self.may_send(ready, &begun)?;
        let mut call = None;
        let sent = |future| call = Some(future);
        self.is_delayed = true;
        self.send(service, in_hand, trail, sent)?;
        Ok((begun, call.ok_or_else(gone)?))
    }

    /// An attempt begins, which keeps to the `end` of the call if nothing else does.
    pub(super) fn begun(&self, trail: &Trail, end: Option<Instant>) -> Begun {
        let now = trail.begun(self.is_delayed).unwrap_or_else(Instant::now);
        let timeout = self.settings.retry.per_try_timeout();
        let limit = timeout.and_then(|timeout| now.checked_add(timeout));
        let ends_call = end.is_some_and(|end| limit.is_none_or(|limit| end <= limit));
        Begun {
            limit: if ends_call { end } else { limit },
            ends_call,
            at: now,
            connections: None,
        }
    }

    /// The service of the instance.
    pub(super) fn open<B>(&self, trail: &Trail, begun: &mut Begun) -> Result<S::Service, Failed>
    where
        S: Transport<B>,
    {
        let target = self.target(trail)?;
        let (service, connections) = self.transport.open(&target).map_err(Failed::Rejected)?;
        begun.connections = connections;
        Ok(service)
    }

    fn timeout(&self) -> BoxError {
        let timeout = self.settings.retry.per_try_timeout();
        AttemptTimeout(timeout.unwrap_or_default()).into()
    }

    /// Whether the request may be handed to the client, which says that it is `ready`, or has not until the time was over.
    pub(super) fn may_send(
        &self,
        ready: Option<Result<(), BoxError>>,
        begun: &Begun,
    ) -> Result<(), Failed> {
        match ready {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                let failure = self.settings.classifier.error(&*error);
                return Err(Failed::unsent(failure, error));
            }
            None if begun.ends_call => return Err(Failed::Late),
            None => return Err(Failed::unsent(Failure::Unprocessed, self.timeout())),
        }
        // A permit that comes with the deadline would start what cannot finish.
        if self.is_late() {
            let error = BoxError::from("the deadline passed before it was sent");
            return Err(Failed::unsent(Failure::Local, error));
        }
        Ok(())
    }

    /// Hands the request to the client, and the client's call to `sent`.
    pub(super) fn send<B>(
        &self,
        mut service: S::Service,
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
            if let (true, Some(deadline)) = (self.is_delayed, self.deadline) {
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
        let Settings { balancer, host, .. } = &*self.settings;
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
            None if begun.ends_call => return Err(Failed::Late),
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

pub(super) fn gone() -> Failed {
    Failed::unsent(Failure::Local, "the request is gone".into())
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
