use std::{sync::Arc, time::Duration};

use crate::{Codec, Credentials, EtcdTls, NativeCodec, discovery::NAME};

/// Where etcd is, how to talk to it, and how the records in it look.
///
/// # Examples
/// ```
/// use ringfence_etcd::{EtcdConfig, KratosCodec};
///
/// let config = EtcdConfig::new(["10.0.0.1:2379", "10.0.0.2:2379", "10.0.0.3:2379"])
///     .with_user("reader", "hunter2")
///     .with_codec(KratosCodec::default());
/// assert!(!format!("{config:?}").contains("hunter2"));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EtcdConfig {
    pub(crate) endpoints: Vec<String>,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) tls: Option<EtcdTls>,
    pub(crate) codec: Arc<dyn Codec>,
    pub(crate) connect_timeout: Duration,
    pub(crate) request_timeout: Duration,
    pub(crate) keep_alive: Duration,
    pub(crate) silence_timeout: Duration,
    pub(crate) page_size: u16,
    pub(crate) max_keys: usize,
    pub(crate) max_value_len: usize,
    #[cfg(feature = "register")]
    pub(crate) lease_ttl: Duration,
}

/// Why an [`EtcdConfig`] cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EtcdConfigError {
    /// There is no endpoint.
    #[error("at least one endpoint is needed")]
    NoEndpoints,
    /// An endpoint is no `host:port` and no `http` or `https` URL of one. Its text is not shown: it may hold a password.
    #[error(
        "endpoint {position} is not of the form [http[s]://]host:port, without user, path and query"
    )]
    Endpoint {
        /// Its position in the list, from 1.
        position: usize,
    },
    /// An endpoint says `http` and TLS is set up, or says `https` and TLS is not.
    #[error("endpoint {position} has scheme {scheme}, which does not fit the TLS settings")]
    Scheme {
        /// Its position in the list, from 1.
        position: usize,
        /// Its scheme.
        scheme: &'static str,
    },
    /// The CA given holds no usable certificate.
    #[error("the CA has no usable certificate in PEM form")]
    Ca,
    /// The client certificate or its key cannot be read.
    #[error("the client certificate or its private key is not in PEM form")]
    Identity,
    /// A number is outside its range.
    #[error("{name} must be {range}")]
    Range {
        /// Which setting.
        name: &'static str,
        /// Its legal range.
        range: &'static str,
    },
}

impl EtcdConfig {
    /// The servers of one cluster, each as `host:port`, `http://host:port` or `https://host:port`. One is used at a time; which
    /// is first is drawn, so that many clients spread.
    pub fn new<E: Into<String>>(endpoints: impl IntoIterator<Item = E>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            credentials: None,
            tls: None,
            codec: Arc::new(NativeCodec::default()),
            connect_timeout: Duration::from_secs(1),
            request_timeout: Duration::from_secs(3),
            keep_alive: Duration::from_secs(10),
            silence_timeout: Duration::from_secs(10),
            page_size: 500,
            max_keys: 50_000,
            max_value_len: 64 * 1024,
            #[cfg(feature = "register")]
            lease_ttl: Duration::from_secs(15),
        }
    }

    /// Logs in as this user; default: no login.
    #[must_use]
    pub fn with_user(self, user: impl Into<String>, password: impl Into<String>) -> Self {
        self.with_credentials(Credentials::new(user, password))
    }

    /// Logs in with what `credentials` gives; default: no login.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Encrypts the connections; default: plain text.
    #[must_use]
    pub fn with_tls(mut self, tls: EtcdTls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Keys and values are laid out like this; default [`NativeCodec`].
    #[must_use]
    pub fn with_codec(mut self, codec: impl Codec) -> Self {
        self.codec = Arc::new(codec);
        self
    }

    /// Time to connect to one server; default 1 s, above zero.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Time for one call to one server, connecting and login included; default 3 s, above zero. Another server is tried after
    /// it.
    #[must_use]
    pub fn with_request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    /// Interval of HTTP/2 pings while a call or watch is open; default 10 s, at least 6 s: etcd ends connections that ping more
    /// often than every 5 s.
    #[must_use]
    pub fn with_keep_alive(mut self, interval: Duration) -> Self {
        self.keep_alive = interval;
        self
    }

    /// How long a watch may be silent before the server is asked for its progress; default 10 s ± 20 %, above zero. A watch
    /// whose server does not answer that within the request timeout is given up, and another server used.
    #[must_use]
    pub fn with_silence_timeout(mut self, timeout: Duration) -> Self {
        self.silence_timeout = timeout;
        self
    }

    /// Keys read per request; default 500, at least 1. Fewer are read where large values need it.
    #[must_use]
    pub fn with_page_size(mut self, keys: u16) -> Self {
        self.page_size = keys;
        self
    }

    /// Most keys of one service; default 50,000, at least 1. A service with more is an error, never a cut list.
    #[must_use]
    pub fn with_max_keys(mut self, keys: usize) -> Self {
        self.max_keys = keys;
        self
    }

    /// Longest value that is looked at; default 64 KiB, at least 1. A longer one is left out and counted.
    #[must_use]
    pub fn with_max_value_len(mut self, bytes: usize) -> Self {
        self.max_value_len = bytes;
        self
    }

    /// How long a registration outlives its process; default 15 s, 1 s to 1 h, in whole seconds. It is renewed every third of
    /// that.
    #[cfg(feature = "register")]
    #[must_use]
    pub fn with_lease_ttl(mut self, ttl: Duration) -> Self {
        self.lease_ttl = ttl;
        self
    }

    /// Names what is read: the cluster and how its records are understood, and no user.
    pub(crate) fn registry(&self) -> String {
        let mut endpoints: Vec<_> = self.endpoints.iter().map(|text| authority(text)).collect();
        endpoints.sort_unstable();
        endpoints.dedup();
        format!("{NAME} {} {:?}", endpoints.join(","), self.codec)
    }

    pub(crate) fn check(&self) -> Result<(), EtcdConfigError> {
        if self.endpoints.is_empty() {
            return Err(EtcdConfigError::NoEndpoints);
        }
        for (position, endpoint) in (1..).zip(&self.endpoints) {
            check_endpoint(endpoint, position, self.tls.is_some())?;
        }
        let range = |name, range, legal: bool| {
            legal
                .then_some(())
                .ok_or(EtcdConfigError::Range { name, range })
        };
        range(
            "the connect timeout",
            "above zero",
            !self.connect_timeout.is_zero(),
        )?;
        range(
            "the request timeout",
            "above zero",
            !self.request_timeout.is_zero(),
        )?;
        range(
            "the silence timeout",
            "above zero",
            !self.silence_timeout.is_zero(),
        )?;
        range(
            "the keepalive interval",
            "at least 6 s",
            self.keep_alive >= Duration::from_secs(6),
        )?;
        range("the page size", "at least 1", self.page_size >= 1)?;
        range("the number of keys", "at least 1", self.max_keys >= 1)?;
        range(
            "the length of values",
            "at least 1",
            self.max_value_len >= 1,
        )?;
        #[cfg(feature = "register")]
        range(
            "the lease's TTL",
            "1 s to 1 h, in whole seconds",
            (1..=3_600).contains(&self.lease_ttl.as_secs()) && self.lease_ttl.subsec_nanos() == 0,
        )?;
        Ok(())
    }
}

/// `host:port` of an endpoint that was checked.
fn authority(endpoint: &str) -> &str {
    let rest = endpoint
        .split_once("://")
        .map_or(endpoint, |(_, rest)| rest);
    rest.strip_suffix('/').unwrap_or(rest)
}

fn check_endpoint(text: &str, position: usize, tls: bool) -> Result<(), EtcdConfigError> {
    let authority = match text.split_once("://") {
        None => text,
        Some(("http", rest)) if !tls => rest,
        Some(("https", rest)) if tls => rest,
        Some(("http", _)) => {
            let scheme = "http";
            return Err(EtcdConfigError::Scheme { position, scheme });
        }
        Some(("https", _)) => {
            let scheme = "https";
            return Err(EtcdConfigError::Scheme { position, scheme });
        }
        Some(_) => return Err(EtcdConfigError::Endpoint { position }),
    };
    let authority = authority.strip_suffix('/').unwrap_or(authority);
    match authority.parse::<ringfence_core::Address>() {
        Ok(_) => Ok(()),
        Err(_) => Err(EtcdConfigError::Endpoint { position }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_checked_and_never_shown() {
        for legal in [
            "127.0.0.1:2379",
            "http://etcd-0.etcd:2379",
            "http://[::1]:2379/",
        ] {
            assert_eq!(EtcdConfig::new([legal]).check(), Ok(()), "{legal}");
        }
        for illegal in [
            "",
            "etcd",
            "ftp://etcd:2379",
            "http://root:hunter2@etcd:2379",
            "http://etcd:2379/a",
            "etcd:70000",
        ] {
            let error = EtcdConfig::new(["etcd:1", illegal])
                .check()
                .expect_err(illegal);
            assert_eq!(
                error,
                EtcdConfigError::Endpoint { position: 2 },
                "{illegal}"
            );
            assert!(!error.to_string().contains("hunter2"));
        }
        let https = EtcdConfig::new(["https://etcd:2379"]).check();
        assert_eq!(
            https,
            Err(EtcdConfigError::Scheme {
                position: 1,
                scheme: "https"
            })
        );
        assert_eq!(
            EtcdConfig::new(Vec::<String>::new()).check(),
            Err(EtcdConfigError::NoEndpoints)
        );
    }

    /// Copies on disk are kept apart by it (B38).
    #[test]
    fn a_registry_is_a_cluster_read_in_one_way() {
        let config = |endpoints: [&str; 2]| EtcdConfig::new(endpoints);
        let one = config(["a:2379", "b:2379"]);
        assert_eq!(
            one.registry(),
            r#"etcd a:2379,b:2379 NativeCodec { root: "/ringfence" }"#
        );
        let other_order = config(["http://b:2379/", "a:2379"]).with_user("reader", "hunter2");
        assert_eq!(other_order.registry(), one.registry());
        let other_servers = config(["a:2379", "c:2379"]);
        let other_root =
            config(["a:2379", "b:2379"]).with_codec(NativeCodec::default().with_root("/test"));
        for other in [other_servers, other_root] {
            assert_ne!(other.registry(), one.registry());
        }
    }

    #[test]
    fn pings_are_never_as_frequent_as_etcd_forbids() {
        let config = EtcdConfig::new(["etcd:2379"]).with_keep_alive(Duration::from_secs(5));
        assert!(matches!(config.check(), Err(EtcdConfigError::Range { .. })));
    }
}
