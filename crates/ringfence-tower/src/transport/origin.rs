//! Where a request goes, and which name it carries.

use std::sync::Arc;

use http::HeaderValue;
use http::uri::{self, Scheme};
use ringfence_balancer::{AttachmentKey, Candidate, Presence};
use ringfence_core::{Instance, Scheme as InstanceScheme};

/// The name under which a request asks for its resource: `:authority` of HTTP/2, `Host` of HTTP/1.
///
/// It is independent of the address that is dialled, which is always the instance's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Authority {
    /// The address of the instance.
    Instance,
    /// The name of the service; the address of the instance where the name cannot be an authority.
    Service,
    /// This name, with a port or without.
    Fixed(uri::Authority),
}

impl Authority {
    /// The name for requests to this instance.
    #[cfg(any(test, feature = "tonic"))]
    pub(crate) fn resolve(
        &self,
        instance: &Instance,
        service: &str,
    ) -> Result<uri::Authority, uri::InvalidUri> {
        match self.name(service) {
            Some(name) => Ok(name),
            None => uri::Authority::try_from(instance.address().to_string()),
        }
    }

    /// The name, where it is not the address of the instance.
    fn name(&self, service: &str) -> Option<uri::Authority> {
        match self {
            Self::Fixed(name) => Some(name.clone()),
            Self::Service => service_authority(service),
            Self::Instance => None,
        }
    }

    /// The name as `Host` says it.
    pub(crate) fn host(&self, service: &str) -> Option<HeaderValue> {
        let name = self.name(service)?;
        HeaderValue::try_from(name.as_str()).ok()
    }
}

/// Names of a registry are freer than hosts: `GROUP@@orders` would be a user at a host.
fn service_authority(name: &str) -> Option<uri::Authority> {
    let authority: uri::Authority = name.parse().ok()?;
    (authority.as_str() == authority.host()).then_some(authority)
}

/// The instance that an attempt goes to, as a [`Transport`](crate::Transport) sees it.
#[derive(Debug)]
pub struct Target<'a> {
    candidate: &'a Candidate,
    service: &'a str,
    host: Option<&'a HeaderValue>,
}

impl<'a> Target<'a> {
    /// `host` is what `Host` says, where that is not the address.
    pub(crate) fn new(
        candidate: &'a Candidate,
        service: &'a str,
        host: Option<&'a HeaderValue>,
    ) -> Self {
        Self {
            candidate,
            service,
            host,
        }
    }

    /// The instance.
    #[must_use]
    pub fn instance(&self) -> &Instance {
        self.candidate.instance()
    }

    /// Name of the service that the instance belongs to, without its namespace.
    #[must_use]
    pub fn service(&self) -> &str {
        self.service
    }

    /// What the transport keeps with the instance, made at the first call for the key and dropped
    /// when the instance is gone and its last request is over, or when the last clone of the key
    /// is. It is kept while the instance keeps its id, address and scheme.
    pub fn attachment<T, F>(&self, key: &AttachmentKey<T>, init: F) -> Arc<T>
    where
        T: Send + Sync + 'static,
        F: FnOnce() -> T,
    {
        self.candidate.node().attachment(key, init)
    }

    /// What the transport keeps with the instance, where it is made already.
    #[must_use]
    pub fn attached<T: Send + Sync + 'static>(&self, key: &AttachmentKey<T>) -> Option<Arc<T>> {
        self.candidate.node().attached(key)
    }

    /// What `read` makes of what the transport keeps with the instance, where it is made already.
    #[cfg(feature = "tonic")]
    #[inline]
    pub(crate) fn read_attached<T, R>(
        &self,
        key: &AttachmentKey<T>,
        read: impl FnOnce(&T) -> R,
    ) -> Option<R>
    where
        T: Send + Sync + 'static,
    {
        self.candidate.node().read_attachment(key, read)
    }

    /// Follows whether the instance is still in the list of its service, without keeping it: for connections, which are let go
    /// with the instance.
    #[must_use]
    pub fn presence(&self) -> Presence {
        self.candidate.presence()
    }

    pub(crate) fn address(&self) -> Result<&uri::Authority, &uri::InvalidUri> {
        self.candidate.node().authority()
    }

    pub(crate) fn host(&self) -> Option<&HeaderValue> {
        self.host
    }
}

pub(crate) fn scheme(scheme: InstanceScheme) -> Scheme {
    match scheme {
        InstanceScheme::Https => Scheme::HTTPS,
        InstanceScheme::Http => Scheme::HTTP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(authority: &Authority, service: &str) -> String {
        let instance = Instance::builder("a", "[::1]:8443").build().expect("valid");
        let resolved = authority.resolve(&instance, service).expect("valid");
        resolved.to_string()
    }

    #[test]
    fn names_and_addresses() {
        assert_eq!(resolved(&Authority::Instance, "orders"), "[::1]:8443");
        assert_eq!(
            resolved(&Authority::Service, "orders.internal"),
            "orders.internal"
        );
        let fixed = Authority::Fixed(uri::Authority::from_static("shop:81"));
        assert_eq!(resolved(&fixed, "orders"), "shop:81");
    }

    #[test]
    fn a_name_that_is_no_host_is_not_sent() {
        for name in ["DEFAULT_GROUP@@orders", "orders/v1", "a b", "orders:80"] {
            assert_eq!(resolved(&Authority::Service, name), "[::1]:8443", "{name}");
        }
    }
}
