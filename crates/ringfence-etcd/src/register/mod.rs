//! Writing to etcd: apart from all that reads, and only with the feature `register`.

mod keeper;
mod registration;
mod write;

use std::sync::Arc;

use ringfence_core::Instance;
use ringfence_discovery::ServiceKey;
use tokio::runtime::Handle;

use self::keeper::Keeper;
pub use self::registration::{EtcdRegistration, RegistrationState};
use crate::{EncodeError, EtcdConfig, EtcdConfigError, connection::Pool};

/// Registers instances in etcd, in the layout of the configuration's [`Codec`](crate::Codec).
///
/// Its user needs to read and write the keys of the service. Each registration has a lease of its own, whose TTL is
/// [`EtcdConfig::with_lease_ttl`]; all share one connection.
///
/// # Examples
/// ```no_run
/// use ringfence_core::Instance;
/// use ringfence_discovery::ServiceKey;
/// use ringfence_etcd::{EtcdConfig, EtcdRegistrar};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registrar = EtcdRegistrar::new(EtcdConfig::new(["10.0.0.1:2379"]).with_user("order", "hunter2"))?;
/// let instance = Instance::builder("order-1", "10.0.0.7:8080").version("v2").build()?;
/// let registration = registrar.register(&ServiceKey::new("order"), instance)?;
/// registration.settled().await;
/// // serve, until it is time to go:
/// registration.drain()?;
/// registration.settled().await;
/// registration.deregister().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct EtcdRegistrar {
    pool: Arc<Pool>,
}

/// Why an instance is not registered as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// No service can have this name in this layout.
    #[error("`{0}` cannot be the name of a service in this layout")]
    Service(ServiceKey),
    /// The layout cannot hold the instance.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// An update has another key than what was registered; deregister and register anew.
    #[error("the update has another key than the registered instance")]
    OtherKey,
    /// There is no tokio runtime to keep the registration alive on.
    #[error("registering needs a tokio runtime")]
    NoRuntime,
    /// It could not be removed; the registry removes it when the lease ends.
    #[error(
        "etcd could not be told to remove the instance ({reason}); it goes when its lease ends"
    )]
    NotRemoved {
        /// What etcd said.
        reason: String,
    },
}

impl EtcdRegistrar {
    /// Checks the configuration; nothing is connected before the first registration.
    ///
    /// # Errors
    /// [`EtcdConfigError`] for what cannot work.
    pub fn new(config: EtcdConfig) -> Result<Self, EtcdConfigError> {
        let pool = Arc::new(Pool::new(config)?);
        Ok(Self { pool })
    }

    /// Registers an instance and keeps it registered until the [`EtcdRegistration`] is deregistered or dropped. It does not
    /// wait: [`EtcdRegistration::settled`] does. A registry that is away now or later is waited for, however long.
    ///
    /// # Errors
    /// [`RegisterError`] when the service or the instance cannot be registered at all, or outside a tokio runtime.
    pub fn register(
        &self,
        service: &ServiceKey,
        instance: Instance,
    ) -> Result<EtcdRegistration, RegisterError> {
        let runtime = Handle::try_current().map_err(|_| RegisterError::NoRuntime)?;
        let codec = Arc::clone(&self.pool.config().codec);
        let mut prefix = codec
            .prefix(service)
            .filter(|prefix| !prefix.trim_matches('/').is_empty())
            .ok_or_else(|| RegisterError::Service(service.clone()))?;
        if !prefix.ends_with('/') {
            prefix.push('/');
        }
        let name = codec.record_name(&instance)?;
        let record = codec.encode(service, &instance)?;
        let (keeper, handles) = Keeper::new(
            Arc::clone(&self.pool),
            format!("{prefix}{name}"),
            record.map(|record| record.value),
        );
        let task = runtime.spawn(keeper.run());
        let registration = EtcdRegistration::new(codec, service.clone(), instance, handles, task);
        Ok(registration)
    }
}
