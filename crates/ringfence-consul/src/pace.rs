//! What is remembered of a service between its requests: how often it was asked, and how far it had come.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ringfence_discovery::ServiceKey;
use tokio::time::{Instant, sleep_until};

/// Queries that may follow each other without a pause.
const BURST: u32 = 4;
/// Services remembered at least; those that nobody watches go beyond it.
const SERVICES: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct Services(Mutex<HashMap<ServiceKey, Arc<Memory>>>);

impl Services {
    pub(crate) fn of(&self, service: &ServiceKey) -> Arc<Memory> {
        let mut services = lock(&self.0);
        if let Some(known) = services.get(service) {
            return Arc::clone(known);
        }
        if services.len() >= SERVICES {
            services.retain(|_, memory| Arc::strong_count(memory) > 1);
        }
        Arc::clone(services.entry(service.clone()).or_default())
    }
}

/// Outlives the watches of a service: one that is opened anew after an error must neither start a new burst nor believe a
/// server that lags behind.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Highest index seen since the last reset of Consul's data.
    index: Mutex<Option<u64>>,
    /// When the bucket of queries will be full again.
    full_at: Mutex<Option<Instant>>,
}

impl Memory {
    pub(crate) fn index(&self) -> Option<u64> {
        *lock(&self.index)
    }

    pub(crate) fn raise(&self, index: Option<u64>) {
        let mut known = lock(&self.index);
        *known = (*known).max(index);
    }

    /// Consul's data start anew at this index.
    pub(crate) fn reset(&self, index: u64) {
        *lock(&self.index) = Some(index);
    }

    /// Waits until one more query is within the rate.
    pub(crate) async fn pace(&self, interval: Duration) {
        let turn = {
            let mut full_at = lock(&self.full_at);
            let now = Instant::now();
            let full = full_at.map_or(now, |at| at.max(now)) + interval;
            *full_at = Some(full);
            full.checked_sub(interval * BURST).unwrap_or(now)
        };
        sleep_until(turn).await;
    }
}

// Only whole values are ever stored, so a panic elsewhere leaves nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_and_the_rest_is_paced() {
        let memory = Memory::default();
        let start = Instant::now();
        for n in 0..10u32 {
            memory.pace(Duration::from_millis(500)).await;
            let expected = Duration::from_millis(500) * n.saturating_sub(BURST - 1);
            let passed = start.elapsed();
            assert!(
                passed >= expected && passed <= expected + Duration::from_millis(2),
                "{n}: {passed:?}"
            );
        }
        tokio::time::sleep(Duration::from_secs(10)).await;
        let start = Instant::now();
        for _ in 0..BURST {
            memory.pace(Duration::from_millis(500)).await;
        }
        assert!(start.elapsed() < Duration::from_millis(5));
    }

    #[test]
    fn services_that_nobody_watches_are_forgotten() {
        let services = Services::default();
        let watched = services.of(&ServiceKey::new("watched"));
        watched.raise(Some(7));
        for n in 0..3 * SERVICES {
            services.of(&ServiceKey::new(format!("s{n}")));
        }
        assert!(lock(&services.0).len() <= SERVICES + 1);
        assert_eq!(services.of(&ServiceKey::new("watched")).index(), Some(7));
    }
}
