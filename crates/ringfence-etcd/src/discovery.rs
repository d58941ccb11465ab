use std::sync::Arc;

use ringfence_discovery::{BoxFuture, BoxStream, Discovery, DiscoveryError, ServiceKey, Update};

use crate::{EtcdConfig, EtcdConfigError, connection::Pool, watch};

pub(crate) const NAME: &str = "etcd";

/// Instances from etcd: a reading of all records of a service, and a watch from the revision after it.
///
/// Every odd end of a watch (compaction, a refused token, silence, a broken connection) leads to a new reading, so nothing
/// that was deleted meanwhile stays. All watches of one `EtcdDiscovery` share one connection to one server of the cluster,
/// opened by the first and closed with the last; a server that fails or is silent is left for the next one. It only reads.
///
/// # Examples
/// ```no_run
/// use std::sync::Arc;
/// use ringfence_discovery::{Event, ServiceKey, Supervisor, WatchConfig};
/// use ringfence_etcd::{EtcdConfig, EtcdDiscovery};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), ringfence_etcd::EtcdConfigError> {
/// let config = EtcdConfig::new(["10.0.0.1:2379", "10.0.0.2:2379", "10.0.0.3:2379"]);
/// let discovery = Arc::new(EtcdDiscovery::new(config)?);
/// let mut supervisor = Supervisor::new(discovery, ServiceKey::new("order"), WatchConfig::default());
/// loop {
///     if let Event::Snapshot(accepted) = supervisor.next().await {
///         println!("{} instances", accepted.snapshot.len());
///     }
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct EtcdDiscovery {
    pool: Arc<Pool>,
}

impl EtcdDiscovery {
    /// Checks the configuration; nothing is connected before the first watch or read.
    ///
    /// # Errors
    /// [`EtcdConfigError`] for what cannot work.
    pub fn new(config: EtcdConfig) -> Result<Self, EtcdConfigError> {
        let pool = Arc::new(Pool::new(config)?);
        Ok(Self { pool })
    }
}

impl Discovery for EtcdDiscovery {
    fn name(&self) -> &str {
        NAME
    }

    fn registry(&self) -> String {
        self.pool.config().registry()
    }

    fn watch(&self, service: &ServiceKey) -> BoxStream<'static, Result<Update, DiscoveryError>> {
        watch::watch(Arc::clone(&self.pool), service.clone())
    }

    fn fetch(&self, service: &ServiceKey) -> BoxFuture<'static, Result<Update, DiscoveryError>> {
        let (pool, service) = (Arc::clone(&self.pool), service.clone());
        Box::pin(async move { watch::fetch(&pool, &service).await })
    }
}
