//! What the policy would have done, beside what is done without it.

use std::sync::{Arc, Mutex, PoisonError};

use ringfence_core::{Address, Instance, KeyHash, View};
use ringfence_policy::{Comparison, ObserveReport, Observed};

/// Where the policy would send a request that it does not decide, see [`Current::suggest`](crate::Current::suggest).
#[derive(Debug, Clone)]
pub struct Suggestion {
    pub(crate) key: Option<KeyHash>,
    pub(crate) view: Arc<View>,
    pub(crate) instance: Option<Arc<Instance>>,
}

impl Suggestion {
    /// The instance; `None` where none can be told: without a key any one may serve, and without a usable one none.
    #[must_use]
    pub fn instance(&self) -> Option<&Arc<Instance>> {
        self.instance.as_ref()
    }

    /// The id of the instance that is told by its id or address.
    fn id_of<'a>(&'a self, told: &'a str) -> &'a str {
        let is_told = |instance: &&Arc<Instance>| is_at(instance.address(), told);
        if self.view.snapshot().get(told).is_some() {
            return told;
        }
        let suggested = self.instance.as_ref().filter(is_told);
        let found = suggested.or_else(|| self.view.snapshot().instances().iter().find(is_told));
        found.map_or(told, |instance| instance.id().as_str())
    }
}

fn is_at(address: &Address, told: &str) -> bool {
    told.rsplit_once(':').is_some_and(|(host, port)| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        address.host().eq_ignore_ascii_case(host) && port.parse() == Ok(address.port())
    })
}

/// Keeps the comparison.
#[derive(Debug)]
pub(crate) struct Observing {
    cache_size: usize,
    comparison: Mutex<Option<Comparison>>,
}

impl Observing {
    /// Keys that an instance is thought to have ready, unless the builder says otherwise.
    pub(crate) const CACHE_SIZE: usize = 1_000;

    pub(crate) fn new(cache_size: usize) -> Self {
        Self {
            cache_size,
            comparison: Mutex::default(),
        }
    }

    pub(crate) fn record(&self, suggestion: &Suggestion, actual: Option<&str>) {
        let key = suggestion.key.map(|key| key.get().to_le_bytes());
        let observed = Observed {
            key: key.as_ref().map(|key| &key[..]),
            epoch: suggestion.view.epoch(),
            actual: actual.map(|told| suggestion.id_of(told)),
            suggested: suggestion.instance.as_ref().map(|i| i.id().as_str()),
        };
        let mut comparison = self.lock();
        if comparison.is_none() {
            // The builder has checked the size.
            *comparison = Comparison::new(self.cache_size).ok();
        }
        if let Some(comparison) = comparison.as_mut() {
            comparison.record(observed);
        }
    }

    pub(crate) fn report(&self) -> ObserveReport {
        self.lock()
            .as_ref()
            .map_or_else(ObserveReport::default, Comparison::report)
    }

    pub(crate) fn reset(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Comparison>> {
        // A comparison that a panic left half-done is off by one request.
        self.comparison
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
