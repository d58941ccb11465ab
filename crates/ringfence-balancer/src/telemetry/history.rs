use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use ringfence_core::{InstanceId, KeyShare, SnapshotDiff, View};

/// A change of a service's instances or of its ring, as it came into force.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Change {
    /// When.
    pub at: SystemTime,
    /// The view that it came with.
    pub epoch: u64,
    /// Instances after it.
    pub instances: usize,
    /// Those that came: the first [`MAX_IDS`](Self::MAX_IDS).
    pub added: Vec<InstanceId>,
    /// How many came.
    pub added_count: usize,
    /// Those that went: the first [`MAX_IDS`](Self::MAX_IDS).
    pub removed: Vec<InstanceId>,
    /// How many went.
    pub removed_count: usize,
    /// How many differ in something else, such as weight, health or tags.
    pub changed_count: usize,
    /// How much of the key space of the ring of all instances has another owner; `None` where nothing moved or nobody can tell, see
    /// [`Status::moved_share`](crate::Status::moved_share).
    pub moved_share: Option<KeyShare>,
    /// How long the view took to make.
    pub build: Duration,
    /// From the registry's word to the view; `None` where it did not come from there.
    pub delay: Option<Duration>,
}

impl Change {
    /// The most instances that are named.
    pub const MAX_IDS: usize = 16;
    /// The most changes that a balancer remembers.
    pub const KEPT: usize = 64;

    pub(crate) fn new(view: &View, diff: &SnapshotDiff, applied: Applied) -> Self {
        let few = |ids: &[InstanceId]| ids.iter().take(Self::MAX_IDS).cloned().collect();
        Self {
            at: SystemTime::now(),
            epoch: view.epoch(),
            instances: view.snapshot().len(),
            added: few(&diff.added),
            added_count: diff.added.len(),
            removed: few(&diff.removed),
            removed_count: diff.removed.len(),
            changed_count: diff.changed.len(),
            moved_share: applied.moved_share,
            build: applied.build,
            delay: applied.delay,
        }
    }
}

/// How a change came into force.
#[derive(Clone, Copy)]
pub(crate) struct Applied {
    pub(crate) moved_share: Option<KeyShare>,
    pub(crate) build: Duration,
    pub(crate) delay: Option<Duration>,
}

/// The last changes, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    changes: Mutex<VecDeque<Change>>,
}

impl History {
    pub(crate) fn push(&self, change: Change) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if changes.len() == Change::KEPT {
            changes.pop_front();
        }
        changes.push_back(change);
    }

    pub(crate) fn all(&self) -> Vec<Change> {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.iter().cloned().collect()
    }
}
