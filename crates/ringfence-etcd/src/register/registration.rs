use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use ringfence_core::Instance;
use ringfence_discovery::ServiceKey;
use tokio::{sync::watch, task::JoinHandle};

use super::{
    RegisterError,
    keeper::{Desired, Handles, Keeper},
};
use crate::Codec;

/// Tries to tell etcd that an instance is gone.
const REMOVE_TRIES: u32 = 3;
const REMOVE_WAIT: Duration = Duration::from_millis(200);

/// How a registration stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistrationState {
    /// Nothing was written yet.
    Starting,
    /// etcd has confirmed it.
    Registered,
    /// etcd could not be reached, or refuses, since then; it is tried again until it works. The instance may be listed still,
    /// until its lease ends.
    Retrying {
        /// When the trouble began.
        since: Instant,
        /// What etcd said last.
        reason: Arc<str>,
    },
}

/// An instance that is registered, for as long as this lives.
///
/// A task renews its lease every third of its TTL ± 20 %. When the lease is gone (an outage longer than the TTL, a paused
/// process), a new one is granted and the record written again; when the record is gone, it is written again. A record that
/// another process has written under the same key since is left alone until it is gone.
///
/// Dropping this ends the task at once and leaves the record to the lease, so it stays for up to the TTL;
/// [`deregister`](Self::deregister) removes it.
#[must_use = "dropping it ends the registration"]
pub struct EtcdRegistration {
    codec: Arc<dyn Codec>,
    service: ServiceKey,
    instance: Mutex<Instance>,
    key_name: String,
    handles: Handles,
    task: Option<JoinHandle<Keeper>>,
}

impl EtcdRegistration {
    pub(super) fn new(
        codec: Arc<dyn Codec>,
        service: ServiceKey,
        instance: Instance,
        handles: Handles,
        task: JoinHandle<Keeper>,
    ) -> Self {
        Self {
            key_name: codec.record_name(&instance).unwrap_or_default(),
            codec,
            service,
            instance: Mutex::new(instance),
            handles,
            task: Some(task),
        }
    }

    /// What is registered, or about to be.
    #[must_use]
    pub fn instance(&self) -> Instance {
        self.lock().clone()
    }

    /// Changes weight, tags, health and so on. It does not wait: [`settled`](Self::settled) does.
    ///
    /// # Errors
    /// [`RegisterError::OtherKey`] when the id (in kitex's layout, the address) differs, [`RegisterError::Encode`] when the
    /// layout cannot hold it; then nothing changes.
    pub fn update(&self, instance: Instance) -> Result<(), RegisterError> {
        if self.codec.record_name(&instance)? != self.key_name {
            return Err(RegisterError::OtherKey);
        }
        let mut current = self.lock();
        let record = self.codec.encode(&self.service, &instance)?;
        self.handles.desired.send_modify(|desired| {
            *desired = Desired {
                number: desired.number + 1,
                value: record.map(|record| record.value),
            };
        });
        *current = instance;
        Ok(())
    }

    /// Sets the weight to 0, or takes the record away where the layout has no such weight: no new traffic, and the instance
    /// stays registered. It does not wait.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn drain(&self) -> Result<(), RegisterError> {
        let drained = self.instance().to_builder().weight(0).build();
        match drained {
            Ok(drained) => self.update(drained),
            // 0 is a legal weight of any instance.
            Err(_) => Ok(()),
        }
    }

    /// How it stands now.
    #[must_use]
    pub fn state(&self) -> RegistrationState {
        self.handles.state.borrow().clone()
    }

    /// A receiver that is told of every change of [`state`](Self::state).
    #[must_use]
    pub fn states(&self) -> watch::Receiver<RegistrationState> {
        self.handles.state.clone()
    }

    /// Waits until etcd has confirmed what was last asked for by `register`, [`update`](Self::update) or
    /// [`drain`](Self::drain). It has no time limit of its own.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn settled(&self) {
        let wanted = self.handles.desired.borrow().number;
        let mut written = self.handles.written.clone();
        // The sender lives as long as the task, and the task as long as this.
        let _ = written
            .wait_for(|number| number.is_some_and(|number| number >= wanted))
            .await;
    }

    /// Removes the instance: the lease is no longer renewed, that task is joined, and then the record is removed. When this
    /// returns `Ok`, etcd has confirmed that it is gone.
    ///
    /// # Errors
    /// [`RegisterError::NotRemoved`] when etcd did not confirm it in several tries; the lease ends it then.
    pub async fn deregister(mut self) -> Result<(), RegisterError> {
        let Some(task) = self.task.take() else {
            return Ok(());
        };
        if let Some(stop) = self.handles.stop.take() {
            // An ended task needs no stopping.
            let _ = stop.send(());
        }
        let Ok(mut keeper) = task.await else {
            return Ok(());
        };
        let mut reason = String::new();
        for attempt in 0..REMOVE_TRIES {
            if attempt > 0 {
                tokio::time::sleep(REMOVE_WAIT * attempt).await;
            }
            match keeper.remove().await {
                Ok(()) => return Ok(()),
                Err(failure) => reason = failure.message,
            }
        }
        Err(RegisterError::NotRemoved { reason })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Instance> {
        self.instance.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for EtcdRegistration {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl fmt::Debug for EtcdRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdRegistration")
            .field("service", &self.service)
            .field("instance", &self.instance)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
