//! What is seen of a service at one time.

use std::{collections::BTreeMap, sync::Arc};

use ringfence_balancer::{Balancer, Status};
use ringfence_core::{Instance, View};
use serde::Serialize;

use crate::{measure::Shares, output::state_of};

/// Keys to sample where shares are not exact.
const SAMPLE: u64 = 100_000;

/// The list of a service, and how its registry is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sight {
    /// Zero while there is no list yet.
    pub(super) epoch: u64,
    pub(super) rows: BTreeMap<String, Row>,
    pub(super) fingerprint: String,
    pub(super) points: usize,
    pub(super) moved_share: Option<f64>,
    pub(super) registry: Contact,
}

/// An instance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) address: String,
    pub(super) zone: Option<String>,
    pub(super) version: Option<String>,
    pub(super) weight: u32,
    /// `usable`, `unhealthy`, `drained` or `disabled`.
    pub(super) state: &'static str,
    /// Of the key space.
    pub(super) share: f64,
}

/// How the registry is, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contact {
    /// There is nothing to complain of.
    pub(super) is_well: bool,
    pub(super) told: String,
}

impl Default for Contact {
    /// Before anything is known.
    fn default() -> Self {
        Self {
            is_well: false,
            told: "no answer yet".to_owned(),
        }
    }
}

impl Sight {
    /// As it is, with what is known of the list before where it is the same one.
    pub(super) fn of(balancer: &Balancer, before: &Self) -> Self {
        let status = balancer.status();
        let registry = contact(&status);
        match balancer.view() {
            Some(view) if view.epoch() == before.epoch => Self {
                registry,
                ..before.clone()
            },
            Some(view) => Self {
                epoch: view.epoch(),
                rows: rows(&view),
                fingerprint: view.whole_ring().fingerprint().to_string(),
                points: view.whole_ring().len(),
                moved_share: status.moved_share.map(|share| share.as_f64()),
                registry,
            },
            None => Self {
                registry,
                ..Self::default()
            },
        }
    }

    pub(super) fn has_list(&self) -> bool {
        self.epoch > 0
    }
}

fn rows(view: &View) -> BTreeMap<String, Row> {
    let shares = Shares::of(view.whole_ring(), SAMPLE);
    let row = |instance: &Arc<Instance>| {
        let id = instance.id().to_string();
        let row = Row {
            address: instance.address().to_string(),
            zone: instance.zone().map(ToOwned::to_owned),
            version: instance.version().map(ToOwned::to_owned),
            weight: instance.weight().get(),
            state: state_of(instance),
            share: shares.get(&id),
            id: id.clone(),
        };
        (id, row)
    };
    view.snapshot().instances().iter().map(row).collect()
}

fn contact(status: &Status) -> Contact {
    let watch = &status.watch;
    let error = watch.watch_error.as_ref().or(watch.fetch_error.as_ref());
    let ill = |told: String| Contact {
        is_well: false,
        told,
    };
    if let Some(held) = &watch.held {
        return ill(format!(
            "the list before is kept until this is confirmed: {}",
            held.reason
        ));
    }
    if let Some(error) = error {
        return ill(format!("away: {error}"));
    }
    if status.epoch == 0 {
        return Contact::default();
    }
    if !status.service_exists {
        return ill("it knows no service of this name".to_owned());
    }
    if watch.is_stale() {
        return ill("silent".to_owned());
    }
    if let Some(first) = watch.rejected.first() {
        let (count, id) = (
            watch.rejected.len(),
            first.id.as_deref().unwrap_or("(no id)"),
        );
        return ill(format!(
            "left out {count}, the first is {id}: {}",
            first.reason
        ));
    }
    if status.instances == 0 {
        return ill(
            "it lists no instance, and says the same of a name that is misspelt or may not be read"
                .to_owned(),
        );
    }
    Contact {
        is_well: true,
        told: "in contact".to_owned(),
    }
}
