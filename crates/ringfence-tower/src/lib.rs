//! The tower layer of Ringfence: it puts the balancer's choice in front of a tonic or hyper client.
//!
//! [`RingfenceLayer`] wraps either a `TonicConnector`, which keeps connections of its own for each
//! instance and fits under generated tonic clients, or any HTTP client that is a `Clone`
//! `Service<http::Request<B>>`, which serves all instances and is pointed at each by the URI.
//!
//! ```
//! use std::convert::Infallible;
//!
//! use http::{Request, Response};
//! use ringfence_balancer::Balancer;
//! use ringfence_core::Instance;
//! use ringfence_discovery::{ServiceKey, StaticDiscovery};
//! use ringfence_tower::{Body, KeySource, RingfenceLayer, RoutingKey};
//! use tower::{Service, ServiceExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let orders = ServiceKey::new("orders");
//! let instances = [
//!     Instance::builder("orders-1", "10.0.0.1:80").build()?,
//!     Instance::builder("orders-2", "10.0.0.2:80").build()?,
//! ];
//! let source = StaticDiscovery::new().with_service(orders.clone(), instances);
//! let balancer = Balancer::builder(source, orders).build()?;
//!
//! // Stands for hyper-util's `Client<_, Body>`: answers with the URI that it was sent to.
//! let http_client = tower::service_fn(|request: Request<Body>| async move {
//!     Ok::<_, Infallible>(Response::new(request.uri().to_string()))
//! });
//! let mut client = RingfenceLayer::new(balancer)
//!     .with_key(KeySource::extension())
//!     .wrap(http_client);
//!
//! let mut request = Request::get("/orders/7?full=1").body(Body::empty())?;
//! request.extensions_mut().insert(RoutingKey::from("tenant-42"));
//! let response = client.ready().await?.call(request).await?;
//! assert_eq!(response.status(), 200);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//! None is on by default.
//!
//! | feature | gives |
//! |---|---|
//! | `tonic` | `TonicConnector`, `GrpcHealthProbe`, tonic's bodies, errors as `tonic::Status` |
//! | `tls` | TLS in the connector; includes `tonic` |
//! | `hyper` | what is known of hyper-util's client: its connect failures, its incoming bodies; `HttpProbe` |
//!
//! # What a request goes through
//! 1. The balancer's policy, if there is one and it is on, finds rule, key, trusted tags, pools and limits. Else the
//!    [`Baseline`] decides, by default with the key from the layer's [`KeySource`]s and the tags from the extension
//!    [`RequestTags`]. Headers that name tags and are not trusted by the rule go no further; so do the extensions
//!    [`RoutingKey`], [`RequestTags`], [`Idempotent`] and the tokens of a tag authority.
//! 2. The balancer picks the owner of the key. Only where that fails, or before a hedged call, those behind it are looked for, up to
//!    `max_attempts` together, in the view that is the latest then. Under a policy, with tags, without a key, with limits, with
//!    instances that are ejected or on trial, and with other algorithms than the own ring all of them are picked at once, and a view
//!    that is swapped meanwhile changes nothing.
//! 3. One candidate after the other: the service of that instance is awaited ready, and that very
//!    service gets the request. What [`RetryPolicy`] allows to go on takes a hop from the service's retry
//!    budget, unless no instance has seen the request yet, as after a refused connection.
//! 4. The response is handed on as it comes. The [`ResponseBody`] counts as in flight until it ends.
//!
//! # Guarantees
//! | what | how |
//! |---|---|
//! | bytes are the caller's | bodies, trailers, path and query are never changed; scheme, authority and `Host` are |
//! | a write is not done twice | only what surely was not processed is sent again, unless the request is declared idempotent |
//! | an attempt sends the whole body or fails | repeated from what was kept, then read on; an outdated attempt never ends cleanly |
//! | a policy that observes changes nothing | with [`Baseline::untouched`] targets and bytes are those without the layer |
//! | one policy for a call | it and the view that was made with it are read once; without a policy the instances behind the owner are those of the latest view |
//! | bounded memory | at most `replay_limit` bytes of a request are kept, nothing once a response is accepted |
//! | the deadline holds | `grpc-timeout` ends waiting, hops and response; each hop announces what is left |
//! | nothing leaks | counts and permits come back when a future or body is dropped, at any point |
//! | errors say where | service, pool and every attempt with its instance and reason; the last cause is the source |
//!
//! # Limits
//! - The deadline is read from `grpc-timeout` only; around other calls put a timeout layer. With a
//!   shared client it ends at the response head.
//! - A body of a type of its own is sent once; wrap it in [`Body`] to let it hop.
//! - An instance that leaves keeps its running calls for as long as the transport lets them; `TonicConnector` for 30 s by default.

mod attempt;
mod baseline;
mod body;
mod classify;
mod deadline;
mod error;
mod findings;
mod head;
mod key;
mod layer;
mod probe;
mod propagate;
mod retry;
mod service;
mod settings;
mod transport;
mod uri;
mod watch;

pub use ringfence_core::RequestTags;
pub use ringfence_policy::RoutingKey;

pub use self::baseline::Baseline;
pub use self::body::{Body, Replay, RequestBody, ResponseBody};
pub use self::classify::{
    Classify, Failure, Verdict, classify_error, classify_response, classify_trailers,
};
pub use self::error::{BoxError, Error, ErrorKind, FailedAttempt};
pub use self::key::KeySource;
pub use self::layer::RingfenceLayer;
#[cfg(feature = "tonic")]
pub use self::probe::GrpcHealthProbe;
#[cfg(feature = "hyper")]
pub use self::probe::HttpProbe;
pub use self::retry::{Idempotent, RetryPolicy};
pub use self::service::{ResponseFuture, Ringfence};
pub use self::transport::{Authority, Connections, IntoBodyError, Rejection, Target, Transport};
#[cfg(feature = "tonic")]
pub use self::transport::{LentChannel, Resolve, ResolveFuture, TonicConnector, TonicWarmUp};
