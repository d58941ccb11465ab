use std::{collections::BTreeMap, sync::Arc};

use ringfence_core::{Instance, Snapshot};

use crate::{
    BoxFuture, BoxStream, Discovery, DiscoveryError, Provenance, ServiceKey, Update, unfold,
};

const NAME: &str = "static";

/// A fixed list of instances for one or more services.
///
/// # Examples
/// ```
/// use ringfence_core::Instance;
/// use ringfence_discovery::{ServiceKey, StaticDiscovery};
///
/// let source = StaticDiscovery::new()
///     .with_service("order", [Instance::builder("a", "10.0.0.1:80").build()?])
///     .with_service(ServiceKey::new("cart").with_namespace("prod"), []);
/// # drop(source);
/// # Ok::<(), ringfence_core::InstanceError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct StaticDiscovery {
    services: BTreeMap<ServiceKey, Arc<Snapshot>>,
}

impl StaticDiscovery {
    /// A source that knows no service.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the instances of a service; of several with one id the one with the lowest address stays.
    #[must_use]
    pub fn with_service(
        mut self,
        service: impl Into<ServiceKey>,
        instances: impl IntoIterator<Item = Instance>,
    ) -> Self {
        self.services
            .insert(service.into(), Arc::new(Snapshot::new(instances)));
        self
    }

    fn update(&self, service: &ServiceKey) -> Update {
        let provenance = Provenance::live(NAME);
        match self.services.get(service) {
            Some(snapshot) => Update::snapshot(snapshot.clone(), provenance),
            None => Update::no_such_service(provenance),
        }
    }
}

impl Discovery for StaticDiscovery {
    fn name(&self) -> &str {
        NAME
    }

    fn watch(&self, service: &ServiceKey) -> BoxStream<'static, Result<Update, DiscoveryError>> {
        unfold(Some(self.update(service)), |update| async {
            match update {
                Some(update) => Some((Ok(update), None)),
                // A list that cannot change has no second update.
                None => std::future::pending().await,
            }
        })
    }

    fn fetch(&self, service: &ServiceKey) -> BoxFuture<'static, Result<Update, DiscoveryError>> {
        let update = self.update(service);
        Box::pin(async move { Ok(update) })
    }
}
