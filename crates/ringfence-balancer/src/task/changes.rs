//! How urgent a snapshot is, and the log lines that tell what a new view moved.

use std::sync::Arc;

use ringfence_core::{Instance, Snapshot, SnapshotDiff, View};
use tracing::{debug, info};

use crate::merge::Urgency;
use crate::state::Published;

pub(crate) fn urgency(published: Option<&Published>, newer: &Snapshot) -> Urgency {
    let Some(published) = published.filter(|published| published.known) else {
        return Urgency::AtOnce;
    };
    let current = published.view.snapshot();
    let diff = current.diff(newer);
    if diff.is_empty() {
        return Urgency::Unchanged;
    }
    let leaves = !diff.removed.is_empty()
        || diff
            .changed
            .iter()
            .any(|change| change.target || change.stopped || change.health);
    let has_usable = |snapshot: &Snapshot| usable(snapshot).next().is_some();
    if leaves || !has_usable(current) && has_usable(newer) {
        Urgency::AtOnce
    } else {
        Urgency::MayWait
    }
}

fn usable(snapshot: &Snapshot) -> impl Iterator<Item = &Arc<Instance>> {
    snapshot.instances().iter().filter(|i| i.is_usable())
}

/// How many instances take traffic, and how many of them are healthy.
pub(crate) fn takers(snapshot: &Snapshot) -> (usize, usize) {
    let takers = snapshot.instances().iter().filter(|i| i.takes_traffic());
    (takers.count(), usable(snapshot).count())
}

pub(crate) fn log(before: Option<&View>, view: &View) {
    let instances = view.snapshot().len();
    let Some(before) = before else {
        info!(epoch = view.epoch(), instances, "first view");
        return;
    };
    let SnapshotDiff {
        added,
        removed,
        changed,
        ..
    } = before.snapshot().diff(view.snapshot());
    if added.is_empty() && removed.is_empty() && changed.is_empty() {
        debug!(epoch = view.epoch(), "view published, same instances");
    } else {
        info!(
            epoch = view.epoch(),
            instances,
            added = added.len(),
            removed = removed.len(),
            changed = changed.len(),
            "view published"
        );
    }
    let panicking = |view: &View| view.pools().filter(|pool| pool.is_panic()).count();
    match (panicking(before), panicking(view)) {
        (0, pools @ 1..) => info!(pools, "panic: too few usable instances, health is ignored"),
        (1.., 0) => info!("panic is over"),
        _ => {}
    }
}
