use std::{error::Error, sync::Arc};

use nacos_sdk::api::error::Error as SdkError;
use ringfence_discovery::{DiscoveryError, ErrorKind};

use crate::NAME;

/// A failure that all watchers of a service are told of.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    kind: ErrorKind,
    message: Arc<str>,
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl Failure {
    /// `message` is shown in logs: no secrets, and nothing that a server wrote.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            cause: None,
        }
    }

    pub(crate) fn with_cause(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(Arc::from(cause.into()));
        self
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        self.kind
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

impl Failure {
    pub(crate) fn into_error(self) -> DiscoveryError {
        let error = DiscoveryError::new(self.kind, NAME, &*self.message);
        match self.cause {
            Some(cause) => error.with_cause(Box::new(cause) as Box<dyn Error + Send + Sync>),
            None => error,
        }
    }
}

impl From<SdkError> for Failure {
    fn from(error: SdkError) -> Self {
        let (kind, message) = classify(&error);
        Self::new(kind, message).with_cause(error)
    }
}

fn classify(error: &SdkError) -> (ErrorKind, &'static str) {
    const DENIED: (ErrorKind, &str) = (
        ErrorKind::Unauthorized,
        "the server refuses the credentials or the access",
    );
    const UNREACHABLE: (ErrorKind, &str) = (ErrorKind::Unavailable, "no server can be reached");
    match error {
        SdkError::ErrResponse(_, _, 401 | 403, _) => DENIED,
        SdkError::ErrResponse(..) => (ErrorKind::Unavailable, "the server answers with an error"),
        // The library puts the server's answer into a text, code and all.
        SdkError::ErrResult(text) if says_denied(text) => DENIED,
        SdkError::ErrResult(text) if text.starts_with("handle ") => {
            (ErrorKind::Unavailable, "the server answers with an error")
        }
        SdkError::Serialization(_) => (ErrorKind::Malformed, "the server's answer cannot be read"),
        SdkError::InvalidParam(..) | SdkError::WrongServerAddress(_) => {
            (ErrorKind::Config, "the client library refuses the settings")
        }
        // By number, since tonic is no dependency of ours.
        SdkError::TonicGrpcStatus(status) => match i32::from(status.code()) {
            7 | 16 => DENIED,
            3 | 11 | 12 => (
                ErrorKind::Protocol,
                "the server's answer is not what its protocol allows",
            ),
            _ => UNREACHABLE,
        },
        SdkError::GrpcBufferRequest(inner) => inner
            .downcast_ref::<SdkError>()
            .map_or(UNREACHABLE, classify),
        _ => UNREACHABLE,
    }
}

fn says_denied(text: &str) -> bool {
    ["error_code=403,", "error_code=401,"]
        .iter()
        .any(|code| text.contains(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denials_are_told_from_outages_in_all_forms_that_the_library_has() {
        let denied = |error: SdkError| Failure::from(error).kind() == ErrorKind::Unauthorized;
        assert!(denied(SdkError::ErrResponse(
            None,
            500,
            403,
            Some("unknown user!".into())
        )));
        assert!(denied(SdkError::ErrResult(
            "handle get_all_instances failed: result_code=500, error_code=403, message=token expired!".into()
        )));
        let nested: Box<dyn Error + Send + Sync> =
            Box::new(SdkError::ErrResponse(None, 500, 403, None));
        assert!(denied(SdkError::GrpcBufferRequest(nested)));
        assert!(!denied(SdkError::ErrResult(
            "the connection is not connected".into()
        )));
        assert!(!denied(SdkError::ErrResponse(None, 500, 500, None)));
    }

    /// One record without a field, and names that are no UTF-8, spoil the library's whole answer.
    #[test]
    fn an_answer_that_cannot_be_read_is_a_failure_and_no_list() {
        let broken = serde_json::from_slice::<String>(b"\"\xff\"").expect_err("no text");
        let nested: Box<dyn Error + Send + Sync> = Box::new(SdkError::Serialization(broken));
        let kind = Failure::from(SdkError::GrpcBufferRequest(nested)).kind();
        assert_eq!(kind, ErrorKind::Malformed);
    }

    #[test]
    fn what_a_server_wrote_is_only_in_the_cause() {
        let error = SdkError::ErrResponse(None, 500, 403, Some("token abc.def is bad".into()));
        let error = Failure::from(error).into_error();
        assert!(!format!("{error} {error:?}").contains("abc.def"));
        assert!(error.source().is_some());
    }
}
