//! The watch of a service: blocking queries, one after the other.

use std::{future, sync::Arc, time::Duration};

use http::StatusCode;
use ringfence_discovery::{DiscoveryError, ErrorKind, Provenance, ServiceKey, Update};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

use crate::{
    Consistency, NAME,
    endpoint::is_path_safe,
    pace::Memory,
    read::{Reader, Reading},
};

/// A gateway that gives up earlier than this has not waited for Consul.
const GATEWAY_PATIENCE: Duration = Duration::from_secs(1);

pub(crate) struct Watch {
    reader: Arc<Reader>,
    service: ServiceKey,
    memory: Arc<Memory>,
    permit: Option<OwnedSemaphorePermit>,
    /// Where the next query waits from; `None` asks without waiting.
    index: Option<u64>,
    /// How long the next query may wait, before jitter.
    wait: Duration,
    stage: Stage,
}

enum Stage {
    Running,
    /// There can be no such service, and that has been said.
    Nothing,
    Failed,
}

impl Watch {
    pub(crate) fn new(reader: Arc<Reader>, service: ServiceKey) -> Self {
        Self {
            memory: reader.services.of(&service),
            wait: reader.config.wait,
            reader,
            service,
            permit: None,
            index: None,
            stage: Stage::Running,
        }
    }

    /// The next item of the stream, which ends after an error.
    pub(crate) async fn step(mut self) -> Option<(Result<Update, DiscoveryError>, Self)> {
        match self.stage {
            Stage::Failed => return None,
            Stage::Nothing => future::pending().await,
            Stage::Running => {}
        }
        if !is_path_safe(self.service.name()) {
            self.stage = Stage::Nothing;
            let nothing = Update::no_such_service(Provenance::live(NAME));
            return Some((Ok(nothing), self));
        }
        let outcome = self.next().await;
        if outcome.is_err() {
            self.stage = Stage::Failed;
            self.permit = None;
        }
        Some((outcome, self))
    }

    async fn next(&mut self) -> Result<Update, DiscoveryError> {
        if self.permit.is_none() {
            let permit = Arc::clone(&self.reader.watches).try_acquire_owned();
            self.permit = Some(permit.map_err(|_| {
                let message = format!(
                    "more than {} services watched at a time; see ConsulConfig::with_max_watches",
                    self.reader.config.max_watches
                );
                DiscoveryError::new(ErrorKind::Config, NAME, message)
            })?);
        }
        let config = &self.reader.config;
        loop {
            self.memory.pace(config.poll_interval).await;
            // Taken before asking: what is heard meanwhile is no measure for an answer that was made earlier.
            let known = self.memory.index().max(self.index);
            let blocking = self.index.map(|index| (index, jittered(self.wait)));
            let asked = Instant::now();
            let outcome = self
                .reader
                .read(&self.service, blocking, config.consistency)
                .await;
            let reading = match outcome {
                Ok(reading) => reading,
                Err(refusal)
                    if refusal.status == Some(StatusCode::GATEWAY_TIMEOUT)
                        && blocking.is_some()
                        && asked.elapsed() >= GATEWAY_PATIENCE =>
                {
                    // Something between us and Consul does not wait as long; nothing has changed.
                    self.wait = (asked.elapsed() / 4 * 3).clamp(GATEWAY_PATIENCE, self.wait);
                    tracing::debug!(service = %self.service, wait = ?self.wait, "a gateway cut a query short; waiting less");
                    continue;
                }
                Err(refusal) => return Err(refusal.error),
            };
            let backwards = goes_back(&reading, known);
            // The leader that was asked without an index is the last word; a blocking query or another server is not.
            let certain = blocking.is_none() && config.consistency != Consistency::Stale;
            if backwards && !certain {
                self.memory.pace(config.poll_interval).await;
                let confirmed = self.reader.confirm(&self.service).await?;
                return Ok(self.accept(confirmed, known));
            }
            return Ok(self.accept(reading, known));
        }
    }

    fn accept(&mut self, reading: Reading, known: Option<u64>) -> Update {
        self.index = reading.index;
        let reset = goes_back(&reading, known);
        remember(&self.memory, &reading, known);
        if reset {
            tracing::info!(service = %self.service, "Consul's data start anew");
        }
        // After a reset the old numbers are no measure: without one, the state is taken as it comes.
        reading.into_update(!reset)
    }
}

pub(crate) fn remember(memory: &Memory, reading: &Reading, known: Option<u64>) {
    match reading.index {
        Some(index) if goes_back(reading, known) => memory.reset(index),
        index => memory.raise(index),
    }
}

fn goes_back(reading: &Reading, known: Option<u64>) -> bool {
    matches!((reading.index, known), (Some(index), Some(known)) if index < known)
}

/// Up to a tenth less, so that watches that began together do not stay together.
fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(1.0 - fastrand::f64() / 10.0)
}
