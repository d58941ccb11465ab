//! Opens TCP connections to one instance.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::time::{self, Instant};
use tonic::transport::Endpoint;
use tower_service::Service;

use super::counted::{Counted, Tally};
use crate::error::BoxError;

/// How long an instance is not dialled again after the first failed attempt, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Dials one address, whatever URI it is asked for: that one carries the service's name.
///
/// tonic connects for one waiting request after the other. With a peer that swallows packets each
/// would wait for the connect timeout in turn; so a failure answers those that wait already too.
#[derive(Clone)]
pub(super) struct Dialer {
    http: HttpConnector,
    address: Uri,
    timeout: Duration,
    pause: Arc<Mutex<Pause>>,
    tally: Arc<Tally>,
}

#[derive(Default)]
struct Pause {
    length: Duration,
    until: Option<(Instant, Arc<Cause>)>,
}

/// Why there is no connection.
#[derive(Clone, Debug)]
pub(super) struct DialError {
    cause: Arc<Cause>,
    /// Found out by an attempt a moment ago, not by this one.
    is_old: bool,
}

#[derive(Debug, thiserror::Error)]
enum Cause {
    #[error("cannot connect")]
    Connect(#[source] BoxError),
    #[error("no connection within {0:?}")]
    Timeout(Duration),
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.cause, f)?;
        if self.is_old {
            f.write_str(" a moment ago")?;
        }
        Ok(())
    }
}

impl StdError for DialError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.source()
    }
}

impl Dialer {
    pub(super) fn new(
        address: Uri,
        timeout: Duration,
        endpoint: &Endpoint,
        tally: &Arc<Tally>,
    ) -> Self {
        let mut http = HttpConnector::new();
        // TLS is laid over the connection by tonic.
        http.enforce_http(false);
        http.set_nodelay(endpoint.get_tcp_nodelay());
        http.set_keepalive(endpoint.get_tcp_keepalive());
        http.set_keepalive_interval(endpoint.get_tcp_keepalive_interval());
        http.set_keepalive_retries(endpoint.get_tcp_keepalive_retries());
        // Shared among the addresses of a name; the limit over all is kept below.
        http.set_connect_timeout(Some(timeout));
        Self {
            http,
            address,
            timeout,
            pause: Arc::default(),
            tally: Arc::clone(tally),
        }
    }

    fn pause(&self) -> MutexGuard<'_, Pause> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn dial(mut self) -> Result<TokioIo<Counted>, DialError> {
        if let Some(error) = self.pause().current(Instant::now()) {
            return Err(error);
        }
        let dialled = time::timeout(self.timeout, self.http.call(self.address.clone())).await;
        let cause = match dialled {
            Ok(Ok(connection)) => {
                *self.pause() = Pause::default();
                let counted = Counted::new(connection.into_inner(), self.tally);
                return Ok(TokioIo::new(counted));
            }
            Ok(Err(error)) => Cause::Connect(error.into()),
            Err(_elapsed) => Cause::Timeout(self.timeout),
        };
        let cause = Arc::new(cause);
        self.pause().begin(Instant::now(), Arc::clone(&cause));
        Err(DialError {
            cause,
            is_old: false,
        })
    }
}

impl Pause {
    fn current(&self, now: Instant) -> Option<DialError> {
        let (until, cause) = self.until.as_ref()?;
        (now < *until).then(|| DialError {
            cause: Arc::clone(cause),
            is_old: true,
        })
    }

    fn begin(&mut self, now: Instant, cause: Arc<Cause>) {
        self.length = (self.length * 2).clamp(FIRST_PAUSE, MAX_PAUSE);
        self.until = Some((now + self.length, cause));
    }
}

impl Service<Uri> for Dialer {
    type Response = TokioIo<Counted>;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, DialError>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _named: Uri) -> Self::Future {
        Box::pin(self.clone().dial())
    }
}
