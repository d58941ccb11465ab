use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
    sync::Arc,
};

use super::InstanceError;
use crate::clip;

/// Where an instance listens: an IP address or a DNS name, and a port.
///
/// Text form is that of a URI authority without user info: `10.0.0.1:80`, `[::1]:80`, `orders.internal:80`. IP addresses are
/// kept in their canonical spelling and names in lower case, so equal targets compare equal.
///
/// # Examples
/// ```
/// use ringfence_core::Address;
///
/// let v6: Address = "[0:0::1]:8080".parse()?;
/// assert_eq!(v6.to_string(), "[::1]:8080");
/// assert_eq!((v6.host(), v6.port()), ("::1", 8080));
/// assert!("10.0.0.1".parse::<Address>().is_err(), "a port is required");
/// # Ok::<(), ringfence_core::InstanceError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    host: Arc<str>,
    port: u16,
    ip: Option<IpAddr>,
}

impl Address {
    /// Checks a host (IP address without brackets, or DNS name of at most 253 letters, digits, `-`, `_`, `.`) and a port
    /// (1 to 65,535).
    ///
    /// # Errors
    /// [`InstanceError::Address`] when either is malformed.
    pub fn try_new(host: &str, port: u16) -> Result<Self, InstanceError> {
        let invalid = || InstanceError::Address {
            text: clip(host),
            port: Some(port),
        };
        if port == 0 {
            return Err(invalid());
        }
        if let Ok(ip) = host.parse::<IpAddr>() {
            return Ok(Self::from(SocketAddr::new(ip, port)));
        }
        if !is_dns_name(host) {
            return Err(invalid());
        }
        Ok(Self {
            host: host.to_ascii_lowercase().into(),
            port,
            ip: None,
        })
    }

    /// The host without brackets: an IP address or a DNS name.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, never 0.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The socket address, when the host is an IP address and needs no name lookup.
    #[must_use]
    pub fn socket_addr(&self) -> Option<SocketAddr> {
        self.ip.map(|ip| SocketAddr::new(ip, self.port))
    }
}

impl From<SocketAddr> for Address {
    fn from(addr: SocketAddr) -> Self {
        let ip = addr.ip().to_canonical();
        Self {
            host: ip.to_string().into(),
            port: addr.port(),
            ip: Some(ip),
        }
    }
}

impl FromStr for Address {
    type Err = InstanceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InstanceError::Address {
            text: clip(text),
            port: None,
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(invalid)?;
        if port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit()) {
            return Err(invalid());
        }
        let port = port.parse().map_err(|_| invalid())?;
        match host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
            Some(v6) if v6.contains(':') => Self::try_new(v6, port),
            Some(_) => Err(invalid()),
            // `::1:80` could be an address without a port.
            None if host.contains(':') => Err(invalid()),
            None => Self::try_new(host, port),
        }
        .map_err(|_| invalid())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self.ip, Some(IpAddr::V6(_))) {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn is_dns_name(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    !host.is_empty()
        && host.len() <= 253
        && host.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && label
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        })
        // All digits and dots but not an IP address: a typing error such as `10.0.0.256`.
        && !host.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}
