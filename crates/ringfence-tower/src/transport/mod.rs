//! How a request gets to the instance that was chosen for it.

mod connections;
mod origin;
mod shared;
#[cfg(feature = "tonic")]
mod tonic;

use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

pub use self::connections::Connections;
pub use self::origin::{Authority, Target};
#[cfg(feature = "tonic")]
pub(crate) use self::tonic::DialError;
#[cfg(feature = "tonic")]
pub use self::tonic::{LentChannel, Resolve, ResolveFuture, TonicConnector, TonicWarmUp};
use crate::error::{BoxError, Error};

/// Gives the service that carries a request to an instance.
///
/// Implemented for
/// - every `Service<http::Request<B>, Response = http::Response<_>>` that is `Clone`, such as
///   hyper-util's client: one client for all instances, pointed at each by the URI;
/// - `TonicConnector` (feature `tonic`), which keeps connections of its own for each instance.
///
/// A client that is bound to one address does not fit, even where its type does: it ignores the
/// URI. A tonic `Channel` is such a one; with the feature `tonic` its calls fail with
/// [`ErrorKind::Config`](crate::ErrorKind::Config).
///
/// Implement it for a client that wants a service for each instance; keep these with
/// [`Target::attachment`], so that they live exactly as long as the instance.
///
/// ```
/// use http::request::Parts;
/// use ringfence_balancer::AttachmentKey;
/// use ringfence_tower::{IntoBodyError, Rejection, Target, Transport};
/// use tokio::sync::Semaphore;
/// use tower::limit::ConcurrencyLimit;
///
/// /// Lets each instance have ten requests at a time, over any other transport, with whatever body that one takes.
/// #[derive(Clone)]
/// struct TenEach<T> {
///     inner: T,
///     limits: AttachmentKey<Semaphore>,
/// }
///
/// impl<B, T: Transport<B>> Transport<B> for TenEach<T> {
///     type ResponseBody = T::ResponseBody;
///     type Error = T::Error;
///     type Service = ConcurrencyLimit<T::Service>;
///
///     fn service(&self, target: &Target<'_>) -> Result<Self::Service, Rejection> {
///         let limit = target.attachment(&self.limits, || Semaphore::new(10));
///         Ok(ConcurrencyLimit::with_semaphore(self.inner.service(target)?, limit))
///     }
///
///     fn prepare(&self, head: &mut Parts, target: &Target<'_>) -> Result<(), Rejection> {
///         self.inner.prepare(head, target)
///     }
///
///     fn body_error() -> Option<IntoBodyError<Self::ResponseBody>> {
///         T::body_error()
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot carry requests with the body `{B}` for Ringfence",
    label = "not a `Transport<{B}>`",
    note = "a transport is `TonicConnector`, or a `Clone` service from `http::Request<{B}>` to `http::Response<_>` with an error that converts into a boxed one",
    note = "all of it has to be `Send + 'static`, its future included"
)]
pub trait Transport<B>: Clone + Send + 'static {
    /// Body of the responses.
    type ResponseBody: Body;
    /// What the caller gets when there is no response.
    type Error: From<Error>;
    /// The service of one instance. Each attempt gets its own, which is polled ready and then
    /// called once; it is dropped at once if the attempt ends earlier.
    type Service: Service<
            Request<B>,
            Response = Response<Self::ResponseBody>,
            Error: Into<BoxError>,
            Future: Send,
        > + Send;

    /// The service that reaches this instance. Called for each attempt, so it must be cheap.
    ///
    /// # Errors
    /// A [`Rejection`], which ends the request.
    fn service(&self, target: &Target<'_>) -> Result<Self::Service, Rejection>;

    /// Makes the head of the request fit for this instance. Called before each attempt.
    ///
    /// # Errors
    /// A [`Rejection`], which ends the request.
    fn prepare(&self, head: &mut Parts, target: &Target<'_>) -> Result<(), Rejection>;

    /// The service that takes a request as it is and finds the instance by itself, for
    /// [`Baseline::untouched`](crate::Baseline::untouched). Without one (the default) there is always an instance chosen.
    fn untouched(&self) -> Option<Self::Service> {
        None
    }

    /// How an [`Error`] becomes one of a response body. Where there is a way, the deadline of a
    /// call ends its response body too; without one (the default) it ends with the response head.
    #[must_use]
    fn body_error() -> Option<IntoBodyError<Self::ResponseBody>> {
        None
    }

    /// Whether the service looks at the extensions of a request. Where it does not, they are not
    /// copied for a further attempt.
    fn keeps_extensions(&self) -> bool {
        true
    }

    /// What is known of the connections to an instance; `None` (the default) where nothing is.
    ///
    /// An attempt that ran out of time while it waited for a connection was surely not sent, so every request may hop then,
    /// and nothing of the retry budget is used. One whose connection had been closed while it was idle says nothing about the
    /// instance, and costs nothing either. Called before each attempt and after it failed, so it must be cheap.
    fn connections(&self, target: &Target<'_>) -> Option<Connections> {
        let _ = target;
        None
    }

    /// [`service`](Self::service), with the [`connections`](Self::connections) as they were before it: what each attempt begins
    /// with. To be implemented where it is less work to find both at once.
    ///
    /// # Errors
    /// As of [`service`](Self::service).
    fn open(&self, target: &Target<'_>) -> Result<(Self::Service, Option<Connections>), Rejection> {
        let connections = self.connections(target);
        Ok((self.service(target)?, connections))
    }
}

/// Makes an error of a response body from an [`Error`].
pub type IntoBodyError<R> = fn(Error) -> <R as Body>::Error;

/// Why a transport cannot carry a request: no other instance would help.
#[derive(Debug)]
#[non_exhaustive]
pub enum Rejection {
    /// The request cannot be sent as it is.
    BadRequest(BoxError),
    /// The transport is set up in a way that cannot work.
    Config(BoxError),
}
