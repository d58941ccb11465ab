//! Attempts without a response.

use ringfence_balancer::{FailureKind, Outcome};

use crate::classify::Failure;
use crate::error::BoxError;
use crate::transport::Rejection;

/// What a further attempt takes from the retry budget.
#[derive(Clone, Copy)]
pub(super) enum Cost {
    /// No instance has seen the request yet, so the service has not one request more to serve. Connecting is limited where
    /// it is done.
    Nothing,
    /// An instance has had work with it already.
    Budget,
}

impl Cost {
    pub(super) fn after(failure: Failure, sent: bool) -> Self {
        if failure == Failure::Connect || !sent {
            Self::Nothing
        } else {
            Self::Budget
        }
    }
}

/// Why an attempt gave no response.
pub(super) enum Failed {
    /// It failed in a way that may permit another one.
    Attempt {
        failure: Failure,
        outcome: Outcome,
        error: BoxError,
    },
    /// No instance could have served it.
    Rejected(Rejection),
}

impl Failed {
    pub(super) fn sent(failure: Failure, error: BoxError) -> Self {
        let outcome = match failure {
            Failure::Connect => Outcome::Failure(FailureKind::Connect),
            Failure::Unprocessed | Failure::Broken => Outcome::Failure(FailureKind::Reset),
            Failure::Timeout => Outcome::Failure(FailureKind::Timeout),
            Failure::Local => Outcome::Neutral,
        };
        Self::Attempt {
            failure,
            outcome,
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
            error,
        }
    }
}
