//! One attempt at one instance.

use std::future::{Future, poll_fn};
use std::pin::pin;
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
    /// One attempt, from readiness to the response head.
    pub(super) async fn attempt<B>(
        &mut self,
        candidate: &Candidate,
        delayed: bool,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Result<Response<S::ResponseBody>, Failed>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let (begun, call) = self.begin(candidate, delayed, in_hand, trail).await?;
        let ended = begun.until_end(call).await;
        self.judged(&begun, ended)
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
        let timeout = self.settings.retry.per_try_timeout();
        let limit = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let target = target(self.settings, candidate);
        let begun = Begun {
            candidate,
            limit,
            at: Instant::now(),
            connections: self.transport.connections(&target),
        };
        let call = until(limit, pin!(self.send(&target, delayed, in_hand, trail))).await;
        let call =
            call.unwrap_or_else(|| Err(Failed::unsent(Failure::Unprocessed, self.timeout())));
        Ok((begun, call?))
    }

    fn timeout(&self) -> BoxError {
        let timeout = self.settings.retry.per_try_timeout();
        AttemptTimeout(timeout.unwrap_or_default()).into()
    }

    async fn send<B>(
        &mut self,
        target: &Target<'_>,
        delayed: bool,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Result<CallOf<S, B>, Failed>
    where
        S: Transport<B>,
        B: RequestBody,
    {
        let classifier = &self.settings.classifier;
        let mut service = self.transport.service(target).map_err(Failed::Rejected)?;
        // The very service that is ready takes the call: readiness does not pass on to clones.
        if let Err(error) = poll_fn(|cx| service.poll_ready(cx)).await {
            let error = error.into();
            return Err(Failed::unsent(classifier.error(&*error), error));
        }
        // A permit that comes with the deadline would start what cannot finish.
        if self.is_late() {
            let error = BoxError::from("the deadline passed before it was sent");
            return Err(Failed::unsent(Failure::Local, error));
        }
        let Some((mut head, body)) = in_hand.take() else {
            let error = BoxError::from("the request is gone");
            return Err(Failed::unsent(Failure::Local, error));
        };
        self.transport
            .prepare(&mut head, target)
            .map_err(Failed::Rejected)?;
        mark(&mut head, trail.seen());
        self.settings.propagator.inject(&mut head.headers);
        if let (true, Some(deadline)) = (delayed, self.deadline) {
            deadline::write_rest(&mut head.headers, deadline, Instant::now());
        }
        trail.sent();
        Ok(service.call(Request::from_parts(head, body)))
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
        until(self.limit, pin!(call)).await
    }
}
