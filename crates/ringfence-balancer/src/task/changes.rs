//! How urgent a snapshot is, and the log lines that tell what a new view moved.

use std::{fmt, sync::Arc};

use ringfence_core::{Instance, KeyShare, Snapshot, SnapshotDiff, View};
use ringfence_discovery::ServiceKey;
use tracing::{debug, field, info, warn};

use super::Task;
use crate::{merge::Urgency, published::Published};

pub(crate) fn urgency(published: Option<&Published>, newer: &Snapshot) -> Urgency {
    let Some(published) = published.filter(|published| published.service_exists) else {
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

impl Task {
    /// Counts what a new snapshot says of the instances, so that one sees how restless a service is.
    pub(super) fn count_transitions(&mut self, before: Option<&View>, newer: &Snapshot) {
        let Some(before) = before else {
            return;
        };
        let diff = before.snapshot().diff(newer);
        let report = &mut self.report;
        report.instances_added += diff.added.len() as u64;
        report.instances_removed += diff.removed.len() as u64;
        let turned = diff.changed.iter().filter(|change| change.health);
        for change in turned {
            let healthy = newer
                .get(change.id.as_str())
                .is_some_and(|i| i.is_healthy());
            let counter = if healthy {
                &mut report.health_regained
            } else {
                &mut report.health_lost
            };
            *counter += 1;
        }
    }
}

/// How many instances take traffic, and how many of them are healthy.
pub(crate) fn takers(snapshot: &Snapshot) -> (usize, usize) {
    let takers = snapshot.instances().iter().filter(|i| i.takes_traffic());
    (takers.count(), usable(snapshot).count())
}

pub(crate) fn log(
    service: &ServiceKey,
    before: Option<&View>,
    view: &View,
    moved: Option<KeyShare>,
) {
    let instances = view.snapshot().len();
    let Some(before) = before else {
        info!(%service, epoch = view.epoch(), instances, "first view");
        log_ignored_health(service, 0, view);
        return;
    };
    let (was, is) = (before.config().ring(), view.config().ring());
    if was != is {
        let fingerprint = view.whole_ring().fingerprint();
        let keys = if fingerprint == before.whole_ring().fingerprint() {
            "stay"
        } else {
            "move"
        };
        info!(
            %service,
            epoch = view.epoch(),
            from = %was.algorithm(),
            to = %is.algorithm(),
            %fingerprint,
            keys,
            "rings have other settings"
        );
    }
    let SnapshotDiff {
        added,
        removed,
        changed,
        ..
    } = before.snapshot().diff(view.snapshot());
    if added.is_empty() && removed.is_empty() && changed.is_empty() {
        debug!(%service, epoch = view.epoch(), "view published, same instances");
    } else {
        info!(
            %service,
            epoch = view.epoch(),
            instances,
            added = added.len(),
            removed = removed.len(),
            changed = changed.len(),
            came = %Few(&added),
            went = %Few(&removed),
            differ = %Few(&changed.iter().map(|change| &change.id).collect::<Vec<_>>()),
            moved = moved.map(field::display),
            "view published"
        );
    }
    log_ignored_health(service, pools_in_panic(before), view);
}

fn pools_in_panic(view: &View) -> usize {
    view.pools().filter(|pool| pool.is_panic()).count()
}

fn log_ignored_health(service: &ServiceKey, before: usize, view: &View) {
    match (before, pools_in_panic(view)) {
        (0, pools @ 1..) => warn!(%service, pools, "health ignored: too few usable instances"),
        (1.., 0) => info!(%service, "health counts again"),
        _ => {}
    }
}

/// Most ids of one kind in a log line.
const MAX_IDS: usize = 8;

/// The first ids of a list, and how many more there are.
struct Few<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Few<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, id) in self.0.iter().take(MAX_IDS).enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{id}")?;
        }
        match self.0.len().saturating_sub(MAX_IDS) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_names_a_few() {
        assert_eq!(Few::<u32>(&[]).to_string(), "");
        assert_eq!(Few(&["a", "b"]).to_string(), "a, b");
        let many: Vec<_> = (0..1_000).collect();
        assert_eq!(
            Few(&many).to_string(),
            "0, 1, 2, 3, 4, 5, 6, 7 and 992 more"
        );
    }
}
