//! What changed in the membership and the ring.

use ringfence_balancer::{Balancer, Change};
use ringfence_core::KeyShare;
use serde::Serialize;

use super::{ms, unix_ms};

/// The last changes, the oldest first.
#[derive(Debug, Serialize)]
pub(crate) struct Changes {
    changes: Vec<ChangeRow>,
}

#[derive(Debug, Serialize)]
struct ChangeRow {
    at_unix_ms: u64,
    epoch: u64,
    /// Instances after it.
    instances: usize,
    /// The first of those that came and went; the counts are of all.
    added: Vec<String>,
    added_count: usize,
    removed: Vec<String>,
    removed_count: usize,
    /// How many differ in something else, such as weight, health or tags.
    changed_count: usize,
    /// Part of the key space that has another owner.
    moved_share: Option<f64>,
    /// How long the view took to make.
    build_ms: f64,
    /// From the registry's word to the view.
    delay_ms: Option<f64>,
}

pub(crate) fn changes(balancer: &Balancer) -> Changes {
    let changes = balancer.changes();
    Changes {
        changes: changes.iter().map(ChangeRow::of).collect(),
    }
}

impl ChangeRow {
    fn of(change: &Change) -> Self {
        Self {
            at_unix_ms: unix_ms(change.at),
            epoch: change.epoch,
            instances: change.instances,
            added: change.added.iter().map(ToString::to_string).collect(),
            added_count: change.added_count,
            removed: change.removed.iter().map(ToString::to_string).collect(),
            removed_count: change.removed_count,
            changed_count: change.changed_count,
            moved_share: change.moved_share.map(KeyShare::as_f64),
            build_ms: ms(change.build),
            delay_ms: change.delay.map(ms),
        }
    }
}
