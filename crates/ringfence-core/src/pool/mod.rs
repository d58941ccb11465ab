//! The instances of a snapshot that a route may use.

mod selector;

use std::sync::Arc;

pub use self::selector::{Attribute, Match, Selector};
use crate::{instance::Instance, snapshot::Snapshot};

/// The instances of a snapshot that a [`Selector`] accepts, in id order. The only thing that a ring can be made of.
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
    selector: Arc<Selector>,
    members: Box<[u32]>,
}

impl Pool {
    /// Filters a snapshot.
    #[must_use]
    pub fn select(snapshot: &Arc<Snapshot>, selector: &Selector) -> Self {
        let members = (0u32..)
            .zip(snapshot.instances())
            .filter(|(_, instance)| selector.matches(instance))
            .map(|(index, _)| index)
            .collect();
        Self {
            snapshot: Arc::clone(snapshot),
            selector: Arc::new(selector.clone()),
            members,
        }
    }

    /// What it was selected by; shared, so that whoever keeps it need not keep the pool.
    #[must_use]
    pub fn selector(&self) -> &Arc<Selector> {
        &self.selector
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
