use std::{fmt, sync::Arc};

use ringfence_discovery::{
    BoxFuture, BoxStream, Discovery, DiscoveryError, Provenance, ServiceKey, Update, unfold,
};

use crate::{
    ConsulConfig, ConsulConfigError, NAME, endpoint::is_path_safe, poll::remember, read::Reader,
    shared::SharedWatches, watch::Watch,
};

/// Consul as a source of instances. It only reads. Clones share connections, limits and watches: all who watch one service
/// through them share one query, which ends with the last of them.
///
/// Calls need a tokio runtime with time and I/O enabled. A shared query lives on the runtime of whoever began it; when that
/// ends, the others are told an error, and the next one to watch begins anew.
///
/// # Examples
/// ```no_run
/// use std::sync::Arc;
/// use ringfence_consul::{ConsulConfig, ConsulDiscovery, ConsulToken};
/// use ringfence_discovery::{Event, ServiceKey, Supervisor, WatchConfig};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let config = ConsulConfig::new("http://127.0.0.1:8500").with_token(ConsulToken::file("token"));
/// let consul = ConsulDiscovery::new(config)?;
/// let order = ServiceKey::new("order");
/// let mut supervisor = Supervisor::new(Arc::new(consul), order, WatchConfig::default());
/// while let Event::Snapshot(accepted) = supervisor.next().await {
///     println!("{} instances", accepted.snapshot.len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ConsulDiscovery {
    reader: Arc<Reader>,
    shared: Arc<SharedWatches>,
}

impl ConsulDiscovery {
    /// Checks the settings. Nothing is sent before the first watch or read.
    ///
    /// # Errors
    /// What is wrong with the settings.
    pub fn new(config: ConsulConfig) -> Result<Self, ConsulConfigError> {
        // A query that is attended to is answered, or given up, within this time.
        let held = config.wait.saturating_add(config.wait / 16);
        let shared = SharedWatches::new(held.saturating_add(config.slack));
        Ok(Self {
            reader: Arc::new(Reader::new(config)?),
            shared,
        })
    }
}

impl Discovery for ConsulDiscovery {
    fn name(&self) -> &str {
        NAME
    }

    fn registry(&self) -> String {
        self.reader.config.registry()
    }

    fn watch(&self, service: &ServiceKey) -> BoxStream<'static, Result<Update, DiscoveryError>> {
        let (reader, key) = (Arc::clone(&self.reader), service.clone());
        self.shared.watch(service.clone(), move || {
            unfold(Watch::new(Arc::clone(&reader), key.clone()), Watch::step)
        })
    }

    fn fetch(&self, service: &ServiceKey) -> BoxFuture<'static, Result<Update, DiscoveryError>> {
        let (reader, service) = (Arc::clone(&self.reader), service.clone());
        Box::pin(async move {
            if !is_path_safe(service.name()) {
                return Ok(Update::no_such_service(Provenance::live(NAME)));
            }
            let memory = reader.services.of(&service);
            let known = memory.index();
            let reading = reader.confirm(&service).await?;
            remember(&memory, &reading, known);
            Ok(reading.into_update(true))
        })
    }
}

impl fmt::Debug for ConsulDiscovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsulDiscovery")
            .field("config", &self.reader.config)
            .finish_non_exhaustive()
    }
}
