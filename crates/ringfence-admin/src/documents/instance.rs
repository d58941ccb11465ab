use std::{collections::BTreeMap, time::Instant};

use ringfence_balancer::{InstanceState, InstanceStatus};
use ringfence_core::EjectionTerm;
use serde::Serialize;

/// An instance with its state and its load.
#[derive(Debug, Serialize)]
pub(super) struct InstanceRow {
    id: String,
    address: String,
    scheme: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    weight: u32,
    state: &'static str,
    /// The state in words.
    why: &'static str,
    /// Also while a stronger reason keeps it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    ejection: Option<Ejection>,
    in_flight: u64,
    /// Attempts since it came, and those of them that failed.
    requests: u64,
    failures: u64,
    /// Its part of the recent load, of the key space, and of all weights: from 0 to 1.
    load_share: Option<f64>,
    ring_share: Option<f64>,
    weight_share: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<BTreeMap<String, String>>,
}

/// Why it is out, and for how long.
#[derive(Debug, Serialize)]
struct Ejection {
    cause: &'static str,
    /// Until it may come back at the latest.
    seconds_left: u64,
    /// Ejections in a row, this one included.
    times: u32,
}

/// The state of an instance; of those that are usable, one on trial has a word of its own.
fn state_of(status: &InstanceStatus) -> (&'static str, &'static str) {
    let state = status.state();
    if state == InstanceState::Usable && status.on_trial {
        let why = "came back from an ejection, and gets few requests until it has proven itself";
        return ("on_trial", why);
    }
    (state.as_str(), state.told())
}

impl Ejection {
    fn of(term: &EjectionTerm, now: Instant) -> Self {
        let left = term.until.saturating_duration_since(now);
        Self {
            cause: term.cause.label(),
            // What is left of a second counts as one: at zero it is back.
            seconds_left: left.as_secs() + u64::from(left.subsec_nanos() > 0),
            times: term.times,
        }
    }
}

impl InstanceRow {
    pub(super) fn of(status: &InstanceStatus, show_tags: bool, now: Instant) -> Self {
        let instance = &status.instance;
        let (state, why) = state_of(status);
        let owned = |text: Option<&str>| text.map(ToOwned::to_owned);
        let tags = instance
            .tags()
            .iter()
            .map(|(k, v)| (k.to_owned(), v.to_owned()));
        Self {
            id: instance.id().to_string(),
            address: instance.address().to_string(),
            scheme: instance.scheme().to_string(),
            version: owned(instance.version()),
            zone: owned(instance.zone()),
            region: owned(instance.region()),
            weight: instance.weight().get(),
            state,
            why,
            ejection: status.ejection.map(|term| Ejection::of(&term, now)),
            in_flight: status.in_flight,
            requests: status.requests,
            failures: status.failures,
            load_share: status.load_share,
            ring_share: status.ring_share,
            weight_share: status.weight_share,
            tags: show_tags.then(|| tags.collect()),
        }
    }
}
