use std::future::{Future, poll_fn};
use std::ops::RangeInclusive;
use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;
use http::header::{HOST, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, StatusCode};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use ringfence_balancer::{BoxFuture, ConfigError, Probe, ProbeError};
use ringfence_core::{Instance, Scheme};
use tokio::net::TcpStream;

/// Asks an instance by `GET` over HTTP/1.1 in plain text.
///
/// The status decides; the body is not read. Each check makes a connection of its own and closes it, so it is neither in the
/// pool of the program's client nor among the instance's requests.
///
/// It has no TLS: an instance whose scheme is `https` fails, unless [`with_port`](Self::with_port) names a port that speaks plain
/// text. Redirects are not followed.
///
/// # Examples
/// ```
/// use ringfence_balancer::{Balancer, HealthCheckConfig};
/// use ringfence_discovery::MemoryRegistry;
/// use ringfence_tower::HttpProbe;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let probe = HttpProbe::new("/healthz")?.with_statuses(200..=204)?;
/// let balancer = Balancer::builder(MemoryRegistry::new(), "cart")
///     .with_health_check(probe, HealthCheckConfig::default())
///     .build()?;
/// # let _ = balancer;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpProbe {
    path: PathAndQuery,
    statuses: RangeInclusive<u16>,
    host: Option<HeaderValue>,
    port: Option<u16>,
}

impl HttpProbe {
    /// Asks for this path, which begins with `/` and may have a query. Statuses 200..=299 pass.
    ///
    /// # Errors
    /// [`ConfigError`] if it is no path.
    pub fn new(path: &str) -> Result<Self, ConfigError> {
        let refused = || ConfigError::refused("path", path.to_owned(), "a path that begins with /");
        let parsed = path.starts_with('/').then(|| path.parse().ok()).flatten();
        Ok(Self {
            path: parsed.ok_or_else(refused)?,
            statuses: 200..=299,
            host: None,
            port: None,
        })
    }

    /// Statuses that pass; within 100..=999, default 200..=299.
    ///
    /// # Errors
    /// [`ConfigError`] if an end is out of the range, or there is nothing between them.
    pub fn with_statuses(mut self, statuses: RangeInclusive<u16>) -> Result<Self, ConfigError> {
        ConfigError::check("statuses", *statuses.end(), 100..=999)?;
        ConfigError::check("statuses", *statuses.start(), 100..=*statuses.end())?;
        self.statuses = statuses;
        Ok(self)
    }

    /// What the header `Host` says; default is the address of the instance.
    #[must_use]
    pub fn with_host(mut self, host: HeaderValue) -> Self {
        self.host = Some(host);
        self
    }

    /// Asks at another port of the instance's host, where servers have one for that.
    #[must_use]
    pub fn with_port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    async fn ask(&self, instance: &Instance) -> Result<StatusCode, ProbeError> {
        if self.port.is_none() && instance.scheme() == Scheme::Https {
            return Err(ProbeError::new(
                "the instance wants TLS, which this probe has not",
            ));
        }
        let address = instance.address();
        let port = self.port.unwrap_or_else(|| address.port());
        let host = match &self.host {
            Some(host) => host.clone(),
            None => host_of(address.host(), port).map_err(fault)?,
        };
        let request = Request::get(self.path.as_str())
            .header(HOST, host)
            .header(USER_AGENT, "ringfence-probe")
            .body(Empty::<Bytes>::new())
            .map_err(fault)?;
        let stream = TcpStream::connect((address.host(), port)).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(fault)?;
        // The two halves of one connection: it moves only while it is polled, and ends with this future.
        let mut connection = pin!(connection);
        let mut answer = pin!(sender.send_request(request));
        let mut is_open = true;
        let answer = poll_fn(|cx| {
            if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                return Poll::Ready(answer);
            }
            // Its error, if any, reaches the request, too.
            is_open = is_open && connection.as_mut().poll(cx).is_pending();
            answer.as_mut().poll(cx)
        });
        Ok(answer.await.map_err(fault)?.status())
    }
}

/// With brackets where it is an IPv6 address.
fn host_of(host: &str, port: u16) -> Result<HeaderValue, http::header::InvalidHeaderValue> {
    if host.contains(':') {
        return HeaderValue::try_from(format!("[{host}]:{port}"));
    }
    HeaderValue::try_from(format!("{host}:{port}"))
}

fn fault(error: impl std::error::Error + Send + Sync + 'static) -> ProbeError {
    ProbeError::new(error.to_string()).with_cause(error)
}

impl Probe for HttpProbe {
    fn probe<'a>(&'a self, instance: &'a Instance) -> BoxFuture<'a, Result<(), ProbeError>> {
        Box::pin(async move {
            let status = self.ask(instance).await?.as_u16();
            if self.statuses.contains(&status) {
                return Ok(());
            }
            Err(ProbeError::new(format!("status {status}")))
        })
    }
}
