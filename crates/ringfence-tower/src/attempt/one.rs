//! One attempt at one instance.

use std::future::poll_fn;

use http::{Request, Response};
use ringfence_balancer::Candidate;
use tokio::time::Instant;
use tower_service::Service as _;

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
use crate::transport::{Target, Transport};

impl<S> Call<'_, S> {
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
        let Settings {
            balancer,
            authority,
            origins,
            retry,
            ..
        } = self.settings;
        let target = Target::new(candidate, balancer.service().name(), authority, origins);
        let timeout = retry.per_try_timeout();
        let limit = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let before = self.transport.connections(&target);
        let answer = until(limit, self.send(&target, delayed, in_hand, trail)).await;
        if let Some(Ok(response)) = answer {
            return Ok(response);
        }
        let after = before.and_then(|_| self.transport.connections(&target));
        let connections = before.zip(after);
        Err(match answer {
            Some(Err(failed))
                if connections.is_some_and(|(before, after)| before.was_idle(after)) =>
            {
                failed.on_idle_connection()
            }
            Some(Err(failed)) => failed,
            _ => {
                let error = AttemptTimeout(timeout.unwrap_or_default()).into();
                let has_connected =
                    connections.is_none_or(|(before, after)| before.may_have_sent(after));
                match (trail.is_sent(), has_connected) {
                    (true, true) => Failed::timed_out(error),
                    (true, false) => Failed::unsent(Failure::Connect, error),
                    (false, _) => Failed::unsent(Failure::Unprocessed, error),
                }
            }
        })
    }

    async fn send<B>(
        &mut self,
        target: &Target<'_>,
        delayed: bool,
        in_hand: &mut InHand<B>,
        trail: &mut Trail,
    ) -> Result<Response<S::ResponseBody>, Failed>
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
        if let (true, Some(deadline)) = (delayed, self.deadline) {
            deadline::write_rest(&mut head.headers, deadline, Instant::now());
        }
        trail.sent();
        let response = service.call(Request::from_parts(head, body)).await;
        response.map_err(|error| Failed::sent(&**classifier, target.instance(), error.into()))
    }
}
