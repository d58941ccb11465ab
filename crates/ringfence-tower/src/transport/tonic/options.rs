//! Settings of the connector.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use ringfence_balancer::AttachmentKey;
use ringfence_core::Instance;
use tokio::sync::Semaphore;
use tonic::transport::Endpoint;

use super::channels::Channels;
use super::resolve::Resolve;
use crate::transport::Authority;

pub(super) const MAX_CONNECTIONS: usize = 64;
const HOUR: Duration = Duration::from_secs(3_600);
// Beyond these hyper's timers overflow or spin.
pub(super) const CONNECT_TIMEOUTS: RangeInclusive<Duration> = Duration::from_millis(10)..=HOUR;
pub(super) const IDLE_TIMEOUTS: RangeInclusive<Duration> = Duration::from_millis(100)..=HOUR;
pub(super) const DRAIN_LIMITS: RangeInclusive<Duration> = Duration::ZERO..=HOUR;
pub(super) const MAX_CONNECTING: usize = 4_096;
pub(super) const PING_INTERVALS: RangeInclusive<Duration> = Duration::from_secs(1)..=HOUR;
pub(super) const PING_TIMEOUTS: RangeInclusive<Duration> = Duration::from_millis(100)..=HOUR;

type Configure = Arc<dyn Fn(Endpoint, &Instance) -> Endpoint + Send + Sync>;

#[derive(Clone)]
pub(super) struct Options {
    pub(super) connections: usize,
    pub(super) connecting: Arc<Semaphore>,
    /// Half of these at most are for warm-ups.
    pub(super) warming: Arc<Semaphore>,
    pub(super) idle_timeout: Option<Duration>,
    pub(super) drain_limit: Option<Duration>,
    pub(super) resolver: Option<Arc<dyn Resolve>>,
    pub(super) connect_timeout: Duration,
    pub(super) keepalive: Option<(Duration, Duration)>,
    pub(super) authority: Authority,
    pub(super) configure: Option<Configure>,
    #[cfg(feature = "tls")]
    pub(super) tls: Option<tonic::transport::ClientTlsConfig>,
    #[cfg(feature = "tls")]
    pub(super) server_name: Option<String>,
    pub(super) channels: AttachmentKey<Result<Arc<Channels>, String>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: 1,
            connecting: Arc::new(Semaphore::new(16)),
            warming: Arc::new(Semaphore::new(8)),
            idle_timeout: Some(Duration::from_secs(300)),
            drain_limit: Some(Duration::from_secs(30)),
            resolver: None,
            connect_timeout: Duration::from_secs(1),
            keepalive: Some((Duration::from_secs(10), Duration::from_secs(5))),
            authority: Authority::Service,
            configure: None,
            #[cfg(feature = "tls")]
            tls: None,
            #[cfg(feature = "tls")]
            server_name: None,
            channels: AttachmentKey::unique(),
        }
    }
}

impl Options {
    pub(super) fn renew(&mut self) {
        self.channels = AttachmentKey::unique();
    }
}

// TLS settings hold the client's key: only whether there are any is shown.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options = f.debug_struct("Options");
        options
            .field("connections", &self.connections)
            .field("connecting", &self.connecting.available_permits())
            .field("idle_timeout", &self.idle_timeout)
            .field("drain_limit", &self.drain_limit)
            .field("resolver", &self.resolver)
            .field("connect_timeout", &self.connect_timeout)
            .field("keepalive", &self.keepalive)
            .field("authority", &self.authority)
            .field("configure", &self.configure.is_some());
        #[cfg(feature = "tls")]
        options
            .field("tls", &self.tls.is_some())
            .field("server_name", &self.server_name);
        options.finish_non_exhaustive()
    }
}
