//! The instances of a snapshot that a route may use.

mod conditions;
mod index;
mod selector;
mod shard;
mod spec;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use self::index::TagIndex;
pub use self::{
    selector::{Attribute, Match, Selector},
    shard::{Shard, name_seed},
    spec::PoolSpec,
};
use crate::{instance::Instance, snapshot::Snapshot};

/// The instances of a snapshot that a [`Selector`] accepts, or a [`Shard`] of them, in id order. The only thing that a ring can
/// be made of.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use ringfence_core::{Attribute, Instance, Match, Pool, Selector, Snapshot};
///
/// let snapshot = Arc::new(Snapshot::new([
///     Instance::builder("a", "10.0.0.1:80").version("stable").build()?,
///     Instance::builder("b", "10.0.0.2:80").version("gray").build()?,
/// ]));
/// let gray = Pool::select(&snapshot, &Selector::any().and(Attribute::Version, Match::is("gray")));
/// assert_eq!(gray.iter().map(|i| i.id().as_str()).collect::<Vec<_>>(), ["b"]);
/// # Ok::<(), ringfence_core::InstanceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pool {
    snapshot: Arc<Snapshot>,
    spec: PoolSpec,
    members: Box<[u32]>,
}

impl Pool {
    /// Filters a snapshot.
    #[must_use]
    pub fn select(snapshot: &Arc<Snapshot>, selector: &Selector) -> Self {
        Self::filter(snapshot, selector, (0u32..).zip(snapshot.instances()))
    }

    /// Filters a snapshot, and takes the shard if one is asked for.
    #[must_use]
    pub fn select_spec(snapshot: &Arc<Snapshot>, spec: &PoolSpec) -> Self {
        Self::select(snapshot, spec.selector()).narrowed(spec)
    }

    /// What a spec makes of a pool of its selector.
    pub(crate) fn narrowed(&self, spec: &PoolSpec) -> Self {
        let members = match spec.shard() {
            Some(shard) => shard.of(&self.snapshot, &self.members),
            None => self.members.clone(),
        };
        Self {
            snapshot: Arc::clone(&self.snapshot),
            spec: spec.clone(),
            members,
        }
    }

    /// [`select`](Self::select) with the help of the snapshot's index.
    pub(crate) fn select_by(
        index: &TagIndex,
        snapshot: &Arc<Snapshot>,
        selector: &Selector,
    ) -> Self {
        let Some(places) = index.narrow(selector) else {
            return Self::select(snapshot, selector);
        };
        let instances = snapshot.instances();
        let narrowed = places
            .into_iter()
            .filter_map(|place| Some((place, instances.get(place as usize)?)));
        Self::filter(snapshot, selector, narrowed)
    }

    fn filter<'a>(
        snapshot: &Arc<Snapshot>,
        selector: &Selector,
        instances: impl Iterator<Item = (u32, &'a Arc<Instance>)>,
    ) -> Self {
        let members = instances
            .filter(|(_, instance)| selector.matches(instance))
            .map(|(place, _)| place)
            .collect();
        Self {
            snapshot: Arc::clone(snapshot),
            spec: selector.clone().into(),
            members,
        }
    }

    /// What it was selected by.
    pub fn spec(&self) -> &PoolSpec {
        &self.spec
    }

    /// The conditions that all members meet.
    pub fn selector(&self) -> &Selector {
        self.spec.selector()
    }

    /// What it was selected from.
    #[must_use]
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Places of the members in [`Snapshot::instances`], rising. A *member* elsewhere is a place in this list.
    #[must_use]
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// The instance at a place in [`members`](Self::members).
    #[must_use]
    pub fn instance(&self, member: u32) -> Option<&Arc<Instance>> {
        let index = *self.members.get(member as usize)?;
        self.snapshot.instances().get(index as usize)
    }

    /// The instances, in id order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Instance>> {
        self.members
            .iter()
            .filter_map(|&index| self.snapshot.instances().get(index as usize))
    }

    /// How many members it has, drained and disabled ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether it has no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}
