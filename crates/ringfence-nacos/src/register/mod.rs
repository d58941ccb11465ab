//! Writing to Nacos: apart from all that reads, and only with the feature `register`.

mod desk;
mod entry;
mod form;
mod slots;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ringfence_core::Instance;
use ringfence_discovery::{
    BoxFuture, DiscoveryError, RegisterConfig, Registrar, Registration, ServiceKey,
};

use self::{entry::NacosEntry, form::Form, slots::Slots};
use crate::{NAME, NacosConfig, discovery::target};

/// Registers servers with Nacos.
///
/// - An ephemeral instance (the default) lives as long as the connection that registered it; Nacos removes it within seconds
///   of the process's death. [`with_persistent`](Self::with_persistent) registers one that stays until it is deregistered.
/// - A weight of 100 is Nacos's 1. Draining sets it to 0; enabled and healthy are passed on, where the server heeds them.
/// - Metadata is what [`NacosConfig::with_mapping`] reads back. The cluster is the one that [`NacosConfig::with_clusters`]
///   names, if it is exactly one, else `DEFAULT`.
/// - Nacos knows an instance by its address: what another process registered under the same one is replaced.
/// - The first instance of a service in a process uses one connection with those of other services, a second one of the same
///   service needs a second: the client library re-registers only one per service and connection after an outage. Connections
///   are used again and never closed.
/// - A removal has ended when the server no longer lists the address. Where another process has registered the same one meanwhile,
///   it fails in the end, and that one's instance stays.
/// - Where a removal is given up since no server answers, it goes on in the background until it is confirmed: the library would
///   register the instance again with the server's return.
///
/// The user of [`NacosConfig::with_login`] needs the right to read and to write.
///
/// # Examples
/// ```no_run
/// use ringfence_core::Instance;
/// use ringfence_discovery::{Registrar, ServiceKey};
/// use ringfence_nacos::{NacosConfig, NacosLogin, NacosRegistrar};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let config = NacosConfig::new(["127.0.0.1:8848"])?.with_login(NacosLogin::new("order", "secret"));
/// let instance = Instance::builder("order-1", "10.0.0.7:8080").version("v2").build()?;
/// let registration = NacosRegistrar::new(config).register(&ServiceKey::new("order"), instance).await?;
/// // ... it serves ...
/// registration.drain().await?;
/// registration.deregister().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct NacosRegistrar {
    config: Arc<NacosConfig>,
    keeping: RegisterConfig,
    persistent: bool,
    slots: Arc<Slots>,
}

impl NacosRegistrar {
    /// Makes a registrar; no connection is made before the first registration.
    #[must_use]
    pub fn new(config: NacosConfig) -> Self {
        Self {
            slots: Slots::shared(&config),
            config: Arc::new(config),
            keeping: RegisterConfig::default(),
            persistent: false,
        }
    }

    /// Sets the timing of registrations: how often it is checked that the instance is still there, and limits of calls.
    #[must_use]
    pub fn with_register_config(mut self, config: RegisterConfig) -> Self {
        self.keeping = config;
        self
    }

    /// Registers persistent instances, which outlive their process and whose health the server checks. Default: ephemeral.
    #[must_use]
    pub fn with_persistent(mut self, persistent: bool) -> Self {
        self.persistent = persistent;
        self
    }
}

impl Registrar for NacosRegistrar {
    fn name(&self) -> &str {
        NAME
    }

    fn register(
        &self,
        service: &ServiceKey,
        instance: Instance,
    ) -> BoxFuture<'static, Result<Registration, DiscoveryError>> {
        let (this, service) = (self.clone(), service.clone());
        Box::pin(async move {
            let target = target(&this.config, &service)?;
            let form = Form::new(&this.config, this.persistent);
            // Before anything is written: an instance that cannot be held is no reason to try.
            form.fill(&instance)?;
            let slot = this.slots.take(&target);
            let entry = NacosEntry::new(slot, form, target);
            Registration::start(NAME, entry, service, instance, this.keeping).await
        })
    }
}

impl std::fmt::Debug for NacosRegistrar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NacosRegistrar")
            .field("config", &self.config)
            .field("keeping", &self.keeping)
            .field("persistent", &self.persistent)
            .finish_non_exhaustive()
    }
}
