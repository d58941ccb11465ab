//! Makes the connections of an instance as the settings want them.

use std::sync::Arc;

use http::Uri;
use http::uri::{PathAndQuery, Scheme};
use ringfence_balancer::Presence;
use ringfence_core::Instance;
use tokio::runtime::Handle;
use tonic::transport::{Channel, Endpoint};

use super::channels::Channels;
use super::dial::Dialer;
use super::lent::LentChannel;
use super::options::Options;
use crate::error::{BoxError, Causes};
use crate::transport::origin::scheme;
use crate::transport::{Authority, Connections, Rejection, Target};

impl Options {
    /// One of the instance's channels, and what was known of its connections before.
    pub(super) fn open(
        &self,
        target: &Target<'_>,
    ) -> Result<(LentChannel, Connections), Rejection> {
        match target.read_attached(&self.channels, lend) {
            Some(lent) => lent,
            None => lend(&*self.channels(target)?),
        }
    }

    /// None were made where there are no channels.
    pub(super) fn connections(&self, target: &Target<'_>) -> Option<Connections> {
        let known = target.read_attached(&self.channels, |channels| {
            channels
                .as_ref()
                .ok()
                .map(|channels| channels.connections())
        });
        known.unwrap_or_else(|| Some(Connections::default()))
    }

    /// The instance's channels, which are made at the first request for it.
    pub(super) fn channels(
        &self,
        target: &Target<'_>,
    ) -> Result<Arc<Result<Arc<Channels>, String>>, Rejection> {
        if let Some(channels) = target.attached(&self.channels) {
            return Ok(channels);
        }
        // A channel spawns its task when it is made. The lack of a runtime now must not be
        // remembered for the instance.
        if Handle::try_current().is_err() {
            return Err(Rejection::Config("no tokio runtime around the call".into()));
        }
        Ok(target.attachment(&self.channels, || {
            let instance = target.instance();
            let presence = target.presence();
            let connected = self.connect(
                instance,
                target.service(),
                Some(&presence),
                self.connections,
            );
            connected.map(Arc::new).map_err(|error| {
                let reason = Causes(&*error).to_string();
                tracing::warn!(
                    service = %target.service(),
                    instance = %instance.id(),
                    address = %instance.address(),
                    reason,
                    "instance cannot be called"
                );
                reason
            })
        }))
    }

    pub(super) fn own_channel(
        &self,
        instance: &Instance,
        service: &str,
    ) -> Result<Channel, BoxError> {
        let channels = self.connect(instance, service, None, 1)?;
        Ok(channels.handle(0))
    }

    fn connect(
        &self,
        instance: &Instance,
        service: &str,
        presence: Option<&Presence>,
        connections: usize,
    ) -> Result<Channels, BoxError> {
        let name = self.authority.resolve(instance, service)?;
        let scheme = scheme(instance.scheme());
        let is_tls = scheme == Scheme::HTTPS;
        // The name goes into the endpoint's URI, from which tonic takes `:authority` and the TLS
        // server name; the dialer alone knows the address.
        let uri = Uri::builder()
            .scheme(scheme.clone())
            .authority(name)
            .path_and_query(PathAndQuery::from_static("/"))
            .build()?;
        let address = Authority::Instance.resolve(instance, service)?;
        let address = Uri::builder()
            .scheme(scheme)
            .authority(address)
            .path_and_query(PathAndQuery::from_static("/"))
            .build()?;

        let tally = Arc::default();
        let channel = || -> Result<Channel, BoxError> {
            let mut endpoint = Endpoint::from(uri.clone()).tcp_nodelay(true);
            if let Some((interval, timeout)) = self.keepalive {
                endpoint = endpoint
                    .http2_keep_alive_interval(interval)
                    .keep_alive_timeout(timeout)
                    .keep_alive_while_idle(true);
            }
            if is_tls {
                endpoint = self.secure(endpoint)?;
            }
            if let Some(configure) = &self.configure {
                endpoint = configure(endpoint, instance);
            }
            let dialer = Dialer::new(address.clone(), self, &endpoint, presence, &tally);
            Ok(endpoint.connect_with_connector_lazy(dialer))
        };
        let first = channel()?;
        let others: Result<Vec<_>, _> = (1..connections).map(|_| channel()).collect();
        Ok(Channels::new(first, others?, tally))
    }

    #[cfg(feature = "tls")]
    fn secure(&self, endpoint: Endpoint) -> Result<Endpoint, BoxError> {
        let Some(tls) = &self.tls else {
            return Err(NO_TLS.into());
        };
        let mut tls = tls.clone().timeout(self.connect_timeout);
        if let Some(name) = &self.server_name {
            tls = tls.domain_name(name);
        }
        Ok(endpoint.tls_config(tls)?)
    }

    #[cfg(not(feature = "tls"))]
    fn secure(&self, _endpoint: Endpoint) -> Result<Endpoint, BoxError> {
        Err(NO_TLS.into())
    }
}

/// The channel whose turn it is, and what was known of the connections before.
fn lend(channels: &Result<Arc<Channels>, String>) -> Result<(LentChannel, Connections), Rejection> {
    let channels = channels.as_ref();
    let channels = channels.map_err(|reason| Rejection::Config(reason.as_str().into()))?;
    let connections = channels.connections();
    Ok((channels.lend(), connections))
}

const NO_TLS: &str = "the instance wants TLS, but none is configured: see `TonicConnector::with_tls` (feature `tls`)";
