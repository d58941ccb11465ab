use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ringfence_core::{Health, Instance, InstanceBuilder, InstanceError, Snapshot};
use tokio::sync::watch;

use crate::{
    BoxFuture, BoxStream, Discovery, DiscoveryError, Provenance, ServiceKey, Update, unfold,
};

const NAME: &str = "memory";

/// A registry inside the process: instances come and go by calls on it, and all that watch it learn of it at once.
///
/// It behaves as a server does, so that tests, simulations and programs that know their instances by other means use the same
/// path as production. Clones are handles of one registry.
///
/// A service that never had an instance does not exist; one whose last instance was deregistered exists without instances,
/// until [`remove_service`](Self::remove_service). Revisions rise with every change, over all services.
///
/// # Examples
/// ```
/// use ringfence_core::{Health, Instance};
/// use ringfence_discovery::{MemoryRegistry, ServiceKey};
///
/// let (registry, order) = (MemoryRegistry::new(), ServiceKey::new("order").with_namespace("prod"));
/// registry.register("cart", Instance::builder("a", "10.0.0.9:80").build()?);
/// registry.register(&order, Instance::builder("a", "10.0.0.1:80").build()?);
/// registry.set_health(&order, "a", Health::Unhealthy)?;
/// registry.update(&order, "a", |a| a.zone("az-2").weight(50))?;
/// assert_eq!(registry.list(&order).map(|all| all.len()), Some(1));
/// assert!(registry.deregister(&order, "a").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryRegistry {
    inner: Arc<Mutex<Inner>>,
}

/// Why a [`MemoryRegistry`] could not change an instance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// No instance of that id is registered for that service.
    #[error("service `{service}` has no instance `{id}`")]
    NoSuchInstance {
        /// The service.
        service: ServiceKey,
        /// The id.
        id: String,
    },
    /// The change would make it illegal; nothing was changed.
    #[error(transparent)]
    Instance(#[from] InstanceError),
}

/// By id. Shared with the snapshots, so that a change copies pointers and one instance.
type Instances = BTreeMap<Arc<str>, Arc<Instance>>;

fn shared(instance: Instance) -> (Arc<str>, Arc<Instance>) {
    (instance.id().as_str().into(), Arc::new(instance))
}

#[derive(Debug, Default)]
struct Inner {
    revision: u64,
    services: BTreeMap<ServiceKey, Service>,
}

#[derive(Debug)]
struct Service {
    /// `None`: somebody watches it, but it does not exist.
    instances: Option<Instances>,
    latest: watch::Sender<Update>,
}

impl MemoryRegistry {
    /// A registry without services.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an instance, or replaces the one with its id, which is returned.
    pub fn register(&self, service: impl Into<ServiceKey>, instance: Instance) -> Option<Instance> {
        let (id, instance) = shared(instance);
        let before = self.change(&service.into(), |instances| {
            instances.get_or_insert_default().insert(id, instance)
        });
        before.map(Arc::unwrap_or_clone)
    }

    /// Takes an instance out and returns it, if it was there.
    pub fn deregister(&self, service: impl Into<ServiceKey>, id: &str) -> Option<Instance> {
        let before = self.change(&service.into(), |instances| instances.as_mut()?.remove(id));
        before.map(Arc::unwrap_or_clone)
    }

    /// Sets all instances of a service in one step; of several with one id the one with the lowest address stays.
    pub fn replace(&self, service: impl Into<ServiceKey>, all: impl IntoIterator<Item = Instance>) {
        let all = Snapshot::new(all);
        self.change(&service.into(), |instances| {
            let all = all.instances().iter();
            *instances = Some(
                all.map(|i| (i.id().as_str().into(), Arc::clone(i)))
                    .collect(),
            );
        });
    }

    /// Removes a service with all of its instances; returns whether it existed.
    pub fn remove_service(&self, service: impl Into<ServiceKey>) -> bool {
        self.change(&service.into(), |instances| instances.take().is_some())
    }

    /// Sets what the registry says of an instance's health.
    ///
    /// # Errors
    /// [`RegistryError::NoSuchInstance`].
    pub fn set_health(
        &self,
        service: impl Into<ServiceKey>,
        id: &str,
        health: Health,
    ) -> Result<(), RegistryError> {
        self.update(service, id, |instance| instance.health(health))
    }

    /// Sets an instance's weight: 0 to 1,000,000; 0 drains it.
    ///
    /// # Errors
    /// [`RegistryError::NoSuchInstance`], and [`RegistryError::Instance`] for a weight above the limit.
    pub fn set_weight(
        &self,
        service: impl Into<ServiceKey>,
        id: &str,
        weight: u32,
    ) -> Result<(), RegistryError> {
        self.update(service, id, |instance| instance.weight(weight))
    }

    /// Lets an instance take traffic, or stops it.
    ///
    /// # Errors
    /// [`RegistryError::NoSuchInstance`].
    pub fn set_enabled(
        &self,
        service: impl Into<ServiceKey>,
        id: &str,
        enabled: bool,
    ) -> Result<(), RegistryError> {
        self.update(service, id, |instance| instance.enabled(enabled))
    }

    /// Changes any fields of an instance in one step. `change` must not call the registry.
    ///
    /// # Errors
    /// [`RegistryError::NoSuchInstance`], and [`RegistryError::Instance`] when the result is illegal; then nothing changes.
    pub fn update(
        &self,
        service: impl Into<ServiceKey>,
        id: &str,
        change: impl FnOnce(InstanceBuilder) -> InstanceBuilder,
    ) -> Result<(), RegistryError> {
        let service = service.into();
        let missing = || RegistryError::NoSuchInstance {
            service: service.clone(),
            id: id.to_owned(),
        };
        self.change(&service, |instances| {
            let instance = instances.as_mut().and_then(|all| all.get_mut(id));
            let instance = instance.ok_or_else(missing)?;
            *instance = Arc::new(change(instance.to_builder()).build()?);
            Ok(())
        })
    }

    /// The instances of a service, in id order; `None` where it does not exist.
    #[must_use]
    pub fn list(&self, service: impl Into<ServiceKey>) -> Option<Arc<Snapshot>> {
        let inner = self.lock();
        let latest = inner.services.get(&service.into())?.latest.borrow();
        latest.state.as_snapshot().cloned()
    }

    /// The services that exist, in order.
    #[must_use]
    pub fn services(&self) -> Vec<ServiceKey> {
        let inner = self.lock();
        let existing = inner
            .services
            .iter()
            .filter(|(_, service)| service.instances.is_some());
        existing.map(|(key, _)| key.clone()).collect()
    }

    /// The revision of the last change; 0 before the first.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.lock().revision
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Every change is built before it is stored, so a panic of a caller's closure leaves nothing half done.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(
        &self,
        service: &ServiceKey,
        change: impl FnOnce(&mut Option<Instances>) -> T,
    ) -> T {
        let mut inner = self.lock();
        let mut instances = inner
            .services
            .get(service)
            .and_then(|service| service.instances.clone());
        let result = change(&mut instances);
        inner.store(service, instances);
        result
    }

    fn subscribe(&self, service: &ServiceKey) -> watch::Receiver<Update> {
        self.lock().entry(service).latest.subscribe()
    }
}

impl Inner {
    fn entry(&mut self, service: &ServiceKey) -> &mut Service {
        let revision = self.revision;
        // Names that were only asked for must not pile up.
        self.services.retain(|_, service| {
            service.instances.is_some() || service.latest.receiver_count() > 0
        });
        match self.services.entry(service.clone()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Service {
                instances: None,
                latest: watch::Sender::new(update(None, revision)),
            }),
        }
    }

    fn store(&mut self, service: &ServiceKey, instances: Option<Instances>) {
        let before = self.services.get(service).map(|s| &s.instances);
        if before.unwrap_or(&None) == &instances {
            return;
        }
        self.revision += 1;
        let latest = update(instances.as_ref(), self.revision);
        let entry = self.entry(service);
        entry.instances = instances;
        // Only the newest state waits for whoever reads; nobody can hold the registry up.
        entry.latest.send_replace(latest);
    }
}

fn update(instances: Option<&Instances>, revision: u64) -> Update {
    let provenance = Provenance::live(NAME);
    match instances {
        Some(instances) => {
            let snapshot = Snapshot::from_shared(instances.values().cloned());
            Update::snapshot(Arc::new(snapshot), provenance)
        }
        None => Update::no_such_service(provenance),
    }
    .with_revision(revision)
}

impl Discovery for MemoryRegistry {
    fn name(&self) -> &str {
        NAME
    }

    fn watch(&self, service: &ServiceKey) -> BoxStream<'static, Result<Update, DiscoveryError>> {
        let (registry, service) = (self.clone(), service.clone());
        unfold(None, move |receiver: Option<watch::Receiver<Update>>| {
            let (registry, service) = (registry.clone(), service.clone());
            async move {
                let mut receiver = match receiver {
                    None => registry.subscribe(&service),
                    Some(mut receiver) => {
                        // The registry lives as long as this stream, so the channel cannot close.
                        receiver.changed().await.ok()?;
                        receiver
                    }
                };
                let latest = receiver.borrow_and_update().clone();
                Some((Ok(latest), Some(receiver)))
            }
        })
    }

    fn fetch(&self, service: &ServiceKey) -> BoxFuture<'static, Result<Update, DiscoveryError>> {
        let (registry, service) = (self.clone(), service.clone());
        Box::pin(async move { Ok(registry.subscribe(&service).borrow().clone()) })
    }
}
