use std::{fmt, sync::Arc};

use ringfence_core::Instance;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::Instant,
};

use super::{
    RegisterConfig, RegistryEntry,
    driver::{Command, Driver, Wish},
};
use crate::{DiscoveryError, ErrorKind, ServiceKey};

/// Whether the registry has the instance.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RegistrationState {
    /// As of the last heartbeat it is there, as it was last set.
    Registered,
    /// The registry is not known to have it as it was last set; this is tried until it does.
    Retrying {
        /// Since when.
        since: Instant,
        /// What the last attempt failed with. The log has the first of each kind since the instance was last registered.
        error: Arc<DiscoveryError>,
    },
    /// It was taken out, or given up.
    Deregistered,
}

impl RegistrationState {
    /// Whether it is [`Registered`](Self::Registered).
    #[must_use]
    pub fn is_registered(&self) -> bool {
        matches!(self, Self::Registered)
    }
}

impl PartialEq for RegistrationState {
    /// Failures are equal that began together and say the same, whatever caused them.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Registered, Self::Registered) | (Self::Deregistered, Self::Deregistered) => true,
            (
                Self::Retrying { since, error },
                Self::Retrying {
                    since: other_since,
                    error: other_error,
                },
            ) => {
                since == other_since
                    && error.kind() == other_error.kind()
                    && error.origin() == other_error.origin()
                    && error.message() == other_error.message()
            }
            _ => false,
        }
    }
}

impl Eq for RegistrationState {}

/// An instance that is kept in a registry: the handle of a task that sends heartbeats, and registers anew whatever the registry
/// forgot, for as long as it takes.
///
/// Call [`deregister`](Self::deregister) at the end. A registration that is merely dropped stops its heartbeats and takes the
/// instance out too, but nobody waits for it, and a runtime that ends first leaves the removal to the registry's time to live.
pub struct Registration {
    service: ServiceKey,
    first: Instance,
    origin: String,
    commands: mpsc::Sender<Command>,
    state: watch::Receiver<RegistrationState>,
    task: JoinHandle<()>,
}

impl Registration {
    /// Registers `instance` through `entry` and keeps it registered: what the adapters' registrars return. `origin` is the
    /// registry's name in errors and logs.
    ///
    /// # Errors
    /// As [`Registrar::register`](crate::Registrar::register); outside a tokio runtime [`ErrorKind::Config`].
    ///
    /// # Cancel safety
    /// Dropped, it leaves nothing registered.
    pub async fn start(
        origin: impl Into<String>,
        entry: impl RegistryEntry,
        service: ServiceKey,
        instance: Instance,
        config: RegisterConfig,
    ) -> Result<Self, DiscoveryError> {
        let origin = origin.into();
        let runtime = Handle::try_current().map_err(|_| {
            DiscoveryError::new(
                ErrorKind::Config,
                &origin,
                "registering needs a tokio runtime",
            )
        })?;
        let (commands, inbox) = mpsc::channel(16);
        let (report, first_outcome) = oneshot::channel();
        let driver = Driver::new(
            origin.clone(),
            service.to_string(),
            entry,
            instance.clone(),
            config,
        );
        let state = driver.state();
        let task = runtime.spawn(driver.run(inbox, report));
        let this = Self {
            service,
            first: instance,
            origin,
            commands,
            state,
            task,
        };
        match first_outcome.await {
            Ok(Ok(())) => Ok(this),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(this.ended()),
        }
    }

    /// The service that the instance belongs to.
    #[must_use]
    pub fn service(&self) -> &ServiceKey {
        &self.service
    }

    /// Whether the registry has the instance now, and if not, why.
    #[must_use]
    pub fn state(&self) -> RegistrationState {
        self.state.borrow().clone()
    }

    /// Tells of every change of the state.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<RegistrationState> {
        self.state.clone()
    }

    /// Replaces what is registered: weight, tags, health and so on. Id and address stay.
    ///
    /// # Errors
    /// When the registry does not have it yet; it is tried further, and [`state`](Self::state) tells when it is done. An instance of
    /// another id or address is refused with [`ErrorKind::Config`] and changes nothing.
    ///
    /// # Cancel safety
    /// Dropped before the first poll it does nothing; afterwards the change is made nevertheless.
    pub async fn update(&self, instance: Instance) -> Result<(), DiscoveryError> {
        if instance.id() != self.first.id() || instance.address() != self.first.address() {
            return Err(DiscoveryError::new(
                ErrorKind::Config,
                &self.origin,
                "an update must keep id and address of the instance",
            ));
        }
        self.ask(Wish::Be(instance)).await
    }

    /// Sets the weight to 0, or the nearest that the registry has: running requests go on and no new ones come, once all clients
    /// have seen it. [`update`](Self::update) brings it back.
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    ///
    /// # Cancel safety
    /// As for [`update`](Self::update).
    pub async fn drain(&self) -> Result<(), DiscoveryError> {
        self.ask(Wish::Drain).await
    }

    /// Takes the instance out and waits until it is: a heartbeat under way is let end, no other follows, and only then it is
    /// removed. Takes at most the limits of one call and of removing.
    ///
    /// # Errors
    /// When the registry did not confirm it in time; its time to live removes the instance then.
    ///
    /// # Cancel safety
    /// Dropped, the removal goes on by itself.
    pub async fn deregister(self) -> Result<(), DiscoveryError> {
        let outcome = self.ask(Wish::Leave).await;
        // The answer is the task's last act; it has nothing left to await.
        let _ = self.task.await;
        outcome
    }

    async fn ask(&self, wish: Wish) -> Result<(), DiscoveryError> {
        let (reply, answer) = oneshot::channel();
        if self.commands.send(Command { wish, reply }).await.is_err() {
            return Err(self.ended());
        }
        answer.await.unwrap_or_else(|_| Err(self.ended()))
    }

    fn ended(&self) -> DiscoveryError {
        DiscoveryError::new(
            ErrorKind::Unavailable,
            &self.origin,
            "the registration has ended",
        )
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("service", &self.service)
            .field("id", self.first.id())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
