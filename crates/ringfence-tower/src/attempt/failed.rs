//! An attempt without a response, or with one that is not handed on.

use std::error::Error as StdError;

use http::Response;
use ringfence_balancer::{FailureKind, Outcome};
use ringfence_core::{Instance, Scheme};

use crate::classify::{self, Classify, Failure, GRPC_STATUS};
use crate::error::{BoxError, NoTls};
#[cfg(feature = "tonic")]
use crate::transport::DialError;
use crate::transport::Rejection;

/// What a further attempt takes from the retry budget.
#[derive(Clone, Copy)]
pub(super) enum Cost {
    /// No instance has seen the request yet, so the service has not one request more to serve.
    /// Connecting is limited where it is done.
    Nothing,
    /// An instance has had work with it already.
    Budget,
}

impl Cost {
    fn after(failure: Failure) -> Self {
        match failure {
            Failure::Connect | Failure::ConnectionClosed => Self::Nothing,
            _ => Self::Budget,
        }
    }
}

/// Why an attempt gave no response.
pub(super) enum Failed {
    /// It failed in a way that may permit another one.
    Attempt {
        failure: Failure,
        outcome: Outcome,
        /// Of the next attempt.
        cost: Cost,
        error: BoxError,
    },
    /// No instance could have served it.
    Rejected(Rejection),
    /// The deadline of the call passed.
    Late,
}

impl Failed {
    /// The client failed with the request in its hands.
    pub(super) fn sent(classifier: &dyn Classify, instance: &Instance, error: BoxError) -> Self {
        if lacks_tls(&*error, instance) {
            return Self::Rejected(Rejection::Config(NoTls(error).into()));
        }
        if was_not_dialled(&*error) {
            return Self::unsent(Failure::Unprocessed, error);
        }
        let failure = classifier.error(&*error);
        let outcome = match failure {
            Failure::Connect => Outcome::Failure(FailureKind::Connect),
            Failure::Unprocessed | Failure::Broken => Outcome::Failure(FailureKind::Reset),
            Failure::Timeout => Outcome::Failure(FailureKind::Timeout),
            Failure::Local | Failure::ConnectionClosed => Outcome::Neutral,
        };
        Self::Attempt {
            failure,
            outcome,
            cost: Cost::after(failure),
            error,
        }
    }

    /// The connection broke that had been idle: its peer may close it at any time, and is not to blame for that.
    pub(super) fn on_idle_connection(self) -> Self {
        match self {
            Self::Attempt {
                failure: Failure::Broken,
                error,
                ..
            } => Self::Attempt {
                failure: Failure::Broken,
                outcome: Outcome::Neutral,
                cost: Cost::Nothing,
                error,
            },
            other => other,
        }
    }

    /// No answer in time.
    pub(super) fn timed_out(error: BoxError) -> Self {
        Self::Attempt {
            failure: Failure::Timeout,
            outcome: Outcome::Failure(FailureKind::Timeout),
            cost: Cost::Budget,
            error,
        }
    }

    /// The request never left: another instance may take it, and if it was not the connection that
    /// failed, the instance is not to blame.
    pub(super) fn unsent(failure: Failure, error: BoxError) -> Self {
        let (failure, outcome) = match failure {
            Failure::Connect => (failure, Outcome::Failure(FailureKind::Connect)),
            Failure::Local => (failure, Outcome::Neutral),
            _ => (Failure::Unprocessed, Outcome::Neutral),
        };
        Self::Attempt {
            failure,
            outcome,
            cost: Cost::Nothing,
            error,
        }
    }
}

pub(super) fn status_text<R>(response: &Response<R>) -> String {
    match response.headers().get(&GRPC_STATUS) {
        Some(status) => format!("grpc-status {}", String::from_utf8_lossy(status.as_bytes())),
        None => format!("status {}", response.status()),
    }
}

/// Whether the connector did not even try to connect, because too many connections are being made.
fn was_not_dialled(error: &(dyn StdError + 'static)) -> bool {
    #[cfg(feature = "tonic")]
    {
        let mut next = Some(error);
        while let Some(link) = next {
            if let Some(error) = link.downcast_ref::<DialError>() {
                return error.is_local();
            }
            next = classify::cause(link);
        }
    }
    let _ = error;
    false
}

/// Whether the client refused the URI of an instance that wants TLS, as hyper-util's plain
/// connector does. It would refuse it for each such instance.
fn lacks_tls(error: &(dyn StdError + 'static), instance: &Instance) -> bool {
    if instance.scheme() != Scheme::Https {
        return false;
    }
    let mut next = Some(error);
    while let Some(link) = next {
        if link.to_string().contains("scheme is not http") {
            return true;
        }
        next = classify::cause(link);
    }
    false
}
