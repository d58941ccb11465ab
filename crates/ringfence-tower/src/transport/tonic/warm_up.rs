//! Connects to new instances before their first request.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, TE};
use http::{Method, Request};
use http_body_util::Full;
use ringfence_balancer::{BoxFuture, Candidate, ProbeError, ServiceKey, WarmUp};
use tonic::body::Body;
use tonic::transport::Channel;
use tower_service::Service as _;

use super::options::Options;
use crate::transport::{Rejection, Target};

/// Makes the connections of new instances, see [`TonicConnector::warm_up`](super::TonicConnector::warm_up).
///
/// ```
/// use std::time::Duration;
/// use ringfence_balancer::Balancer;
/// use ringfence_discovery::MemoryRegistry;
/// use ringfence_tower::{RingfenceLayer, TonicConnector};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let connector = TonicConnector::new();
/// let balancer = Balancer::builder(MemoryRegistry::new(), "orders")
///     .with_warm_up(connector.warm_up(), Duration::from_secs(5))?
///     .build()?;
/// let channel = RingfenceLayer::new(balancer).wrap(connector);
/// # let _ = channel;
/// # Ok(())
/// # }
/// ```
pub struct TonicWarmUp {
    options: Arc<Options>,
}

impl TonicWarmUp {
    pub(super) fn new(options: Arc<Options>) -> Self {
        Self { options }
    }

    async fn connect(&self, candidate: &Candidate, service: &str) -> Result<(), ProbeError> {
        let target = Target::new(candidate, service, None);
        let channels = self.options.channels(&target).map_err(rejected)?;
        let channels = channels.as_ref().as_ref();
        let channels = channels.map_err(|reason| ProbeError::new(reason.as_str()))?;
        let _turn = self.options.warming.acquire().await;
        // What is in flight is wanted, and so is its connection.
        let _in_flight = candidate.begin();
        for channel in channels.all() {
            ask(channel.clone())
                .await
                .map_err(|error| ProbeError::new("no connection").with_cause(error))?;
        }
        Ok(())
    }
}

fn rejected(rejection: Rejection) -> ProbeError {
    let (Rejection::BadRequest(cause) | Rejection::Config(cause)) = rejection;
    ProbeError::new(cause.to_string()).with_cause(cause)
}

/// A `HealthCheckRequest` for the server as a whole: not compressed, no bytes.
const EMPTY_MESSAGE: [u8; 5] = [0; 5];

async fn ask(mut channel: Channel) -> Result<(), tonic::transport::Error> {
    let message = Body::new(Full::new(Bytes::from_static(&EMPTY_MESSAGE)));
    let mut request = Request::new(message);
    *request.method_mut() = Method::POST;
    *request.uri_mut() = http::Uri::from_static("/grpc.health.v1.Health/Check");
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(TE, HeaderValue::from_static("trailers"));
    poll_fn(|cx| channel.poll_ready(cx)).await?;
    channel.call(request).await.map(drop)
}

impl WarmUp for TonicWarmUp {
    fn warm<'a>(
        &'a self,
        candidate: &'a Candidate,
        service: &'a ServiceKey,
    ) -> BoxFuture<'a, Result<(), ProbeError>> {
        Box::pin(self.connect(candidate, service.name()))
    }
}

impl fmt::Debug for TonicWarmUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TonicWarmUp").finish_non_exhaustive()
    }
}
