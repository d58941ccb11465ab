//! The service and its future.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use ringfence_balancer::Balancer;
use tower_service::Service;
use tracing::Instrument as _;

use crate::attempt::{self, Call};
use crate::body::{RequestBody, ResponseBody};
use crate::settings::Settings;
use crate::transport::Transport;
use crate::watch::Traced;

/// A client of one service, made by [`RingfenceLayer`](crate::RingfenceLayer).
///
/// It is always ready: which instance a request goes to is known only with the request, so
/// readiness is that of the instance and is awaited in [`call`](Service::call), on a clone of the
/// inner service that then takes the request. Before the balancer's first view a call waits at most
/// the balancer's `ready_timeout`. A clone is a handle to the same client.
///
/// # Cancel safety
/// Dropping the future of a call, at any point, ends the attempt that is running, gives back its
/// in-flight count and readiness, and reports nothing about the instance.
///
/// ```
/// use http::{Request, Response};
/// use ringfence_tower::{Body, RingfenceLayer, RoutingKey};
/// use tower::ServiceExt as _;
/// # use ringfence_balancer::Balancer;
/// # use ringfence_core::Instance;
/// # use ringfence_discovery::{ServiceKey, StaticDiscovery};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let carts = ServiceKey::new("carts");
/// # let instances = [Instance::builder("carts-1", "10.0.0.1:80").build()?];
/// # let source = StaticDiscovery::new().with_service(carts.clone(), instances);
/// # let balancer = Balancer::builder(source, carts).build()?;
/// # let http_client = tower::service_fn(|request: Request<Body>| async move {
/// #     Ok::<_, std::convert::Infallible>(Response::new(request.uri().to_string()))
/// # });
/// let client = RingfenceLayer::new(balancer).wrap(http_client);
/// for tenant in ["tenant-7", "tenant-8"] {
///     let mut request = Request::get("/cart").body(Body::empty())?;
///     request.extensions_mut().insert(RoutingKey::from(tenant));
///     let response = client.clone().oneshot(request).await?;
///     assert_eq!(response.status(), 200);
/// }
/// assert_eq!(client.balancer().status().instances, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Ringfence<S> {
    transport: S,
    settings: Arc<Settings>,
}

impl<S> Ringfence<S> {
    pub(crate) fn new(transport: S, settings: Arc<Settings>) -> Self {
        Self {
            transport,
            settings,
        }
    }

    /// The balancer that is asked.
    #[must_use]
    pub fn balancer(&self) -> &Balancer {
        &self.settings.balancer
    }

    /// The inner service or connector.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        &self.transport
    }

    /// Takes the inner service or connector out.
    #[must_use]
    pub fn into_inner(self) -> S {
        self.transport
    }
}

impl<S, B> Service<Request<B>> for Ringfence<S>
where
    S: Transport<B>,
    B: RequestBody,
{
    type Response = Response<ResponseBody<S::ResponseBody>>;
    type Error = S::Error;
    type Future = ResponseFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        // Not even after a shutdown an error: callers such as tonic's clients would reduce it to a
        // text, where the error of the call keeps its type.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let traced = Traced::begin(&self.settings.balancer, &request);
        let span = traced.as_ref().map(|traced| traced.span().clone());
        let call = Call::new(self.transport.clone(), Arc::clone(&self.settings));
        ResponseFuture {
            inner: match span {
                // Made where it is boxed: it is large.
                None => {
                    let place = Box::new_uninit();
                    let answer = attempt::run(call, request, traced);
                    let answer: Pin<Box<_>> = Box::into_pin(Box::write(place, answer));
                    answer
                }
                Some(span) => {
                    let answer = attempt::run(call, request, traced);
                    Box::pin(answer.instrument(span))
                }
            },
        }
    }
}

impl<S> fmt::Debug for Ringfence<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ringfence")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// The future of a call of [`Ringfence`].
#[must_use = "futures do nothing unless polled"]
pub struct ResponseFuture<T, E> {
    inner: Pin<Box<dyn Future<Output = Result<T, E>> + Send>>,
}

impl<T, E> Future for ResponseFuture<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.inner.as_mut().poll(cx)
    }
}

impl<T, E> fmt::Debug for ResponseFuture<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
