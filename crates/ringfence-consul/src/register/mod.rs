//! Registering instances with a Consul agent: the only part of the crate that writes.

mod config;
mod definition;
mod entry;

use std::{fmt, sync::Arc};

use ringfence_core::Instance;
use ringfence_discovery::{
    BoxFuture, DiscoveryError, ErrorKind, Registrar, Registration, ServiceKey,
};

pub use self::config::ConsulRegisterConfig;
use self::{definition::service_id, entry::AgentEntry};
use crate::{
    ConsulConfig, ConsulConfigError, KeyNamespace, NAME, api::Api, endpoint::is_path_safe,
};

/// Registers instances with a Consul agent. Clones share connections.
///
/// The agent is that of the address; it registers in its own datacenter, and the token needs `service:write`.
///
/// | of the instance | becomes in Consul |
/// |---|---|
/// | id | metadata `ringfence-id`, and `{service}:{id}` as service id, of which an agent has each but once |
/// | version, zone, tags and so on | metadata as the [`FieldMapping`](ringfence_discovery::FieldMapping) has it; tags that are no legal metadata (64 keys of `A-Z a-z 0-9 _ -`, values of 512 bytes) become `key=value` tags |
/// | weight | metadata, and rounded `Weights`, of which an ordinary instance has 1 |
/// | weight 0 (drained) or disabled | service maintenance, so that all clients of Consul turn away; Ringfence's see it disabled, not even used in panic |
/// | unhealthy | a check of its own that is critical |
/// | being alive | a TTL check; when it ends the instance is unhealthy, and is taken out [later](ConsulRegisterConfig::with_deregister_after) |
///
/// An instance that the agent forgot is registered anew at the next sign of life. An operator's maintenance lasts until the
/// instance is registered or updated.
///
/// # Examples
/// ```no_run
/// use ringfence_consul::{ConsulConfig, ConsulRegisterConfig, ConsulRegistrar};
/// use ringfence_core::Instance;
/// use ringfence_discovery::{Registrar, ServiceKey};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let config = ConsulConfig::new("http://127.0.0.1:8500");
/// let consul = ConsulRegistrar::new(config, ConsulRegisterConfig::default())?;
/// let instance = Instance::builder("order-1", "10.0.0.1:8080").version("v2").build()?;
/// let registration = consul.register(&ServiceKey::new("order"), instance).await?;
/// // ... the server runs ...
/// registration.drain().await?;
/// registration.deregister().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ConsulRegistrar {
    shared: Arc<Shared>,
}

struct Shared {
    api: Api,
    config: ConsulConfig,
    register: ConsulRegisterConfig,
}

impl ConsulRegistrar {
    /// Checks the settings. Nothing is sent before the first registration.
    ///
    /// # Errors
    /// What is wrong with the settings.
    pub fn new(
        config: ConsulConfig,
        register: ConsulRegisterConfig,
    ) -> Result<Self, ConsulConfigError> {
        register.check()?;
        Ok(Self {
            shared: Arc::new(Shared {
                api: Api::new(&config)?,
                config,
                register,
            }),
        })
    }
}

impl Shared {
    /// The namespace to register in.
    fn namespace<'k>(&self, service: &'k ServiceKey) -> Result<Option<&'k str>, DiscoveryError> {
        let refused = |message: &str| Err(DiscoveryError::new(ErrorKind::Config, NAME, message));
        if !is_path_safe(service.name()) {
            return refused("no service can have this name");
        }
        match (self.config.key_namespace, service.namespace()) {
            (KeyNamespace::Namespace, namespace) => Ok(namespace),
            (KeyNamespace::Datacenter, None) => Ok(None),
            (KeyNamespace::Datacenter, own) if own == self.config.datacenter.as_deref() => Ok(None),
            (KeyNamespace::Datacenter, Some(_)) => {
                refused("an agent registers in its own datacenter only")
            }
        }
    }
}

impl Registrar for ConsulRegistrar {
    fn name(&self) -> &str {
        NAME
    }

    fn register(
        &self,
        service: &ServiceKey,
        instance: Instance,
    ) -> BoxFuture<'static, Result<Registration, DiscoveryError>> {
        let (shared, service) = (Arc::clone(&self.shared), service.clone());
        Box::pin(async move {
            let namespace = shared.namespace(&service)?.map(str::to_owned);
            if !is_path_safe(&service_id(service.name(), &instance)) {
                let message = "no service can have this instance's id";
                return Err(DiscoveryError::new(ErrorKind::Config, NAME, message));
            }
            let timing = shared
                .register
                .timing()
                .map_err(|error| DiscoveryError::new(ErrorKind::Config, NAME, error.to_string()))?;
            let entry = AgentEntry::new(shared, namespace, &service, &instance);
            Registration::start(NAME, entry, service, instance, timing).await
        })
    }
}

impl fmt::Debug for ConsulRegistrar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsulRegistrar")
            .field("config", &self.shared.config)
            .field("register", &self.shared.register)
            .finish_non_exhaustive()
    }
}
