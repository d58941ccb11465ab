//! What a failed call means for the next one.

use std::{fmt, time::Duration};

use etcd_client::Error;
use ringfence_discovery::{DiscoveryError, ErrorKind};
use tonic::{Code, Status};

use crate::clip::clip;

/// What can be done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// This server does not work now; another one may.
    Node,
    /// The token is not accepted (any more); a new one may be.
    Token,
    /// User and password are refused.
    Credentials,
    /// The user may not do this.
    Denied,
    /// The revision asked for is gone, or not there yet.
    Revision,
    /// The answer is larger than the client takes, or than the server sends.
    TooLarge,
    /// The server wants no login.
    NoLogin,
    /// The lease does not exist.
    #[cfg(feature = "register")]
    NoLease,
    /// There is more than the configuration allows.
    Limit,
    /// The settings make no sense.
    Config,
    /// Something that etcd does not answer.
    Protocol,
}

/// A failed call.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) fault: Fault,
    pub(crate) message: String,
    cause: Option<Error>,
}

impl Failure {
    pub(crate) fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self {
            fault,
            message: message.into(),
            cause: None,
        }
    }

    pub(crate) fn timed_out(what: &str, limit: Duration) -> Self {
        Self::new(Fault::Node, format!("{what} took longer than {limit:?}"))
    }

    /// What the server said when it ended a watch, where codes are not given.
    pub(crate) fn from_cancel(reason: &str) -> Self {
        let lower = reason.to_ascii_lowercase();
        let fault = if lower.contains("invalid auth token")
            || lower.contains("auth store is old")
            || lower.contains("unauthenticated")
        {
            Fault::Token
        } else if lower.contains("permission") || lower.contains("user name is empty") {
            Fault::Denied
        } else if lower.contains("compacted") {
            Fault::Revision
        } else {
            Fault::Node
        };
        Self::new(
            fault,
            format!("the server ended the watch: {}", clip(reason)),
        )
    }

    /// Says which keys were refused, since rights are given for those. `name` is what they hold: a service, or the very key
    /// of a document.
    pub(crate) fn of_keys(mut self, name: &dyn fmt::Display, keys: &str) -> Self {
        if self.fault == Fault::Denied {
            let (name, keys) = (clip(&name.to_string()), clip(keys));
            let refused = if name == keys {
                format!("the key `{keys}`")
            } else {
                format!("the keys of {name}, which begin with `{keys}`")
            };
            self.message = format!("{}; the user has no right to {refused}", self.message);
        }
        self
    }

    pub(crate) fn into_discovery(self, origin: &str) -> DiscoveryError {
        let kind = match self.fault {
            Fault::Node => ErrorKind::Unavailable,
            Fault::Token | Fault::Credentials | Fault::Denied | Fault::NoLogin => {
                ErrorKind::Unauthorized
            }
            Fault::Revision | Fault::TooLarge | Fault::Protocol => ErrorKind::Protocol,
            #[cfg(feature = "register")]
            Fault::NoLease => ErrorKind::Protocol,
            Fault::Limit => ErrorKind::Malformed,
            Fault::Config => ErrorKind::Config,
        };
        let error = DiscoveryError::new(kind, origin, self.message);
        match self.cause {
            Some(cause) => error.with_cause(cause),
            None => error,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (fault, message) = match &error {
            Error::GRpcStatus(status) => (fault_of(status), describe(status)),
            #[cfg(feature = "register")]
            Error::LeaseKeepAliveError(_) => (Fault::NoLease, "the lease is gone".to_owned()),
            Error::InvalidArgs(_) | Error::InvalidUri(_) => (
                Fault::Config,
                "etcd's client refuses the settings".to_owned(),
            ),
            // The request side of a stream is gone, so the connection is.
            Error::IoError(_) | Error::TransportError(_) | Error::WatchError(_) => {
                (Fault::Node, "the connection failed".to_owned())
            }
            _ => (Fault::Protocol, "the answer cannot be used".to_owned()),
        };
        Self {
            fault,
            message,
            cause: Some(error),
        }
    }
}

fn fault_of(status: &Status) -> Fault {
    let text = status.message();
    match status.code() {
        Code::Unauthenticated => Fault::Token,
        Code::InvalidArgument if text.contains("auth store is old") => Fault::Token,
        // etcd tells a wrong password, an unknown user and a missing login like this.
        Code::InvalidArgument if text.contains("authentication") || text.contains("user name") => {
            Fault::Credentials
        }
        Code::FailedPrecondition if text.contains("not enabled") => Fault::NoLogin,
        Code::PermissionDenied => Fault::Denied,
        Code::OutOfRange if text.contains("message length") => Fault::TooLarge,
        Code::ResourceExhausted if text.contains("larger than") => Fault::TooLarge,
        Code::OutOfRange => Fault::Revision,
        #[cfg(feature = "register")]
        Code::NotFound if text.contains("lease") => Fault::NoLease,
        // A broken connection comes as `Unknown`, a timeout as `Cancelled`.
        Code::Unavailable
        | Code::Unknown
        | Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::Internal
        | Code::ResourceExhausted => Fault::Node,
        _ => Fault::Protocol,
    }
}

fn describe(status: &Status) -> String {
    format!("{:?}: {}", status.code(), clip(status.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_etcd_says_is_understood() {
        for (code, text, fault) in [
            (Code::Unavailable, "tcp connect error", Fault::Node),
            (Code::Unavailable, "etcdserver: no leader", Fault::Node),
            (Code::Unknown, "h2 protocol error", Fault::Node),
            (Code::Cancelled, "Timeout expired", Fault::Node),
            (
                Code::Unauthenticated,
                "etcdserver: invalid auth token",
                Fault::Token,
            ),
            (
                Code::InvalidArgument,
                "etcdserver: revision of auth store is old",
                Fault::Token,
            ),
            (
                Code::InvalidArgument,
                "etcdserver: authentication failed, invalid user ID or password",
                Fault::Credentials,
            ),
            (
                Code::InvalidArgument,
                "etcdserver: user name is empty",
                Fault::Credentials,
            ),
            (
                Code::FailedPrecondition,
                "etcdserver: authentication is not enabled",
                Fault::NoLogin,
            ),
            (
                Code::PermissionDenied,
                "etcdserver: permission denied",
                Fault::Denied,
            ),
            (
                Code::OutOfRange,
                "etcdserver: mvcc: required revision has been compacted",
                Fault::Revision,
            ),
            (
                Code::OutOfRange,
                "Error, decoded message length too large: found 1 bytes",
                Fault::TooLarge,
            ),
            (
                Code::InvalidArgument,
                "etcdserver: key is not provided",
                Fault::Protocol,
            ),
            (Code::Unimplemented, "", Fault::Protocol),
        ] {
            assert_eq!(fault_of(&Status::new(code, text)), fault, "{code:?} {text}");
        }
    }

    #[test]
    fn what_ends_a_watch_is_understood() {
        for (reason, fault) in [
            (
                "rpc error: code = Unauthenticated desc = etcdserver: invalid auth token",
                Fault::Token,
            ),
            ("etcdserver: revision of auth store is old", Fault::Token),
            (
                "rpc error: code = PermissionDenied desc = etcdserver: permission denied",
                Fault::Denied,
            ),
            (
                "etcdserver: mvcc: required revision has been compacted",
                Fault::Revision,
            ),
            ("", Fault::Node),
        ] {
            assert_eq!(Failure::from_cancel(reason).fault, fault, "{reason}");
        }
    }

    #[test]
    fn who_lacks_a_right_is_told_to_which_keys() {
        let denied = || Failure::new(Fault::Denied, "denied");
        assert_eq!(
            denied()
                .of_keys(&"/config/policy", "/config/policy")
                .message,
            "denied; the user has no right to the key `/config/policy`"
        );
        assert_eq!(
            denied().of_keys(&"orders", "/ringfence/orders/").message,
            "denied; the user has no right to the keys of orders, which begin with `/ringfence/orders/`"
        );
        let other = Failure::new(Fault::Node, "gone").of_keys(&"orders", "/");
        assert_eq!(other.message, "gone");
    }

    #[test]
    fn foreign_text_is_bounded_and_of_one_line() {
        let failure = Failure::from_cancel(&"a\nb".repeat(10_000));
        assert!(failure.message.len() < 300 && !failure.message.contains('\n'));
    }
}
