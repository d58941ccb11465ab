//! Any HTTP client, shared by all instances.

#[cfg(feature = "tonic")]
use std::any::TypeId;

use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::{Rejection, Target, Transport};
use crate::error::{BoxError, Error};
use crate::uri;

impl<S, B, R> Transport<B> for S
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    R: Body,
{
    type ResponseBody = R;
    type Error = Error;
    type Service = S;

    fn service(&self, _target: &Target<'_>) -> Result<S, Rejection> {
        // Its type fits, yet every request would go to the address that it was made for.
        #[cfg(feature = "tonic")]
        if TypeId::of::<S>() == TypeId::of::<tonic::transport::Channel>() {
            return Err(Rejection::Config(CHANNEL.into()));
        }
        Ok(self.clone())
    }

    fn untouched(&self) -> Option<S> {
        Some(self.clone())
    }

    fn prepare(&self, head: &mut Parts, target: &Target<'_>) -> Result<(), Rejection> {
        target.with_origin(|origin| {
            let origin = origin
                .as_ref()
                .map_err(|error| Rejection::Config(error.as_str().into()))?;
            uri::point_at(head, &origin.scheme, &origin.authority)
                .map_err(|error| Rejection::BadRequest(error.into()))?;
            uri::set_host(head, origin.host.as_ref());
            Ok(())
        })
    }
}

#[cfg(feature = "tonic")]
const CHANNEL: &str = "a `Channel` is bound to one address and ignores the instance: wrap \
                       `TonicConnector` instead";
