//! A call as if the layer were not there.

use std::future::poll_fn;

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::Answer;
use super::choose::Untouched;
use crate::body::ResponseBody;
use crate::error::{BoxError, Error, ErrorKind};
use crate::settings::Settings;

pub(super) async fn pass<S, B, R>(
    untouched: Untouched<S>,
    settings: &Settings,
    request: Request<B>,
) -> Result<Answer<R>, Error>
where
    S: Service<Request<B>, Response = Response<R>, Error: Into<BoxError>>,
    R: Body,
{
    let Untouched { service, observed } = untouched;
    let answer = send(service, request).await.map(Response::into_parts);
    if let Some(suggestion) = observed {
        let actual = answer.as_ref().ok();
        let actual = actual.and_then(|(head, _)| settings.baseline.instance_of(head));
        settings.balancer.observed(&suggestion, actual.as_deref());
    }
    match answer {
        Ok((head, body)) => Ok(Response::from_parts(head, ResponseBody::untracked(body))),
        Err(error) => Err(Error::new(ErrorKind::Transport, &settings.service).with_source(error)),
    }
}

async fn send<S, B, R>(mut service: S, request: Request<B>) -> Result<Response<R>, BoxError>
where
    S: Service<Request<B>, Response = Response<R>, Error: Into<BoxError>>,
{
    poll_fn(|cx| service.poll_ready(cx))
        .await
        .map_err(Into::into)?;
    service.call(request).await.map_err(Into::into)
}
