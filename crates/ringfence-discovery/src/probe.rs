//! Asking an instance itself whether it serves.

use std::{error::Error, fmt, io, sync::Arc};

use ringfence_core::Instance;

use crate::BoxFuture;

/// Asks one instance whether it serves.
///
/// Health checks, the return of an ejected instance and the guard against lost instances use it. Whoever asks bounds the time and
/// how many run at once, and drops the future when the time is over.
///
/// # Examples
/// ```
/// use ringfence_core::Instance;
/// use ringfence_discovery::{BoxFuture, Probe, ProbeError};
///
/// #[derive(Debug)]
/// struct Allowed(Vec<String>);
///
/// impl Probe for Allowed {
///     fn probe<'a>(&'a self, instance: &'a Instance) -> BoxFuture<'a, Result<(), ProbeError>> {
///         let known = self.0.iter().any(|id| id == instance.id().as_str());
///         Box::pin(async move { if known { Ok(()) } else { Err(ProbeError::new("not allowed")) } })
///     }
/// }
/// # let _ = Allowed(vec![]);
/// ```
pub trait Probe: fmt::Debug + Send + Sync + 'static {
    /// Asks it once.
    ///
    /// # Errors
    /// [`ProbeError`] if it cannot be reached or says that it does not serve.
    ///
    /// # Cancel safety
    /// The future may be dropped at any time, and lets go of all its sockets then.
    fn probe<'a>(&'a self, instance: &'a Instance) -> BoxFuture<'a, Result<(), ProbeError>>;
}

impl<P: Probe + ?Sized> Probe for Arc<P> {
    fn probe<'a>(&'a self, instance: &'a Instance) -> BoxFuture<'a, Result<(), ProbeError>> {
        (**self).probe(instance)
    }
}

type Cause = Box<dyn Error + Send + Sync>;

/// Why a probe found that an instance does not serve.
#[derive(Debug)]
pub struct ProbeError {
    message: String,
    cause: Option<Cause>,
}

impl ProbeError {
    /// With what was wrong, such as `status 503`.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            cause: None,
        }
    }

    /// Adds the error behind it, which [`Error::source`] gives.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<Cause>) -> Self {
        self.cause = Some(cause.into());
        self
    }
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ProbeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl From<io::Error> for ProbeError {
    fn from(error: io::Error) -> Self {
        Self::new(error.to_string()).with_cause(error)
    }
}

/// Whether the instance takes TCP connections; no byte is sent.
///
/// It finds processes and machines that are gone, not servers that accept and do nothing.
///
/// # Panics
/// Its future panics outside of a tokio runtime with I/O enabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpProbe;

impl Probe for TcpProbe {
    fn probe<'a>(&'a self, instance: &'a Instance) -> BoxFuture<'a, Result<(), ProbeError>> {
        let address = instance.address();
        let host = address.host();
        let port = address.port();
        Box::pin(async move {
            tokio::net::TcpStream::connect((host, port)).await?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn at(address: impl fmt::Display) -> Instance {
        let instance = Instance::builder("a", address.to_string()).build();
        instance.expect("legal")
    }

    #[tokio::test]
    async fn a_listener_passes_and_a_closed_port_does_not() {
        for loopback in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(loopback).expect("a free port");
            let instance = at(listener.local_addr().expect("bound"));
            TcpProbe.probe(&instance).await.expect("it listens");
            drop(listener);
            let error = TcpProbe.probe(&instance).await.expect_err("closed");
            assert!(error.source().is_some(), "{error}");
        }
    }
}
