//! The watch of a service.

use std::{fmt, future, sync::Arc, time::Duration};

use ringfence_discovery::{DiscoveryError, ErrorKind, Provenance, ServiceKey, Update};
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    Consistency, ConsulConfig, NAME,
    api::Refusal,
    endpoint::is_path_safe,
    poll::{Poll, Question},
    read::{Listed, Reader, Reading},
};

/// Which instances a service has.
struct Instances {
    reader: Arc<Reader>,
    service: ServiceKey,
}

impl fmt::Display for Instances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.service.fmt(f)
    }
}

impl Question for Instances {
    type Content = Listed;

    fn config(&self) -> &ConsulConfig {
        &self.reader.config
    }

    async fn ask(
        &self,
        blocking: Option<(u64, Duration)>,
        consistency: Consistency,
    ) -> Result<Reading<Listed>, Refusal> {
        self.reader.read(&self.service, blocking, consistency).await
    }
}

pub(crate) struct Watch {
    reader: Arc<Reader>,
    service: ServiceKey,
    poll: Poll<Instances>,
    permit: Option<OwnedSemaphorePermit>,
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
        let memory = reader.services.of(&service);
        let instances = Instances {
            reader: Arc::clone(&reader),
            service: service.clone(),
        };
        Self {
            poll: Poll::new(instances, memory),
            reader,
            service,
            permit: None,
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
        let polled = self.poll.next().await?;
        Ok(polled.reading.into_update(polled.ordered))
    }
}
