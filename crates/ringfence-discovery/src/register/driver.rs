//! The task behind a registration. It does one thing at a time, so that no heartbeat can overtake a removal.

use std::sync::Arc;

use ringfence_core::Instance;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, sleep_until, timeout},
};
use tracing::{debug, info, warn};

use super::{Liveness, RegisterConfig, RegistrationState, RegistryEntry};
use crate::{
    BoxFuture, DiscoveryError, ErrorKind,
    supervisor::backoff::{Backoff, jittered},
};

/// What a handle asks for, and where the outcome goes.
pub(super) struct Command {
    pub(super) wish: Wish,
    pub(super) reply: oneshot::Sender<Result<(), DiscoveryError>>,
}

pub(super) enum Wish {
    Be(Instance),
    Drain,
    Leave,
}

pub(super) struct Driver<E> {
    origin: String,
    service: String,
    entry: E,
    wanted: Instance,
    /// The registry may not have what is wanted.
    dirty: bool,
    config: RegisterConfig,
    backoff: Backoff,
    rng: fastrand::Rng,
    due: Instant,
    state: watch::Sender<RegistrationState>,
    /// The first attempt is over and did not end it all.
    begun: bool,
    /// Kinds of failure that were logged since the instance was last registered.
    told: Vec<ErrorKind>,
}

impl<E: RegistryEntry> Driver<E> {
    pub(super) fn new(
        origin: String,
        service: String,
        entry: E,
        wanted: Instance,
        config: RegisterConfig,
    ) -> Self {
        let now = Instant::now();
        let not_tried = DiscoveryError::new(ErrorKind::Unavailable, &origin, "not tried yet");
        Self {
            origin,
            service,
            entry,
            wanted,
            dirty: true,
            backoff: Backoff::new(config.backoff_base(), config.backoff_max()),
            rng: config
                .seed()
                .map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed),
            config,
            due: now,
            state: watch::Sender::new(RegistrationState::Retrying {
                since: now,
                error: Arc::new(not_tried),
            }),
            begun: false,
            told: Vec::new(),
        }
    }

    pub(super) fn state(&self) -> watch::Receiver<RegistrationState> {
        self.state.subscribe()
    }

    pub(super) async fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        first: oneshot::Sender<Result<(), DiscoveryError>>,
    ) {
        let outcome = match self.attempt().await {
            Err(error) if !passes(error.kind()) => {
                self.settle(RegistrationState::Deregistered);
                // Nobody waits any more if this fails.
                let _ = first.send(Err(error));
                return;
            }
            Ok(()) | Err(_) => first.send(Ok(())),
        };
        if outcome.is_err() {
            self.leave()
                .await
                .unwrap_or_else(|error| self.abandoned(&error));
            return;
        }
        self.begun = true;
        loop {
            let command = tokio::select! {
                // The heartbeat first, so that a flood of updates cannot hold it up.
                biased;
                () = sleep_until(self.due) => {
                    // The outcome is in the state.
                    let _ = self.attempt().await;
                    continue;
                }
                command = commands.recv() => command,
            };
            let Some(Command { wish, reply }) = command else {
                self.leave()
                    .await
                    .unwrap_or_else(|error| self.abandoned(&error));
                return;
            };
            let outcome = match wish {
                Wish::Be(instance) => self.change(Ok(instance)).await,
                Wish::Drain => {
                    let drained = self.wanted.to_builder().weight(0).build();
                    self.change(
                        drained.map_err(|error| self.error(ErrorKind::Config, &error.to_string())),
                    )
                    .await
                }
                Wish::Leave => {
                    let outcome = self.leave().await;
                    let _ = reply.send(outcome);
                    return;
                }
            };
            let _ = reply.send(outcome);
        }
    }

    async fn change(
        &mut self,
        wanted: Result<Instance, DiscoveryError>,
    ) -> Result<(), DiscoveryError> {
        self.wanted = wanted?;
        self.dirty = true;
        self.attempt().await
    }

    /// Does what is due (puts the instance, or keeps it alive), and plans the next time.
    async fn attempt(&mut self) -> Result<(), DiscoveryError> {
        let outcome = self.reconcile().await;
        let now = Instant::now();
        match &outcome {
            Ok(()) => {
                self.backoff.reset();
                // A change may renew nothing, so the next heartbeat is not put off by it.
                if self.due <= now || !self.state.borrow().is_registered() {
                    self.due = now + jittered(&mut self.rng, self.config.heartbeat(), 10);
                }
                self.told.clear();
                self.settle(RegistrationState::Registered);
            }
            Err(error) => {
                self.due = now + self.backoff.next_wait(&mut self.rng);
                let since = match &*self.state.borrow() {
                    RegistrationState::Retrying { since, .. } => *since,
                    RegistrationState::Registered | RegistrationState::Deregistered => now,
                };
                let kind = error.kind();
                if (self.begun || passes(kind)) && !self.told.contains(&kind) {
                    warn!(
                        service = %self.service, instance = %self.wanted.id(), %error,
                        "not registered, retrying"
                    );
                    self.told.push(kind);
                }
                self.settle(RegistrationState::Retrying {
                    since,
                    error: Arc::new(error.clone()),
                });
            }
        }
        outcome
    }

    async fn reconcile(&mut self) -> Result<(), DiscoveryError> {
        let (limit, origin) = (self.config.call_timeout(), &self.origin);
        if !self.dirty {
            match bounded(limit, origin, self.entry.keep_alive()).await? {
                Liveness::Alive => return Ok(()),
                Liveness::Gone => {
                    debug!(service = %self.service, instance = %self.wanted.id(), "forgotten by the registry");
                    self.dirty = true;
                }
            }
        }
        bounded(limit, origin, self.entry.put(&self.wanted)).await?;
        self.dirty = false;
        Ok(())
    }

    /// Takes the instance out, trying again until the limit.
    async fn leave(&mut self) -> Result<(), DiscoveryError> {
        let limit = self.config.call_timeout();
        let end = Instant::now() + self.config.remove_timeout();
        self.backoff.reset();
        let outcome = loop {
            let call_limit = limit.min(end.saturating_duration_since(Instant::now()));
            let Err(error) = bounded(call_limit, &self.origin, self.entry.remove()).await else {
                break Ok(());
            };
            let again = Instant::now() + self.backoff.next_wait(&mut self.rng);
            if again >= end {
                break Err(error);
            }
            sleep_until(again).await;
        };
        self.settle(RegistrationState::Deregistered);
        outcome
    }

    fn settle(&self, new: RegistrationState) {
        let is_told_elsewhere = matches!(new, RegistrationState::Retrying { .. });
        let changed = self.state.send_if_modified(|state| {
            let changed = *state != new;
            *state = new;
            changed
        });
        if changed && !is_told_elsewhere {
            info!(service = %self.service, instance = %self.wanted.id(), state = ?*self.state.borrow(), "registration");
        }
    }

    fn abandoned(&self, error: &DiscoveryError) {
        warn!(
            service = %self.service, instance = %self.wanted.id(), %error,
            "not taken out of the registry; its time to live will remove it"
        );
    }

    fn error(&self, kind: ErrorKind, message: &str) -> DiscoveryError {
        DiscoveryError::new(kind, &self.origin, message)
    }
}

/// Whether the first attempt may fail like this and the next succeed, though nobody mends anything here.
fn passes(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Unavailable | ErrorKind::Protocol)
}

async fn bounded<T>(
    limit: std::time::Duration,
    origin: &str,
    call: BoxFuture<'_, Result<T, DiscoveryError>>,
) -> Result<T, DiscoveryError> {
    timeout(limit, call).await.unwrap_or_else(|_| {
        Err(DiscoveryError::new(
            ErrorKind::Unavailable,
            origin,
            "the registry does not answer in time",
        ))
    })
}
