//! Opens TCP connections to one instance.

use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use ringfence_balancer::Presence;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{self, Instant};
use tonic::transport::Endpoint;
use tower_service::Service;

use super::counted::{Counted, Tally};
use super::lifetime::Limits;
use super::options::Options;
use super::resolve::Resolver;
use super::when_woken::WhenWoken;
use crate::error::BoxError;

/// How long an instance is not dialled again after the first failed attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// At most, where it refuses: that costs next to nothing, and whoever is left when all others die may just have come back.
const MAX_PAUSE_REFUSED: Duration = Duration::from_millis(100);
/// At most, where it does not answer: each attempt makes requests wait.
const MAX_PAUSE_SILENT: Duration = Duration::from_secs(1);

/// Dials one address, whatever URI it is asked for: that one carries the service's name.
///
/// tonic connects for one waiting request after the other. With a peer that swallows packets each
/// would wait for the connect timeout in turn; so a failure answers those that wait already too.
#[derive(Clone)]
pub(super) struct Dialer {
    http: HttpConnector<Resolver>,
    address: Uri,
    timeout: Duration,
    connecting: Arc<Semaphore>,
    limits: Limits,
    /// Of the node that the connection is for, if it is for one.
    presence: Option<Presence>,
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
pub(crate) struct DialError {
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
    #[error("waited {0:?} for its turn to connect, see `with_max_connecting`")]
    NoTurn(Duration),
    #[error("nobody waits for it any more")]
    NotWanted,
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

impl DialError {
    /// Whether the instance was not even asked.
    pub(crate) fn is_local(&self) -> bool {
        matches!(*self.cause, Cause::NoTurn(_) | Cause::NotWanted)
    }

    fn is_not_wanted(&self) -> bool {
        matches!(*self.cause, Cause::NotWanted)
    }

    fn new(cause: Cause) -> Self {
        Self {
            cause: Arc::new(cause),
            is_old: false,
        }
    }
}

impl Dialer {
    pub(super) fn new(
        address: Uri,
        options: &Options,
        endpoint: &Endpoint,
        presence: Option<&Presence>,
        tally: &Arc<Tally>,
    ) -> Self {
        let timeout = options.connect_timeout;
        let mut http = HttpConnector::new_with_resolver(Resolver::new(options.resolver.clone()));
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
            // What is asked of an instance beside the requests must not wait for their turns, and fail for it.
            connecting: match presence {
                Some(_) => Arc::clone(&options.connecting),
                None => Arc::new(Semaphore::new(1)),
            },
            limits: Limits::of(options),
            presence: presence.cloned(),
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
        let turn = time::timeout(self.timeout, Arc::clone(&self.connecting).acquire_owned()).await;
        let Ok(turn) = turn else {
            return Err(DialError::new(Cause::NoTurn(self.timeout)));
        };
        // Those who wanted it may have gone meanwhile.
        if self
            .presence
            .as_ref()
            .is_some_and(|presence| presence.in_flight() == 0)
        {
            return Err(DialError::new(Cause::NotWanted));
        }
        let dialled = time::timeout(self.timeout, self.http.call(self.address.clone())).await;
        drop(turn);
        let cause = match dialled {
            Ok(Ok(connection)) => {
                *self.pause() = Pause::default();
                let lifetime = match self.presence {
                    Some(presence) => self.limits.lifetime(presence, Arc::clone(&self.tally)),
                    None => WhenWoken::new(pending()),
                };
                let counted = Counted::new(connection.into_inner(), self.tally, lifetime);
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
        let max = match *cause {
            Cause::Connect(_) => MAX_PAUSE_REFUSED,
            _ => MAX_PAUSE_SILENT,
        };
        self.length = (self.length * 2).clamp(FIRST_PAUSE, max);
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
        // tonic polls this only while a request waits for it: what is begun must not stop half-way, with its turn to connect.
        Box::pin(Dial::begin(self.clone()))
    }
}

/// How old the result of a dial may be. It was made for callers that went away, and says nothing of the instance now.
const FRESH: Duration = Duration::from_secs(1);

type Dialled = (Result<TokioIo<Counted>, DialError>, Instant);

/// A dial under way; it ends when this is dropped.
struct Dial {
    dialer: Dialer,
    running: JoinHandle<Dialled>,
}

impl Dial {
    fn begin(dialer: Dialer) -> Self {
        let running = Self::spawn(&dialer);
        Self { dialer, running }
    }

    fn spawn(dialer: &Dialer) -> JoinHandle<Dialled> {
        let dial = dialer.clone().dial();
        tokio::spawn(async { (dial.await, Instant::now()) })
    }
}

impl Future for Dial {
    type Output = Result<TokioIo<Counted>, DialError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let (result, at) = match ready!(Pin::new(&mut self.running).poll(cx)) {
                Ok(dialled) => dialled,
                Err(error) => {
                    let cause = Cause::Connect(error.into());
                    return Poll::Ready(Err(DialError::new(cause)));
                }
            };
            let is_wanted = !matches!(&result, Err(error) if error.is_not_wanted());
            if is_wanted && at.elapsed() <= FRESH {
                return Poll::Ready(result);
            }
            // Whoever polls wants it now.
            self.running = Self::spawn(&self.dialer);
        }
    }
}

impl Drop for Dial {
    fn drop(&mut self) {
        self.running.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 20 failed attempts in a row, each made as soon as it may be: how long the last one is remembered.
    fn last_pause(cause: impl Fn() -> Cause) -> Duration {
        let (mut pause, mut now) = (Pause::default(), Instant::now());
        let mut last = Duration::ZERO;
        for _ in 0..20 {
            pause.begin(now, Arc::new(cause()));
            assert!(pause.current(now).is_some_and(|error| error.is_old));
            last = pause.length;
            now += last;
            assert!(pause.current(now).is_none(), "asked again after {last:?}");
        }
        last
    }

    /// A server that was away for long, and is back just when all others die, is not taken for dead for long.
    #[test]
    fn who_refuses_is_asked_again_sooner_than_who_is_silent() {
        assert_eq!(
            last_pause(|| Cause::Connect("refused".into())),
            MAX_PAUSE_REFUSED
        );
        let silent = || Cause::Timeout(Duration::from_secs(1));
        assert_eq!(last_pause(silent), MAX_PAUSE_SILENT);
    }
}
