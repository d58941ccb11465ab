//! Any HTTP client, shared by all instances.

#[cfg(feature = "tonic")]
use std::any::TypeId;

use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::origin::scheme;
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
        let address = target
            .address()
            .map_err(|error| Rejection::Config(error.to_string().into()))?;
        let scheme = scheme(target.instance().scheme());
        uri::point_at(head, scheme, address.clone())
            .map_err(|error| Rejection::BadRequest(error.into()))?;
        uri::set_host(head, target.host());
        Ok(())
    }
}

#[cfg(feature = "tonic")]
const CHANNEL: &str = "a `Channel` is bound to one address and ignores the instance: wrap \
                       `TonicConnector` instead";
