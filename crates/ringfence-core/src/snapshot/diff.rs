use std::cmp::Ordering;

use super::Snapshot;
use crate::instance::{Instance, InstanceId};

impl Snapshot {
    /// What changed from this snapshot to a newer one.
    #[must_use]
    pub fn diff(&self, newer: &Self) -> SnapshotDiff {
        let mut diff = SnapshotDiff::default();
        let (mut old, mut new) = (
            self.instances.iter().peekable(),
            newer.instances.iter().peekable(),
        );
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return diff,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.id().cmp(b.id()),
            };
            match order {
                Ordering::Less => diff.removed.extend(old.next().map(|i| i.id().clone())),
                Ordering::Greater => diff.added.extend(new.next().map(|i| i.id().clone())),
                Ordering::Equal => {
                    if let (Some(a), Some(b)) = (old.next(), new.next())
                        && a != b
                    {
                        diff.changed.push(InstanceChange::between(a, b));
                    }
                }
            }
        }
    }
}

/// What differs between two snapshots, in id order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotDiff {
    /// In the newer one only.
    pub added: Vec<InstanceId>,
    /// In the older one only.
    pub removed: Vec<InstanceId>,
    /// In both, with some field changed.
    pub changed: Vec<InstanceChange>,
}

impl SnapshotDiff {
    /// Whether the snapshots are equal.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

/// Which kinds of fields of an instance changed; several can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceChange {
    /// Whose.
    pub id: InstanceId,
    /// Address or scheme: it must be dialled anew.
    pub target: bool,
    /// Weight, or enabled: its share of the keys changes.
    pub weight: bool,
    /// It no longer takes traffic: drained or disabled.
    pub stopped: bool,
    /// Version, region, zone or tags: it may change pools.
    pub tags: bool,
    /// Health only matters while walking.
    pub health: bool,
}

impl InstanceChange {
    fn between(old: &Instance, new: &Instance) -> Self {
        Self {
            id: new.id().clone(),
            target: old.address() != new.address() || old.scheme() != new.scheme(),
            weight: old.effective_weight() != new.effective_weight(),
            stopped: old.takes_traffic() && !new.takes_traffic(),
            tags: old.version() != new.version()
                || old.region() != new.region()
                || old.zone() != new.zone()
                || old.tags() != new.tags(),
            health: old.health() != new.health(),
        }
    }
}
