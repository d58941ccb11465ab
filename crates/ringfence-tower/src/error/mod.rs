//! What went wrong, where, and what was tried.

#[cfg(feature = "tonic")]
mod status;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ringfence_balancer::{CallOutcome, PickError};
use ringfence_core::{Address, Instance, InstanceId};

use crate::classify;

/// Any error, boxed.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// What kind of failure an [`Error`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The registry has not answered within the balancer's `ready_timeout`.
    NotReady,
    /// The registry knows the service, but no pool for this request has a usable instance.
    NoInstances,
    /// The registry does not know the service.
    NoSuchService,
    /// The request has no key, and the balancer takes only requests with one.
    KeyRequired,
    /// A limit of the balancer's [`ConcurrencyLimits`](ringfence_balancer::ConcurrencyLimits) is reached; the request was not
    /// sent.
    Overloaded,
    /// Each attempt that was allowed failed in a way that permits another one.
    AttemptsExhausted,
    /// Another attempt of a request that an instance had seen was permitted, but the service's
    /// retry budget is used up.
    BudgetExhausted,
    /// The deadline of the call passed.
    DeadlineExceeded,
    /// The request cannot be sent to any instance: its URI or method does not allow it.
    BadRequest,
    /// The transport is set up in a way that cannot work, for example no TLS for a TLS instance.
    Config,
    /// The balancer was shut down, or its task ended with its runtime.
    ShutDown,
    /// The attempt failed in a way that does not permit another one.
    Transport,
}

impl ErrorKind {
    /// What a call ends with that fails so.
    #[must_use]
    pub fn outcome(self) -> CallOutcome {
        match self {
            Self::NotReady => CallOutcome::NotReady,
            Self::NoInstances => CallOutcome::NoInstances,
            Self::NoSuchService => CallOutcome::NoSuchService,
            Self::KeyRequired => CallOutcome::KeyRequired,
            Self::Overloaded => CallOutcome::Overloaded,
            Self::AttemptsExhausted => CallOutcome::AttemptsExhausted,
            Self::BudgetExhausted => CallOutcome::BudgetExhausted,
            Self::DeadlineExceeded => CallOutcome::DeadlineExceeded,
            Self::BadRequest => CallOutcome::BadRequest,
            Self::Config => CallOutcome::Config,
            Self::ShutDown => CallOutcome::ShutDown,
            Self::Transport => CallOutcome::Transport,
        }
    }
}

/// One attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedAttempt {
    instance: InstanceId,
    address: Address,
    reason: Box<str>,
}

impl FailedAttempt {
    pub(crate) fn new(instance: &Instance, reason: impl fmt::Display) -> Self {
        Self {
            instance: instance.id().clone(),
            address: instance.address().clone(),
            reason: reason.to_string().into_boxed_str(),
        }
    }

    /// The instance that was tried.
    #[must_use]
    pub fn instance(&self) -> &InstanceId {
        &self.instance
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Why it failed, as text.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for FailedAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.instance, self.address, self.reason)
    }
}

/// A request that got no response, with where and why.
///
/// [`source`](StdError::source) is the last real cause; [`attempts`](Self::attempts) lists all.
///
/// ```
/// use ringfence_tower::{Error, ErrorKind};
///
/// fn is_worth_an_alarm(error: &Error) -> bool {
///     match error.kind() {
///         ErrorKind::Config | ErrorKind::NoSuchService => true,
///         _ => error.attempts().len() > 1,
///     }
/// }
/// # let _ = is_worth_an_alarm;
/// ```
// Boxed, so that a `Result` stays small on the path on which nothing fails.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    service: Box<str>,
    rule: Option<Arc<str>>,
    pool: Option<Box<str>>,
    attempts: Vec<FailedAttempt>,
    source: Option<BoxError>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, service: impl fmt::Display) -> Self {
        Self(Box::new(Inner {
            kind,
            service: service.to_string().into_boxed_str(),
            rule: None,
            pool: None,
            attempts: Vec::new(),
            source: None,
        }))
    }

    #[must_use]
    pub(crate) fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    #[must_use]
    pub(crate) fn with_rule(mut self, rule: Option<Arc<str>>) -> Self {
        self.0.rule = rule;
        self
    }

    #[must_use]
    pub(crate) fn with_pool(mut self, pool: impl fmt::Display) -> Self {
        self.0.pool = Some(pool.to_string().into_boxed_str());
        self
    }

    #[must_use]
    pub(crate) fn with_attempts(mut self, attempts: Vec<FailedAttempt>) -> Self {
        self.0.attempts = attempts;
        self
    }

    pub(crate) fn from_pick(error: PickError, service: impl fmt::Display) -> Self {
        let kind = match &error {
            PickError::NotReady { .. } => ErrorKind::NotReady,
            PickError::NoSuchService { .. } => ErrorKind::NoSuchService,
            PickError::KeyRequired { .. } => ErrorKind::KeyRequired,
            PickError::Overloaded { .. } => ErrorKind::Overloaded,
            PickError::ShutDown { .. } | PickError::TaskGone { .. } => ErrorKind::ShutDown,
            // The enum may grow; whatever comes, no instance was found.
            _ => ErrorKind::NoInstances,
        };
        Self::new(kind, service).with_source(error)
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The service that was called, as `namespace/name` if it has a namespace.
    #[must_use]
    pub fn service(&self) -> &str {
        &self.0.service
    }

    /// The rule of the policy, if the policy decided the request.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        self.0.rule.as_deref()
    }

    /// The selector of the pool from which the instances came, if one was chosen.
    #[must_use]
    pub fn pool(&self) -> Option<&str> {
        self.0.pool.as_deref()
    }

    /// The attempts that failed, in order.
    #[must_use]
    pub fn attempts(&self) -> &[FailedAttempt] {
        &self.0.attempts
    }

    /// Whether the same request may succeed later, without a change to it or to the program.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        !matches!(
            self.0.kind,
            ErrorKind::KeyRequired
                | ErrorKind::BadRequest
                | ErrorKind::Config
                | ErrorKind::ShutDown
        )
    }

    fn pick_error(&self) -> Option<&PickError> {
        self.0.source.as_ref()?.downcast_ref()
    }

    fn what(&self) -> &'static str {
        match self.0.kind {
            ErrorKind::NotReady => "not ready",
            ErrorKind::NoInstances => "no usable instance",
            ErrorKind::NoSuchService => "no such service",
            ErrorKind::KeyRequired => "a key is required",
            ErrorKind::Overloaded => "overloaded",
            ErrorKind::AttemptsExhausted => "all attempts failed",
            ErrorKind::BudgetExhausted => "the retry budget is used up",
            ErrorKind::DeadlineExceeded => "deadline exceeded",
            ErrorKind::BadRequest => "bad request",
            ErrorKind::Config => "wrong configuration",
            ErrorKind::ShutDown => "shut down",
            ErrorKind::Transport => "the attempt failed",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(error) = self.pick_error() {
            // It names the service, and what the registry's error shows of its cause.
            if let Some(rule) = &self.0.rule {
                write!(f, "rule `{rule}`: ")?;
            }
            return fmt::Display::fmt(error, f);
        }
        write!(f, "service `{}`", self.0.service)?;
        if let Some(rule) = &self.0.rule {
            write!(f, ", rule `{rule}`")?;
        }
        if let Some(pool) = &self.0.pool {
            write!(f, ", pool `{pool}`")?;
        }
        match self.0.attempts.len() {
            0 => {}
            1 => f.write_str(", 1 attempt")?,
            many => write!(f, ", {many} attempts")?,
        }
        write!(f, ": {}", self.what())?;
        for (index, attempt) in self.0.attempts.iter().enumerate() {
            let separator = if index == 0 { ": " } else { "; " };
            write!(f, "{separator}{attempt}")?;
        }
        // The attempts tell their causes themselves.
        match &self.0.source {
            Some(source) if self.0.attempts.is_empty() => write!(f, ": {}", Causes(&**source)),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("service", &self.0.service)
            .field("rule", &self.0.rule)
            .field("pool", &self.0.pool)
            .field("attempts", &self.0.attempts)
            .field("source", &self.0.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .source
            .as_ref()
            .map(|source| &**source as &(dyn StdError + 'static))
    }
}

/// An error with its causes in one line. Links that repeat what was said already are left out.
pub(crate) struct Causes<'a>(pub(crate) &'a (dyn StdError + 'static));

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = self.0.to_string();
        let mut next = classify::cause(self.0);
        while let Some(error) = next {
            let text = error.to_string();
            if !said.contains(&text) {
                said.push_str(": ");
                said.push_str(&text);
            }
            next = classify::cause(error);
        }
        f.write_str(&said)
    }
}

/// What the body of an attempt fails with once the request went on to another instance.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the request went on to another instance")]
pub(crate) struct Superseded;

/// The client in the layer opens plain connections only.
#[derive(Debug, thiserror::Error)]
#[error("the instance wants TLS, which the client does not speak: use an HTTPS connector")]
pub(crate) struct NoTls(#[source] pub(crate) BoxError);

/// An attempt had no response head within the policy's per-try timeout.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("no response within {0:?}")]
pub(crate) struct AttemptTimeout(pub(crate) Duration);

#[cfg(test)]
mod tests {
    use std::{io, sync::Arc};

    use ringfence_discovery::DiscoveryError;

    use super::*;

    fn attempt(id: &str, address: &str, reason: &str) -> FailedAttempt {
        let instance = Instance::builder(id, address).build().expect("valid");
        FailedAttempt::new(&instance, reason)
    }

    #[test]
    fn says_where_and_why() {
        let error = Error::new(ErrorKind::AttemptsExhausted, "orders")
            .with_pool("version=v1")
            .with_attempts(vec![
                attempt("order-1", "10.0.0.1:80", "connection refused"),
                attempt("order-2", "[::1]:80", "timed out"),
            ])
            .with_source(io::Error::from(io::ErrorKind::TimedOut));
        assert_eq!(
            error.to_string(),
            "service `orders`, pool `version=v1`, 2 attempts: all attempts failed: \
             order-1 (10.0.0.1:80): connection refused; order-2 ([::1]:80): timed out"
        );
        assert!(
            error
                .source()
                .is_some_and(|source| source.is::<io::Error>())
        );
        assert_eq!(error.attempts()[1].address().port(), 80);
    }

    #[test]
    fn without_attempts_the_cause_is_told() {
        let error =
            Error::new(ErrorKind::BadRequest, "orders").with_source(io::Error::other("no path"));
        assert_eq!(error.to_string(), "service `orders`: bad request: no path");
        assert!(!error.is_temporary());
    }

    #[test]
    fn what_the_balancer_says_is_said_once_and_without_what_it_keeps_to_itself() {
        let last_error = DiscoveryError::new(
            ringfence_discovery::ErrorKind::Unavailable,
            "consul",
            "no server answers",
        );
        let error = PickError::NotReady {
            service: "orders".into(),
            waited: Duration::from_secs(5),
            last_error: Some(Arc::new(
                last_error.with_cause(io::Error::other("GET http://user:hunter2@registry/")),
            )),
        };
        let error = Error::from_pick(error, "orders");
        assert_eq!(
            error.to_string(),
            "service orders is not ready after 5s; discovery last failed with: consul: no server answers"
        );
        assert_eq!(error.kind(), ErrorKind::NotReady);
        let error = Error::from_pick(
            PickError::ShutDown {
                service: "orders".into(),
            },
            "orders",
        );
        assert_eq!(
            error.to_string(),
            "the balancer of service orders was shut down"
        );
    }

    #[test]
    fn causes_do_not_repeat_themselves() {
        let inner = io::Error::other("refused");
        let outer = io::Error::other(inner);
        assert_eq!(Causes(&outer).to_string(), "refused");
    }
}
