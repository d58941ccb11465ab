//! Whether the balancers can serve.

use std::{fmt::Write as _, sync::Arc};

use http::StatusCode;
use serde::Serialize;

use crate::mounted::Mounted;

/// Where a balancer is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    /// It can choose instances, and its task renews what it knows.
    Serving,
    /// The registry has not answered yet.
    Starting,
    /// The registry says that there is no such service.
    NoSuchService,
    /// Its task has ended: it was shut down, or its runtime was.
    TaskGone,
    /// Its last handle was dropped.
    Dropped,
}

/// The phase of one balancer, and what is to be said of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Health {
    pub(crate) service: String,
    pub(crate) phase: Phase,
    /// Why it does not serve, or that its list is stale.
    pub(crate) note: Option<String>,
}

impl Health {
    pub(crate) fn of(mounted: &Mounted) -> Self {
        let (phase, note) = phase_of(mounted);
        Self {
            service: mounted.service.to_string(),
            phase,
            note,
        }
    }
}

fn phase_of(mounted: &Mounted) -> (Phase, Option<String>) {
    let Some(balancer) = mounted.balancer() else {
        return (Phase::Dropped, Some("its balancer was dropped".to_owned()));
    };
    let status = balancer.status();
    if status.task_gone {
        let note = "its task has ended, nothing renews its list any more";
        return (Phase::TaskGone, Some(note.to_owned()));
    }
    if balancer.is_ready() {
        let stale = status.stale_for.map(|stale| {
            let seconds = stale.as_secs();
            format!("its list is stale: the registry has been out of contact for {seconds} s")
        });
        return (Phase::Serving, stale);
    }
    match balancer.read(|_| ()) {
        Ok(()) => {
            let note = "the registry does not know the service";
            (Phase::NoSuchService, Some(note.to_owned()))
        }
        Err(error) => (Phase::Starting, Some(error.to_string())),
    }
}

/// The services that are shown.
#[derive(Debug, Serialize)]
pub(crate) struct Services {
    services: Vec<Health>,
}

pub(crate) fn services(mounted: &[Arc<Mounted>]) -> Services {
    Services {
        services: mounted.iter().map(|mounted| Health::of(mounted)).collect(),
    }
}

/// `ok` while every balancer serves, and what is to be said; staleness is no failure, since requests are served all the same. Nor is a
/// balancer that was dropped while another one serves the same service.
pub(crate) fn healthz(mounted: &[Arc<Mounted>]) -> (StatusCode, String) {
    let mut status = StatusCode::OK;
    let mut notes = String::new();
    let healths: Vec<_> = mounted.iter().map(|mounted| Health::of(mounted)).collect();
    let is_served = |service: &str| {
        let mut same = healths.iter().filter(|other| other.service == service);
        same.any(|other| other.phase == Phase::Serving)
    };
    for health in &healths {
        if health.phase == Phase::Dropped && is_served(&health.service) {
            continue;
        }
        if health.phase != Phase::Serving {
            status = StatusCode::SERVICE_UNAVAILABLE;
        }
        if let Some(note) = &health.note {
            // Writing to a text does not fail.
            let _ = writeln!(notes, "{}: {note}", health.service);
        }
    }
    let head = if status == StatusCode::OK {
        "ok\n"
    } else {
        "not ready\n"
    };
    (status, format!("{head}{notes}"))
}
