//! One attempt at one instance.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use http::{Request, Response};
use ringfence_balancer::Candidate;
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
pub(super) struct Begun<'c> {
    candidate: &'c Candidate,
    limit: Option<Instant>,
    at: Instant,
    connections: Option<Connections>,
}

/// Within this time an instance tells that the connection which a request went out on was closed before.
const CLOSED_BEFORE: Duration = Duration::from_secs(1);

/// How an attempt ended: the client's answer, or `None` when its time was over.
pub(super) type Ended<R, E> = Option<Result<Response<R>, E>>;

type CallOf<S, B> = <<S as Transport<B>>::Service as Service<Request<B>>>::Future;
type ErrorOf<S, B> = <<S as Transport<B>>::Service as Service<Request<B>>>::Error;

impl<S> Call<'_, S> {
    /// One attempt, from readiness to the response head, or to the `end` of the call where nothing else keeps to that.
    ///
    /// All of it is one future, because each one inside of another costs every call a move of its response.
    pub(super) async fn attempt<B>(
        &mut self,
        candidate: &Candidate,
        delayed: bool,
        end: Option<Instant>,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Result<Response<S::ResponseBody>, Failed>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let begun = self.begun(candidate, trail.begun(delayed));
        let is_last = end.is_some_and(|end| begun.limit.is_none_or(|limit| end <= limit));
        let limit = if is_last { end } else { begun.limit };
        let mut service = self.service(candidate)?;
        let ready = poll_fn(|cx| Poll::Ready(service.poll_ready(cx).map_err(Into::into))).await;
        let ready = match ready {
            Poll::Ready(ready) => Some(ready),
            // What waits lies on the heap: others shall not carry the room for it.
            Poll::Pending => {
                let ready = poll_fn(|cx| service.poll_ready(cx).map_err(Into::into));
                Box::pin(within(limit, ready)).await
            }
        };
        let call = match ready {
            Some(ready) => self.send(service, ready, candidate, delayed, in_hand, trail)?,
            None if is_last => return Err(Failed::Late),
            None => return Err(Failed::unsent(Failure::Unprocessed, self.timeout())),
        };
        let mut call = pin!(call);
        let ended = match limit {
            None => Some(call.await),
            Some(_) => Box::pin(within(limit, call.as_mut())).await,
        };
        match ended {
            Some(Ok(response)) => Ok(response),
            None if is_last => Err(Failed::Late),
            ended => self.judged::<B>(&begun, ended),
        }
    }

    /// Hands the request to the client once that is ready. What comes back needs neither the request nor the trail, so that
    /// another attempt can be made beside it.
    pub(super) async fn begin<'c, B>(
        &mut self,
        candidate: &'c Candidate,
        delayed: bool,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Result<(Begun<'c>, CallOf<S, B>), Failed>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let begun = self.begun(candidate, trail.begun(delayed));
        let mut service = self.service(candidate)?;
        let ready = poll_fn(|cx| service.poll_ready(cx).map_err(Into::into));
        let Some(ready) = within(begun.limit, ready).await else {
            return Err(Failed::unsent(Failure::Unprocessed, self.timeout()));
        };
        let call = self.send(service, ready, candidate, delayed, in_hand, trail)?;
        Ok((begun, call))
    }

    /// `at` is when the attempt began, where somebody has just looked.
    fn begun<'c, B>(&self, candidate: &'c Candidate, at: Option<Instant>) -> Begun<'c>
    where
        S: Transport<B>,
    {
        let now = at.unwrap_or_else(Instant::now);
        let timeout = self.settings.retry.per_try_timeout();
        Begun {
            candidate,
            limit: timeout.and_then(|timeout| now.checked_add(timeout)),
            at: now,
            connections: self
                .transport
                .connections(&target(self.settings, candidate)),
        }
    }

    fn timeout(&self) -> BoxError {
        let timeout = self.settings.retry.per_try_timeout();
        AttemptTimeout(timeout.unwrap_or_default()).into()
    }

    fn service<B>(&self, candidate: &Candidate) -> Result<S::Service, Failed>
    where
        S: Transport<B>,
    {
        let target = target(self.settings, candidate);
        self.transport.service(&target).map_err(Failed::Rejected)
    }

    /// Hands the request to the client, if that is ready.
    fn send<B>(
        &self,
        mut service: S::Service,
        ready: Result<(), BoxError>,
        candidate: &Candidate,
        delayed: bool,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Result<CallOf<S, B>, Failed>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        if let Err(error) = ready {
            let failure = self.settings.classifier.error(&*error);
            return Err(Failed::unsent(failure, error));
        }
        // A permit that comes with the deadline would start what cannot finish.
        if self.is_late() {
            let error = BoxError::from("the deadline passed before it was sent");
            return Err(Failed::unsent(Failure::Local, error));
        }
        // Where it is: a head is large.
        let Some(head) = in_hand.head() else {
            return Err(gone());
        };
        self.transport
            .prepare(head, &target(self.settings, candidate))
            .map_err(Failed::Rejected)?;
        mark(head, trail.seen());
        self.settings.propagator.inject(&mut head.headers);
        if let (true, Some(deadline)) = (delayed, self.deadline) {
            deadline::write_rest(&mut head.headers, deadline, Instant::now());
        }
        let request = in_hand.take().ok_or_else(gone)?;
        trail.sent();
        // The very service that is ready takes the call: readiness does not pass on to clones.
        Ok(service.call(request))
    }

    /// What the end of an attempt means.
    pub(super) fn judged<B>(
        &self,
        begun: &Begun<'_>,
        ended: Ended<S::ResponseBody, ErrorOf<S, B>>,
    ) -> Result<Response<S::ResponseBody>, Failed>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let failed = match ended {
            Some(Ok(response)) => return Ok(response),
            Some(Err(error)) => {
                let instance = begun.candidate.instance();
                Some(Failed::sent(
                    &*self.settings.classifier,
                    instance,
                    error.into(),
                ))
            }
            None => None,
        };
        let before = begun.connections;
        let after = before.and_then(|_| {
            self.transport
                .connections(&target(self.settings, begun.candidate))
        });
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

fn target<'t>(settings: &'t Settings, candidate: &'t Candidate) -> Target<'t> {
    let Settings {
        balancer,
        authority,
        origins,
        ..
    } = settings;
    Target::new(candidate, balancer.service().name(), authority, origins)
}

impl Begun<'_> {
    /// The client's answer, within the limit of the attempt.
    pub(super) async fn until_end<F: Future>(&self, call: F) -> Option<F::Output> {
        within(self.limit, call).await
    }
}
