//! Writing to etcd: apart from all that reads, and only with the feature `register`.

mod entry;
mod write;

use std::sync::Arc;

use ringfence_core::Instance;
use ringfence_discovery::{
    BoxFuture, DiscoveryError, ErrorKind, RegisterConfig, Registrar, Registration, ServiceKey,
};

use self::entry::Entry;
use crate::{EtcdConfig, EtcdConfigError, NAME, connection::Pool, watch::checked_prefix};

/// Registers instances in etcd, in the layout of the configuration's [`Codec`](crate::Codec).
///
/// Each registration has a lease of its own, of [`EtcdConfig::with_lease_ttl`], renewed every third of that. A lease that is gone
/// (an outage longer than the TTL, a paused process) and a record that was removed by hand are made anew; a record that
/// another process has written under the same key since is left alone until it is gone. All registrations share one
/// connection.
///
/// A drained, disabled or unhealthy instance is written as such in the native layout. The other layouts have no word for some
/// of that; there its record is taken out while the registration stays (see each codec).
///
/// Its user needs to read and write the keys of the service.
///
/// # Examples
/// ```no_run
/// use ringfence_core::Instance;
/// use ringfence_discovery::{Registrar as _, ServiceKey};
/// use ringfence_etcd::{EtcdConfig, EtcdRegistrar};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registrar = EtcdRegistrar::new(EtcdConfig::new(["10.0.0.1:2379"]).with_user("order", "hunter2"))?;
/// let instance = Instance::builder("order-1", "10.0.0.7:8080").version("v2").build()?;
/// let registration = registrar.register(&ServiceKey::new("order"), instance).await?;
/// // ... the server runs, until it is time to go:
/// registration.drain().await?;
/// registration.deregister().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct EtcdRegistrar {
    pool: Arc<Pool>,
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

    fn settings(&self) -> Result<RegisterConfig, DiscoveryError> {
        let config = self.pool.config();
        RegisterConfig::default()
            .with_heartbeat(config.lease_ttl / 3)
            // A server that hangs leaves time for another one.
            .and_then(|settings| settings.with_call_timeout(config.request_timeout * 2))
            .map_err(|error| DiscoveryError::new(ErrorKind::Config, NAME, error.to_string()))
    }
}

impl Registrar for EtcdRegistrar {
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
            let settings = this.settings()?;
            let Some(prefix) = checked_prefix(&*this.pool.config().codec, &service) else {
                let message = format!("no service can be called `{service}` in this layout");
                return Err(DiscoveryError::new(ErrorKind::Config, NAME, message));
            };
            let entry = Entry::new(Arc::clone(&this.pool), service.clone(), prefix);
            Registration::start(NAME, entry, service, instance, settings).await
        })
    }
}
