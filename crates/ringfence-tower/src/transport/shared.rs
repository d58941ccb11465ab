//! Any HTTP client, shared by all instances.

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
        Ok(self.clone())
    }

    fn prepare(&self, head: &mut Parts, target: &Target<'_>) -> Result<(), Rejection> {
        let origin = target.origin();
        let origin = origin
            .as_ref()
            .as_ref()
            .map_err(|error| Rejection::Config(error.as_str().into()))?;
        uri::point_at(head, &origin.scheme, &origin.authority)
            .map_err(|error| Rejection::BadRequest(error.into()))?;
        uri::set_host(head, origin.host.as_ref());
        Ok(())
    }
}
