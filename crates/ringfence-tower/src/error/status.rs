//! The one place in which an [`Error`] becomes a gRPC status.

use std::error::Error as StdError;
use std::sync::Arc;

use tonic::{Code, Status};

use super::{AttemptTimeout, Error, ErrorKind};
use crate::classify;

impl From<Error> for Status {
    /// The code follows the kind; the message is the error's text. The [`Error`] itself is the
    /// status's source and can be downcast from there.
    fn from(error: Error) -> Self {
        let mut status = match error.kind() {
            ErrorKind::Transport | ErrorKind::BudgetExhausted => transport(&error),
            kind => Self::new(code(kind), error.to_string()),
        };
        status.set_source(Arc::new(error));
        status
    }
}

fn code(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::DeadlineExceeded => Code::DeadlineExceeded,
        ErrorKind::Overloaded => Code::ResourceExhausted,
        ErrorKind::KeyRequired | ErrorKind::BadRequest => Code::InvalidArgument,
        ErrorKind::Config => Code::FailedPrecondition,
        ErrorKind::NotReady
        | ErrorKind::NoInstances
        | ErrorKind::NoSuchService
        | ErrorKind::AttemptsExhausted
        | ErrorKind::BudgetExhausted
        | ErrorKind::ShutDown
        | ErrorKind::Transport => Code::Unavailable,
    }
}

/// A call that broke is unavailable, unless the cause is a status of its own, such as the one with
/// which the caller's request stream failed.
fn transport(error: &Error) -> Status {
    let message = error.to_string();
    let mut next = StdError::source(error);
    while let Some(cause) = next {
        if let Some(status) = cause.downcast_ref::<Status>() {
            let details = status.details().to_vec().into();
            let metadata = status.metadata().clone();
            return Status::with_details_and_metadata(status.code(), message, details, metadata);
        }
        if cause.is::<tonic::TimeoutExpired>() || cause.is::<AttemptTimeout>() {
            return Status::deadline_exceeded(message);
        }
        next = classify::cause(cause);
    }
    Status::unavailable(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_can_be_had_back() {
        let error = Error::new(ErrorKind::DeadlineExceeded, "orders");
        let status = Status::from(error);
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert_eq!(status.message(), "service `orders`: deadline exceeded");
        let error = status
            .source()
            .and_then(|source| source.downcast_ref::<Error>())
            .expect("the typed error");
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
    }

    #[test]
    fn a_status_inside_keeps_its_code() {
        let error = Error::new(ErrorKind::Transport, "orders")
            .with_source(Status::invalid_argument("bad item"));
        let status = Status::from(error);
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(
            status.message().starts_with("service `orders`"),
            "{}",
            status.message()
        );
    }
}
