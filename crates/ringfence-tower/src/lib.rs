//! tower pieces of Ringfence.

mod attempt;
mod body;
mod classify;
mod deadline;
mod error;
mod head;
mod key;
mod layer;
mod retry;
mod service;
mod transport;
mod uri;

pub use ringfence_core::RequestTags;

pub use self::body::{Body, Replay, RequestBody, ResponseBody};
pub use self::classify::{
    Classify, Failure, Verdict, classify_error, classify_response, classify_trailers,
};
pub use self::error::{BoxError, Error, ErrorKind, FailedAttempt};
pub use self::key::{KeySource, RoutingKey};
pub use self::layer::RingfenceLayer;
pub use self::retry::{Idempotent, RetryPolicy};
pub use self::service::{ResponseFuture, Ringfence};
#[cfg(feature = "tonic")]
pub use self::transport::TonicConnector;
pub use self::transport::{Authority, Rejection, Target, Transport};
