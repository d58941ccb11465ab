//! What the policy would have done, beside what is done without it.

use std::sync::{Arc, Mutex, PoisonError};

use ringfence_core::{Address, Instance, KeyHash, View};
use ringfence_policy::{Comparison, ObserveReport, Observed};

/// Where the policy would send a request that it does not decide, see [`Current::suggest`](crate::Current::suggest).
#[derive(Debug, Clone)]
pub struct Suggestion {
    pub(crate) key: Option<KeyHash>,
    pub(crate) view: Arc<View>,
    /// Fingerprint of the policy.
    pub(crate) policy: u64,
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

/// Keeps the comparison with the policy that was observed last.
#[derive(Debug)]
pub(crate) struct Observing {
    cache_size: usize,
    last: Mutex<Option<Observation>>,
}

#[derive(Debug)]
struct Observation {
    policy: u64,
    /// Of the first request.
    epoch: u64,
    comparison: Comparison,
}

impl Observing {
    /// Keys that an instance is thought to have ready, unless the builder says otherwise.
    pub(crate) const CACHE_SIZE: usize = 1_000;

    pub(crate) fn new(cache_size: usize) -> Self {
        Self {
            cache_size,
            last: Mutex::default(),
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
        let mut last = self.lock();
        match &*last {
            Some(last) if last.policy == suggestion.policy => {}
            // It ended after the policy that came behind its own was observed.
            Some(last) if observed.epoch < last.epoch => return,
            // The builder has checked the size.
            _ => {
                let comparison = Comparison::new(self.cache_size).ok();
                *last = comparison.map(|comparison| Observation {
                    policy: suggestion.policy,
                    epoch: observed.epoch,
                    comparison,
                });
            }
        }
        if let Some(last) = last.as_mut() {
            last.comparison.record(observed);
        }
    }

    pub(crate) fn report(&self) -> ObserveReport {
        let last = self.lock();
        let Some(last) = last.as_ref() else {
            return ObserveReport::default();
        };
        let mut report = last.comparison.report();
        report.policy = format!("{:016x}", last.policy);
        report
    }

    pub(crate) fn reset(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Observation>> {
        // A comparison that a panic left half-done is off by one request.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
