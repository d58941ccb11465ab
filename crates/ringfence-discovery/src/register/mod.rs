//! Putting an instance into a registry and keeping it there, apart from finding instances.

mod config;
mod driver;
mod entry;
mod registration;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use ringfence_core::Instance;

pub use self::{
    config::RegisterConfig,
    entry::{Liveness, RegistryEntry},
    registration::{Registration, RegistrationState},
};
use crate::{BoxFuture, DiscoveryError, ServiceKey};

/// A registry that servers register themselves with. Finding instances needs none of this, nor the right to write.
///
/// Consul, Nacos and etcd have one each in their crates, with the same verbs and the same promises. They differ in what a
/// weight of 0 or an unhealthy instance becomes where the registry has nothing of the kind; each says so.
///
/// # Examples
/// ```
/// use ringfence_core::Instance;
/// use ringfence_discovery::{DiscoveryError, Registrar, RegistrationState, ServiceKey};
///
/// async fn serve(registrar: &dyn Registrar, instance: Instance) -> Result<(), DiscoveryError> {
///     let registration = registrar.register(&ServiceKey::new("order"), instance).await?;
///     // ... the server runs; its registration survives outages of the registry ...
///     registration.drain().await?;
///     // ... it waits for running requests ...
///     registration.deregister().await
/// }
/// ```
pub trait Registrar: fmt::Debug + Send + Sync + 'static {
    /// Short name of the registry for logs, such as `consul`.
    fn name(&self) -> &str;

    /// Registers `instance` and keeps it registered until the [`Registration`] is given up. Needs a tokio runtime.
    ///
    /// A registry that is away is no failure, so that a server can start before its registry: the registration is then
    /// [`RegistrationState::Retrying`] until the registry is there.
    ///
    /// # Errors
    /// What trying again does not help: refused credentials, a setting or an instance that this registry cannot hold.
    ///
    /// # Cancel safety
    /// A future that is dropped leaves nothing registered, as if its registration had been dropped.
    fn register(
        &self,
        service: &ServiceKey,
        instance: Instance,
    ) -> BoxFuture<'static, Result<Registration, DiscoveryError>>;
}

impl<R: Registrar + ?Sized> Registrar for Arc<R> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn register(
        &self,
        service: &ServiceKey,
        instance: Instance,
    ) -> BoxFuture<'static, Result<Registration, DiscoveryError>> {
        (**self).register(service, instance)
    }
}
