//! Connections of their own for each instance, for generated tonic clients.

mod channels;
mod connect;
mod counted;
mod dial;
mod lifetime;
mod options;
mod resolve;
mod warm_up;
mod when_woken;

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use ringfence_core::Instance;
use tokio::sync::Semaphore;
use tonic::Status;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};

pub(crate) use self::dial::DialError;
use self::options::Options;
pub use self::resolve::{Resolve, ResolveFuture};
pub use self::warm_up::TonicWarmUp;
use super::{Authority, Connections, IntoBodyError, Rejection, Target, Transport};
use crate::error::BoxError;
use crate::uri::remove_host;

/// Connects to each instance over HTTP/2 for generated tonic clients.
///
/// An instance gets its connections with its first request, or by a [warm-up](Self::warm_up), and keeps them as long as it keeps
/// its id, address and scheme, whatever else the registry changes. When it is gone they close after the last call on them has
/// ended, and at the latest when the [drain limit](Self::with_drain_limit) is over. A lost connection is made anew by the next
/// request; a name in the address is resolved again for that.
///
/// The address of the instance is dialled; `:authority` and the TLS server name are the service's
/// name. The scheme of the instance decides whether TLS is used: `http` instances are called in
/// plain text even if TLS is configured, `https` instances without TLS configured fail with
/// [`ErrorKind::Config`](crate::ErrorKind::Config).
///
/// Callers get a [`tonic::Status`] whose source is the [`Error`](crate::Error).
///
/// ```no_run
/// # use ringfence_echo::{EchoClient, EchoRequest};
/// use ringfence_tower::{RingfenceLayer, RoutingKey, TonicConnector};
///
/// # async fn call(balancer: ringfence_balancer::Balancer) -> Result<(), tonic::Status> {
/// let connector = TonicConnector::new().with_connections_per_instance(2);
/// // Any client that tonic generates.
/// let mut client = EchoClient::new(RingfenceLayer::new(balancer).wrap(connector));
///
/// let mut request = tonic::Request::new(EchoRequest::new("hello"));
/// request.extensions_mut().insert(RoutingKey::from("tenant-7"));
/// let answer = client.unary(request).await?.into_inner();
/// println!("{} says {}", answer.instance, answer.payload);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TonicConnector {
    options: Arc<Options>,
}

impl TonicConnector {
    /// A connector with the defaults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            options: Arc::new(Options::default()),
        }
    }

    /// Connections kept to each instance; default 1, values outside of 1..=64 are moved to the
    /// nearer end. Requests take turns, so more than one helps where a single connection
    /// is limited by its streams or by one core.
    #[must_use]
    pub fn with_connections_per_instance(self, connections: usize) -> Self {
        self.set(|options| options.connections = connections.clamp(1, options::MAX_CONNECTIONS))
    }

    /// Limit for name resolution and TCP handshake together, and again for the TLS handshake;
    /// default 1 s, values outside of 10 ms..=1 h are moved to the nearer end.
    #[must_use]
    pub fn with_connect_timeout(self, timeout: Duration) -> Self {
        self.set(|options| {
            options.connect_timeout = within(timeout, options::CONNECT_TIMEOUTS);
        })
    }

    pub(crate) fn gives_up_after(&self) -> Option<Duration> {
        let (interval, timeout) = self.options.keepalive?;
        Some(interval + timeout)
    }

    /// HTTP/2 pings, idle connections included: one each `interval`, the connection is given up if
    /// none is answered within `timeout`; default 10 s and 5 s. Intervals outside of 1 s..=1 h and
    /// timeouts outside of 100 ms..=1 h are moved to the nearer end.
    #[must_use]
    pub fn with_keepalive(self, interval: Duration, timeout: Duration) -> Self {
        let interval = within(interval, options::PING_INTERVALS);
        let timeout = within(timeout, options::PING_TIMEOUTS);
        self.set(|options| options.keepalive = Some((interval, timeout)))
    }

    /// Sends no HTTP/2 pings. A peer that vanished without a word is then noticed only by deadlines.
    #[must_use]
    pub fn without_keepalive(self) -> Self {
        self.set(|options| options.keepalive = None)
    }

    /// Closes the connections of an instance that has had no request for this long; the next request makes new ones. Default
    /// 5 min, which is less than the 350 s after which AWS's network load balancers forget a connection, so that it is closed
    /// in order and not lost; values outside of 100 ms..=1 h are moved to the nearer end. It is judged four times in that time,
    /// so it may take a quarter longer.
    #[must_use]
    pub fn with_idle_timeout(self, timeout: Duration) -> Self {
        let timeout = within(timeout, options::IDLE_TIMEOUTS);
        self.set(|options| options.idle_timeout = Some(timeout))
    }

    /// Keeps connections however long nobody uses them.
    #[must_use]
    pub fn without_idle_timeout(self) -> Self {
        self.set(|options| options.idle_timeout = None)
    }

    /// How long calls go on that run on an instance which has left the service; then they fail and its connections are closed.
    /// Default 30 s, values above 1 h are lowered to that. New calls do not go there in any case, and an instance that is back
    /// before goes on as if nothing had been.
    #[must_use]
    pub fn with_drain_limit(self, limit: Duration) -> Self {
        let limit = within(limit, options::DRAIN_LIMITS);
        self.set(|options| options.drain_limit = Some(limit))
    }

    /// Lets calls on an instance that has left the service run for as long as they take.
    #[must_use]
    pub fn without_drain_limit(self) -> Self {
        self.set(|options| options.drain_limit = None)
    }

    /// Connections that are made at a time, over all instances; default 16, values outside of 1..=4,096 are moved to the nearer
    /// end. Others wait for their turn in the order in which they came, at most the connect timeout; a request that waited in vain
    /// goes on to the next instance, which needs no retry budget and is no failure of the instance. What nobody waits for any
    /// more is not dialled.
    #[must_use]
    pub fn with_max_connecting(self, connections: usize) -> Self {
        let most = connections.clamp(1, options::MAX_CONNECTING);
        self.set(|options| {
            options.connecting = Arc::new(Semaphore::new(most));
            options.warming = Arc::new(Semaphore::new((most / 2).max(1)));
        })
    }

    /// Who resolves the names of instances whose address is not an IP address, for each connection anew; default: the operating
    /// system.
    #[must_use]
    pub fn with_resolver(self, resolver: impl Resolve) -> Self {
        self.set(|options| options.resolver = Some(Arc::new(resolver)))
    }

    /// Connects to new instances before they get requests, for
    /// [`with_warm_up`](ringfence_balancer::BalancerBuilder::with_warm_up): the connections are those that the requests then use.
    /// It is for clients of this connector and its clones; settings that are changed after this call make another one.
    ///
    /// A connection stands when the instance has answered `grpc.health.v1.Health/Check` on it with whatever status: this
    /// finds out that TLS and HTTP/2 work, too.
    #[must_use]
    pub fn warm_up(&self) -> TonicWarmUp {
        TonicWarmUp::new(Arc::clone(&self.options))
    }

    /// What `:authority` says, and the TLS server name with it; default [`Authority::Service`].
    #[must_use]
    pub fn with_authority(self, authority: Authority) -> Self {
        self.set(|options| options.authority = authority)
    }

    /// Uses TLS for instances whose scheme is `https`. One setting serves all instances. The
    /// certificate is checked against the authority's host, unless the setting has a
    /// [`domain_name`](tonic::transport::ClientTlsConfig::domain_name) or
    /// [`with_server_name`](Self::with_server_name) says otherwise. The limit for the handshake
    /// is the connect timeout.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(self, tls: tonic::transport::ClientTlsConfig) -> Self {
        self.set(|options| options.tls = Some(tls))
    }

    /// The TLS server name, where it is neither the authority's host nor the one of
    /// [`with_tls`](Self::with_tls).
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_server_name(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.set(|options| options.server_name = Some(name))
    }

    /// Everything else: called once for each connection, after the settings above. Window sizes,
    /// user agent, TCP keepalive and the like can be set here. The connect timeout and the local
    /// address of the endpoint are not used; the endpoint's address is the authority.
    #[must_use]
    pub fn with_endpoint<F>(self, configure: F) -> Self
    where
        F: Fn(Endpoint, &Instance) -> Endpoint + Send + Sync + 'static,
    {
        self.set(|options| options.configure = Some(Arc::new(configure)))
    }

    /// A connection that is not among those of the instance, made at the first call and closed with the channel.
    pub(crate) fn own_channel(
        &self,
        instance: &Instance,
        service: &str,
    ) -> Result<Channel, BoxError> {
        self.options.own_channel(instance, service)
    }

    fn set(mut self, change: impl FnOnce(&mut Options)) -> Self {
        let options = Arc::make_mut(&mut self.options);
        change(options);
        // Connections that were made with the former settings belong to the former connector.
        options.renew();
        self
    }
}

fn within(value: Duration, range: RangeInclusive<Duration>) -> Duration {
    value.clamp(*range.start(), *range.end())
}

impl Default for TonicConnector {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TonicConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TonicConnector")
            .field("options", &self.options)
            .finish()
    }
}

impl Transport<Body> for TonicConnector {
    type ResponseBody = Body;
    type Error = Status;
    type Service = Channel;

    fn service(&self, target: &Target<'_>) -> Result<Channel, Rejection> {
        let (channel, _) = self.options.open(target)?;
        Ok(channel)
    }

    fn prepare(&self, head: &mut Parts, _target: &Target<'_>) -> Result<(), Rejection> {
        // The channel writes `:authority`; a second name beside it would be refused by many servers.
        remove_host(&mut head.headers);
        Ok(())
    }

    fn body_error() -> Option<IntoBodyError<Body>> {
        Some(Status::from)
    }

    fn keeps_extensions(&self) -> bool {
        false
    }

    fn connections(&self, target: &Target<'_>) -> Option<Connections> {
        self.options.connections(target)
    }

    fn open(&self, target: &Target<'_>) -> Result<(Channel, Option<Connections>), Rejection> {
        let (channel, connections) = self.options.open(target)?;
        Ok((channel, Some(connections)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stay_in_their_ranges() {
        let hour = Duration::from_secs(3_600);
        let set = |time| {
            let connector = TonicConnector::new().with_connect_timeout(time);
            connector.with_keepalive(time, time).options
        };
        let least = set(Duration::ZERO);
        assert_eq!(least.connect_timeout, Duration::from_millis(10));
        let pings = (Duration::from_secs(1), Duration::from_millis(100));
        assert_eq!(least.keepalive, Some(pings));
        let most = set(Duration::MAX);
        assert_eq!(most.connect_timeout, hour);
        assert_eq!(most.keepalive, Some((hour, hour)));
        let usual = set(Duration::from_secs(2));
        assert_eq!(usual.connect_timeout, Duration::from_secs(2));
        let pings = (Duration::from_secs(2), Duration::from_secs(2));
        assert_eq!(usual.keepalive, Some(pings));
    }
}
