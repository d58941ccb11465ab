use std::collections::BTreeMap;

use ringfence_balancer::InstanceStatus;
use ringfence_core::Absence;
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
    state: State,
    /// The state in words.
    why: &'static str,
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

/// What an instance is good for now, the strongest reason first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Disabled,
    Drained,
    Unhealthy,
    Ejected,
    FailsChecks,
    Unchecked,
    Damped,
    Warming,
    Absent,
    OnTrial,
    Usable,
}

impl State {
    fn of(status: &InstanceStatus) -> Self {
        let instance = &status.instance;
        if !instance.is_enabled() {
            return Self::Disabled;
        }
        if instance.weight().get() == 0 {
            return Self::Drained;
        }
        if !instance.is_healthy() {
            return Self::Unhealthy;
        }
        match status.absence {
            Some(Absence::Ejected) => Self::Ejected,
            Some(Absence::FailsChecks) => Self::FailsChecks,
            Some(Absence::Unchecked) => Self::Unchecked,
            Some(Absence::Damped) => Self::Damped,
            Some(Absence::Warming) => Self::Warming,
            Some(_) => Self::Absent,
            None if status.on_trial => Self::OnTrial,
            None => Self::Usable,
        }
    }

    fn why(self) -> &'static str {
        match self {
            Self::Disabled => "switched off in the registry",
            Self::Drained => "has the weight 0, so it owns no keys",
            Self::Unhealthy => "the registry says that it is not healthy",
            Self::Ejected => "kept failing, and is out for a time",
            Self::FailsChecks => "does not pass its health checks",
            Self::Unchecked => "is new, and has not passed a health check yet",
            Self::Damped => "came and went too often",
            Self::Warming => "is new, and its connections are being made",
            Self::Absent => "is kept out",
            Self::OnTrial => {
                "came back from an ejection, and gets few requests until it has proven itself"
            }
            Self::Usable => "takes requests",
        }
    }
}

impl InstanceRow {
    pub(super) fn of(status: &InstanceStatus, show_tags: bool) -> Self {
        let instance = &status.instance;
        let state = State::of(status);
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
            why: state.why(),
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
