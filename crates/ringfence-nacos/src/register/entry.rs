use std::time::Duration;

use nacos_sdk::api::naming::ServiceInstance;
use ringfence_core::Instance;
use ringfence_discovery::{BoxFuture, DiscoveryError, ErrorKind, Liveness, RegistryEntry};
use tokio::{
    runtime::Handle,
    time::{sleep, timeout},
};

use super::{desk::Desk, form::Form, slots::Slot};
use crate::{NAME, failure::Failure, naming::Target};

#[cfg(test)]
mod tests;

const FAREWELL_PAUSE: Duration = Duration::from_secs(3);
/// Who may not remove was hardly let register.
const FAREWELL_REFUSALS: u32 = 3;
/// Longer than a server takes to give up a connection that is silent.
const FAREWELL_CHECKS: u32 = 20;
const FAREWELL_LIMIT: Duration = Duration::from_secs(5);

/// One instance's place on a connection.
pub(super) struct NacosEntry<D: Desk = Slot> {
    form: Form,
    place: Option<Placed<D>>,
}

struct Placed<D> {
    desk: D,
    target: Target,
    /// What may be on the server: set before it is sent, gone when it was seen to be gone.
    written: Option<ServiceInstance>,
}

/// How a removal ended.
enum Removal {
    Gone,
    /// The server agreed and lists the address all the same.
    StillListed,
}

impl<D: Desk> NacosEntry<D> {
    pub(super) fn new(desk: D, form: Form, target: Target) -> Self {
        Self {
            form,
            place: Some(Placed {
                desk,
                target,
                written: None,
            }),
        }
    }
}

impl<D: Desk> Placed<D> {
    async fn put(&mut self, instance: ServiceInstance) -> Result<(), Failure> {
        // Even what fails may be carried out later by the library.
        self.written = Some(instance.clone());
        self.desk.register(&self.target, instance).await
    }

    async fn is_there(&self, own: &ServiceInstance) -> Result<bool, Failure> {
        let listed = self.desk.list(&self.target).await?;
        Ok(listed
            .iter()
            .any(|found| found.ip == own.ip && found.port == own.port))
    }

    async fn remove(&mut self) -> Result<Removal, Failure> {
        let Some(written) = self.written.clone() else {
            return Ok(Removal::Gone);
        };
        self.desk.deregister(&self.target, written.clone()).await?;
        if self.is_there(&written).await? {
            // It still belongs to a connection that was lost, and only with that it goes.
            self.desk.retire();
            return Ok(Removal::StillListed);
        }
        self.written = None;
        Ok(Removal::Gone)
    }

    /// Until it is gone: while the server has not agreed, the library would put the instance back.
    async fn remove_in_the_end(mut self) {
        let (mut refusals, mut checks) = (0, 0);
        while refusals < FAREWELL_REFUSALS && checks < FAREWELL_CHECKS {
            match timeout(FAREWELL_LIMIT, self.remove()).await {
                Ok(Ok(Removal::Gone)) => return,
                Ok(Ok(Removal::StillListed)) => checks += 1,
                Ok(Err(failure)) if failure.kind() == ErrorKind::Unauthorized => refusals += 1,
                _ => {}
            }
            sleep(FAREWELL_PAUSE).await;
        }
        if refusals == FAREWELL_REFUSALS {
            tracing::warn!(service = %self.target, "the server refuses the removal of an instance");
        } else {
            tracing::warn!(service = %self.target, "an instance is listed after its removal; another process may have registered it");
        }
    }
}

impl<D: Desk> RegistryEntry for NacosEntry<D> {
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
            let Some(place) = &mut self.place else {
                return Ok(());
            };
            match place.remove().await.map_err(Failure::into_error)? {
                Removal::Gone => Ok(()),
                Removal::StillListed => Err(DiscoveryError::new(
                    ErrorKind::Unavailable,
                    NAME,
                    "the server lists the instance after its removal, or another process registered its address",
                )),
            }
        })
    }
}

impl<D: Desk> Drop for NacosEntry<D> {
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
