use std::sync::Arc;

use ringfence_discovery::{
    BoxFuture, BoxStream, Discovery, DiscoveryError, ErrorKind, FieldMapping, ServiceKey, Update,
    unfold,
};

use crate::{
    NAME, NacosConfig,
    client::Client,
    failure::Failure,
    hub::{Hub, Reading, Timing, Watcher},
    names,
    naming::Target,
    records,
};

/// The services of a Nacos cluster. Clones are cheap and share everything.
///
/// A [`ServiceKey`]'s namespace is the Nacos group, [`NacosConfig::with_group`] where it has none; the Nacos namespace is set by
/// [`NacosConfig::with_namespace`].
///
/// A service that does not exist and one without instances have the same answer from Nacos, an empty list, and are reported
/// so. A name that Nacos cannot have is an error of the kind [`Config`](ErrorKind::Config).
///
/// # Examples
/// ```no_run
/// use ringfence_discovery::{Discovery, ServiceKey};
/// use ringfence_nacos::{NacosConfig, NacosDiscovery};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let nacos = NacosDiscovery::new(NacosConfig::new(["127.0.0.1:8848"])?);
/// let update = nacos.fetch(&ServiceKey::new("order").with_namespace("SHOP")).await?;
/// println!("{} instances, {} bad records", update.state.instance_count(), update.rejected.len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct NacosDiscovery {
    config: Arc<NacosConfig>,
    hub: Arc<Hub>,
}

impl NacosDiscovery {
    /// Makes a source; no connection is made before the first read.
    ///
    /// All sources of a process with the same servers, namespace and login share one connection, whatever else differs. Once
    /// made, it lives as long as the process (see the crate's documentation).
    #[must_use]
    pub fn new(config: NacosConfig) -> Self {
        let hub = Client::shared(&config).hub();
        Self::over(hub, config)
    }

    pub(crate) fn over(hub: Arc<Hub>, config: NacosConfig) -> Self {
        Self {
            config: Arc::new(config),
            hub,
        }
    }

    fn timing(&self) -> Timing {
        Timing {
            read_timeout: self.config.read_timeout,
            poll_interval: self.config.poll_interval,
        }
    }

    fn update(&self, target: &Target, reading: Reading) -> Result<Update, DiscoveryError> {
        let mapping: &FieldMapping = &self.config.mapping;
        let records = reading.map_err(Failure::into_error)?;
        Ok(records::update(
            target,
            &records,
            &self.config.clusters,
            mapping,
        ))
    }

    async fn step(self, watch: Watch) -> Option<(Result<Update, DiscoveryError>, Watch)> {
        let (target, mut watcher) = match watch {
            // The stream ends with the error: watching again cannot help before something else changes.
            Watch::Over => return None,
            Watch::New(service) => {
                let joined = target(&self.config, &service).and_then(|target| {
                    Watcher::join(self.hub.clone(), target.clone(), self.timing())
                        .map(|watcher| (target, watcher))
                        .map_err(Failure::into_error)
                });
                match joined {
                    Ok(joined) => joined,
                    Err(error) => return Some((Err(error), Watch::Over)),
                }
            }
            Watch::Joined(target, watcher) => (target, watcher),
        };
        let item = self.update(&target, watcher.next().await);
        Some((item, Watch::Joined(target, watcher)))
    }
}

/// What the server calls a service.
pub(crate) fn target(config: &NacosConfig, service: &ServiceKey) -> Result<Target, DiscoveryError> {
    let group = service.namespace().unwrap_or(&config.group);
    names::check("group", group)
        .and_then(|()| names::check_service(service.name()))
        .map_err(|error| DiscoveryError::new(ErrorKind::Config, NAME, error.to_string()))?;
    Ok(Target {
        group: group.into(),
        service: service.name().into(),
    })
}

enum Watch {
    New(ServiceKey),
    Joined(Target, Watcher),
    Over,
}

impl Discovery for NacosDiscovery {
    fn name(&self) -> &str {
        NAME
    }

    fn registry(&self) -> String {
        self.config.registry()
    }

    fn watch(&self, service: &ServiceKey) -> BoxStream<'static, Result<Update, DiscoveryError>> {
        let this = self.clone();
        unfold(Watch::New(service.clone()), move |watch| {
            this.clone().step(watch)
        })
    }

    fn fetch(&self, service: &ServiceKey) -> BoxFuture<'static, Result<Update, DiscoveryError>> {
        let (this, service) = (self.clone(), service.clone());
        Box::pin(async move {
            let target = target(&this.config, &service)?;
            let reading = this.hub.read(&target, this.config.read_timeout).await;
            this.update(&target, reading)
        })
    }
}

impl std::fmt::Debug for NacosDiscovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NacosDiscovery")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
