use std::{error::Error, fmt, sync::Arc};

/// What kind of failure a [`DiscoveryError`] is, so that all sources agree on what a caller may do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The registry cannot be reached or does not answer now; trying again helps.
    Unavailable,
    /// The registry refuses the credentials or the access; trying again helps once someone grants it.
    Unauthorized,
    /// The registry answered something that its protocol does not allow.
    Protocol,
    /// The data itself cannot be read: a broken file, a list of the wrong shape.
    Malformed,
    /// The source is set up wrongly; trying again does not help.
    Config,
}

impl ErrorKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Unavailable,
        Self::Unauthorized,
        Self::Protocol,
        Self::Malformed,
        Self::Config,
    ];

    /// The kind as one lower-case word, for metric labels.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Unauthorized => "unauthorized",
            Self::Protocol => "protocol",
            Self::Malformed => "malformed",
            Self::Config => "config",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

type Cause = Box<dyn Error + Send + Sync>;
/// Shared, so that an error can both be handed on and be kept for a status.
type SharedCause = Arc<dyn Error + Send + Sync>;

/// Why a source could not say what a service's instances are. It never means that there are none.
///
/// `Display` and `Debug` show the source's name and the message only: the message must hold no secret, and the cause, which
/// may come from a client library that prints URLs with credentials, is reachable through [`Error::source`] alone.
///
/// # Examples
/// ```
/// use std::error::Error;
/// use ringfence_discovery::{DiscoveryError, ErrorKind};
///
/// let io = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
/// let error = DiscoveryError::new(ErrorKind::Unavailable, "zk", "no server answers").with_cause(io);
/// assert_eq!(error.to_string(), "zk: no server answers");
/// assert_eq!(error.kind(), ErrorKind::Unavailable);
/// assert!(error.source().is_some());
/// ```
#[derive(Clone)]
pub struct DiscoveryError {
    kind: ErrorKind,
    origin: Arc<str>,
    message: String,
    cause: Option<SharedCause>,
}

impl DiscoveryError {
    /// An error of the source called `origin`. `message` is shown in logs: no secrets in it.
    pub fn new(kind: ErrorKind, origin: impl AsRef<str>, message: impl Into<String>) -> Self {
        Self {
            kind,
            origin: origin.as_ref().into(),
            message: message.into(),
            cause: None,
        }
    }

    /// Keeps the error that led to this one.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<Cause>) -> Self {
        self.cause = Some(cause.into().into());
        self
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Name of the source that failed, such as `file` or `consul`.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// What happened, without the source's name.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for DiscoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.message)
    }
}

impl fmt::Debug for DiscoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiscoveryError")
            .field("kind", &self.kind)
            .field("origin", &self.origin)
            .field("message", &self.message)
            .finish_non_exhaustive()
    }
}

impl Error for DiscoveryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_with_a_secret_shows_in_neither_form() {
        let cause = std::io::Error::other("GET http://user:hunter2@registry/");
        let error = DiscoveryError::new(ErrorKind::Unavailable, "x", "gone").with_cause(cause);
        assert!(!format!("{error} {error:?} {error:#?}").contains("hunter2"));
        assert!(
            error
                .source()
                .is_some_and(|c| c.to_string().contains("hunter2"))
        );
    }
}
