//! Blocking queries for one thing, one after the other.

use std::{fmt, sync::Arc, time::Duration};

use http::StatusCode;
use ringfence_discovery::DiscoveryError;
use tokio::time::Instant;

use crate::{
    Consistency, ConsulConfig,
    api::Refusal,
    pace::Memory,
    read::{Reading, confirming},
};

/// A gateway that gives up earlier than this has not waited for Consul.
const GATEWAY_PATIENCE: Duration = Duration::from_secs(1);

/// What can be asked over and over. It is shown as the name of what it asks for.
pub(crate) trait Question: fmt::Display + Send + Sync {
    type Content: Send;

    fn config(&self) -> &ConsulConfig;

    /// Asks for it now, or, with an index, when it has changed after it or the time is over.
    fn ask(
        &self,
        blocking: Option<(u64, Duration)>,
        consistency: Consistency,
    ) -> impl Future<Output = Result<Reading<Self::Content>, Refusal>> + Send;
}

pub(crate) struct Poll<Q> {
    question: Q,
    memory: Arc<Memory>,
    /// Where the next query waits from; `None` asks without waiting.
    index: Option<u64>,
    /// How long the next query may wait, before jitter.
    wait: Duration,
}

/// What a query brought.
pub(crate) struct Polled<T> {
    pub(crate) reading: Reading<T>,
    /// Later states have higher indexes than this one, as far as we know.
    pub(crate) ordered: bool,
}

impl<Q: Question> Poll<Q> {
    pub(crate) fn new(question: Q, memory: Arc<Memory>) -> Self {
        Self {
            wait: question.config().wait,
            question,
            memory,
            index: None,
        }
    }

    pub(crate) async fn next(&mut self) -> Result<Polled<Q::Content>, DiscoveryError> {
        let (consistency, interval) = {
            let config = self.question.config();
            (config.consistency, config.poll_interval)
        };
        loop {
            self.memory.pace(interval).await;
            // Taken before asking: what is heard meanwhile is no measure for an answer that was made earlier.
            let known = self.memory.index().max(self.index);
            let blocking = self.index.map(|index| (index, jittered(self.wait)));
            let asked = Instant::now();
            let reading = match self.question.ask(blocking, consistency).await {
                Ok(reading) => reading,
                Err(refusal)
                    if refusal.status == Some(StatusCode::GATEWAY_TIMEOUT)
                        && blocking.is_some()
                        && asked.elapsed() >= GATEWAY_PATIENCE =>
                {
                    // Something between us and Consul does not wait as long; nothing has changed.
                    self.wait = (asked.elapsed() / 4 * 3).clamp(GATEWAY_PATIENCE, self.wait);
                    tracing::debug!(asked = %self.question, wait = ?self.wait, "a gateway cut a query short; waiting less");
                    continue;
                }
                Err(refusal) => return Err(refusal.error),
            };
            let backwards = goes_back(&reading, known);
            // The leader that was asked without an index is the last word; a blocking query or another server is not.
            let certain = blocking.is_none() && consistency != Consistency::Stale;
            if backwards && !certain {
                self.memory.pace(interval).await;
                let confirmed = self.question.ask(None, confirming(consistency)).await;
                let confirmed = confirmed.map_err(|refusal| refusal.error)?;
                return Ok(self.accept(confirmed, known));
            }
            return Ok(self.accept(reading, known));
        }
    }

    fn accept(&mut self, reading: Reading<Q::Content>, known: Option<u64>) -> Polled<Q::Content> {
        self.index = reading.index;
        let reset = goes_back(&reading, known);
        remember(&self.memory, &reading, known);
        if reset {
            tracing::info!(asked = %self.question, "Consul's data start anew");
        }
        // After a reset the old numbers are no measure: without one, the state is taken as it comes.
        Polled {
            reading,
            ordered: !reset,
        }
    }
}

pub(crate) fn remember<T>(memory: &Memory, reading: &Reading<T>, known: Option<u64>) {
    match reading.index {
        Some(index) if goes_back(reading, known) => memory.reset(index),
        index => memory.raise(index),
    }
}

fn goes_back<T>(reading: &Reading<T>, known: Option<u64>) -> bool {
    matches!((reading.index, known), (Some(index), Some(known)) if index < known)
}

/// Up to a tenth less, so that watches that began together do not stay together.
fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(1.0 - fastrand::f64() / 10.0)
}
