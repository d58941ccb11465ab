use std::time::Duration;

use nacos_sdk::api::naming::ServiceInstance;
use ringfence_core::Instance;
use ringfence_discovery::{BoxFuture, DiscoveryError, ErrorKind, Liveness, RegistryEntry};
use tokio::{
    runtime::Handle,
    time::{sleep, timeout},
};

use super::{form::Form, slots::Slot};
use crate::{failure::Failure, naming::Target};

const FAREWELL_PAUSE: Duration = Duration::from_secs(3);
/// Who may not remove was hardly let register.
const FAREWELL_REFUSALS: u32 = 3;
const FAREWELL_LIMIT: Duration = Duration::from_secs(5);

/// One instance's place on a connection.
pub(super) struct NacosEntry {
    form: Form,
    place: Option<Placed>,
}

struct Placed {
    slot: Slot,
    target: Target,
    /// What may be on the server: set before it is sent, gone when its removal is confirmed.
    written: Option<ServiceInstance>,
}

impl NacosEntry {
    pub(super) fn new(slot: Slot, form: Form, target: Target) -> Self {
        Self {
            form,
            place: Some(Placed {
                slot,
                target,
                written: None,
            }),
        }
    }
}

impl Placed {
    async fn put(&mut self, instance: ServiceInstance) -> Result<(), Failure> {
        let connection = &self.slot.connection;
        // Even what fails may be carried out later by the library.
        self.written = Some(instance.clone());
        let service = connection.ready().await?;
        let (name, group) = self.names();
        service
            .register_instance(name, group, instance)
            .await
            .map_err(|error| connection.judge(error))
    }

    async fn is_there(&self, own: &ServiceInstance) -> Result<bool, Failure> {
        let connection = &self.slot.connection;
        let service = connection.ready().await?;
        let (name, group) = self.names();
        let listed = service
            .get_all_instances(name, group, Vec::new(), false)
            .await
            .map_err(|error| connection.judge(error))?;
        Ok(listed
            .iter()
            .any(|found| found.ip == own.ip && found.port == own.port))
    }

    async fn remove(&mut self) -> Result<(), Failure> {
        let Some(written) = self.written.clone() else {
            return Ok(());
        };
        let connection = &self.slot.connection;
        let service = connection.ready().await?;
        let (name, group) = self.names();
        service
            .deregister_instance(name, group, written)
            .await
            .map_err(|error| connection.judge(error))?;
        self.written = None;
        Ok(())
    }

    fn names(&self) -> (String, Option<String>) {
        (
            self.target.service.to_string(),
            Some(self.target.group.to_string()),
        )
    }

    /// Until the server confirms: while it does not, the library would put the instance back.
    async fn remove_in_the_end(mut self) {
        let mut refusals = 0;
        while refusals < FAREWELL_REFUSALS {
            match timeout(FAREWELL_LIMIT, self.remove()).await {
                Ok(Ok(())) => return,
                Ok(Err(failure)) if failure.kind() == ErrorKind::Unauthorized => refusals += 1,
                _ => {}
            }
            sleep(FAREWELL_PAUSE).await;
        }
        tracing::warn!(service = %self.target, "the server refuses the removal of an instance");
    }
}

impl RegistryEntry for NacosEntry {
    fn put<'a>(&'a mut self, instance: &'a Instance) -> BoxFuture<'a, Result<(), DiscoveryError>> {
        Box::pin(async move {
            let filled = self.form.fill(instance)?;
            match &mut self.place {
                Some(place) => place.put(filled).await.map_err(Failure::into_error),
                None => Ok(()),
            }
        })
    }

    fn keep_alive(&mut self) -> BoxFuture<'_, Result<Liveness, DiscoveryError>> {
        Box::pin(async move {
            // The connection is the sign of life. What needs looking after is whether the server still knows.
            let Some(place) = &self.place else {
                return Ok(Liveness::Gone);
            };
            let Some(own) = &place.written else {
                return Ok(Liveness::Gone);
            };
            match place.is_there(own).await {
                // A disabled instance is not in the lists of every server.
                Ok(there) if there || !own.enabled => Ok(Liveness::Alive),
                Ok(_) => Ok(Liveness::Gone),
                Err(failure) => Err(failure.into_error()),
            }
        })
    }

    fn remove(&mut self) -> BoxFuture<'_, Result<(), DiscoveryError>> {
        Box::pin(async move {
            match &mut self.place {
                Some(place) => place.remove().await.map_err(Failure::into_error),
                None => Ok(()),
            }
        })
    }
}

impl Drop for NacosEntry {
    fn drop(&mut self) {
        if let Some(place) = self.place.take()
            && place.written.is_some()
            && let Ok(runtime) = Handle::try_current()
        {
            tracing::warn!(service = %place.target, "the removal of an instance goes on in the background");
            runtime.spawn(place.remove_in_the_end());
        }
    }
}
