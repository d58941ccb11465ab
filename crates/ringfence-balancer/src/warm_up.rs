use std::fmt;

use ringfence_discovery::{BoxFuture, Probe, ProbeError, ServiceKey};

use crate::Candidate;

/// Makes a new instance ready for requests: connects to it, or asks whether it serves.
///
/// Every [`Probe`] is one. One that keeps what it made with [`Node::attachment`](crate::Node::attachment) lets the requests use it.
/// See [`BalancerBuilder::with_warm_up`](crate::BalancerBuilder::with_warm_up).
///
/// # Examples
/// ```
/// use ringfence_balancer::{AttachmentKey, Candidate, WarmUp};
/// use ringfence_discovery::{BoxFuture, ProbeError, ServiceKey};
/// use tokio::{net::TcpStream, sync::Mutex};
///
/// #[derive(Debug)]
/// struct Connect(AttachmentKey<Mutex<Option<TcpStream>>>);
///
/// impl WarmUp for Connect {
///     fn warm<'a>(
///         &'a self,
///         candidate: &'a Candidate,
///         _service: &'a ServiceKey,
///     ) -> BoxFuture<'a, Result<(), ProbeError>> {
///         let address = candidate.instance().address();
///         let slot = candidate.node().attachment(&self.0, Mutex::default);
///         Box::pin(async move {
///             let connection = TcpStream::connect((address.host(), address.port())).await?;
///             *slot.lock().await = Some(connection);
///             Ok(())
///         })
///     }
/// }
/// # let _ = Connect(AttachmentKey::unique());
/// ```
pub trait WarmUp: fmt::Debug + Send + Sync + 'static {
    /// Makes the instance ready.
    ///
    /// # Errors
    /// [`ProbeError`] if that fails; it is tried again until the timeout.
    ///
    /// # Cancel safety
    /// The future is dropped at the timeout, and when the instance goes.
    fn warm<'a>(
        &'a self,
        candidate: &'a Candidate,
        service: &'a ServiceKey,
    ) -> BoxFuture<'a, Result<(), ProbeError>>;
}

impl<P: Probe> WarmUp for P {
    fn warm<'a>(
        &'a self,
        candidate: &'a Candidate,
        _service: &'a ServiceKey,
    ) -> BoxFuture<'a, Result<(), ProbeError>> {
        self.probe(candidate.instance())
    }
}
