//! All instances of a service at one revision, and what differs between two.

mod diff;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use self::diff::{InstanceChange, SnapshotDiff};
use crate::instance::Instance;

/// All instances of a service as the registry gave them at one revision: immutable, in id order, ids unique.
///
/// Two snapshots are equal when all fields of all instances are, so a change of a tag, a weight or a health is a change.
///
/// # Examples
/// ```
/// use ringfence_core::{Instance, Snapshot};
///
/// let a = Instance::builder("a", "10.0.0.1:80").build()?;
/// let b = Instance::builder("b", "10.0.0.2:80").build()?;
/// let one = Snapshot::new([b.clone(), a.clone()]);
/// assert_eq!(one, Snapshot::new([a, b]), "the order in which a registry lists them does not matter");
/// # Ok::<(), ringfence_core::InstanceError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    instances: Box<[Arc<Instance>]>,
    duplicates: usize,
    /// Places and weights of those whose weight on rings is not their own, rising.
    ring_weights: Box<[(u32, u32)]>,
    /// Places in the order given; `None` where that is their own order.
    given: Option<Box<[u32]>>,
}

impl Snapshot {
    /// Sorts the instances by id. Of several with one id the one with the lowest address stays, whatever the order given, so
    /// that all clients agree; the others are dropped and counted in [`duplicates`](Self::duplicates).
    pub fn new(instances: impl IntoIterator<Item = Instance>) -> Self {
        Self::from_shared(instances.into_iter().map(Arc::new))
    }

    /// The same of instances that are shared with other snapshots or a registry; copies none of them.
    pub fn from_shared(instances: impl IntoIterator<Item = Arc<Instance>>) -> Self {
        let mut instances: Vec<(u32, Arc<Instance>)> = (0..).zip(instances).collect();
        let given = instances.len();
        // The whole value breaks ties beyond the address, so that the result is a function of the set alone.
        instances.sort_by(|(_, a), (_, b)| {
            (a.id(), a.address())
                .cmp(&(b.id(), b.address()))
                .then_with(|| tie_break(a).cmp(&tie_break(b)))
        });
        instances.dedup_by(|(_, later), (_, first)| later.id() == first.id());
        Self {
            duplicates: given - instances.len(),
            given: given_order(instances.iter().map(|(at, _)| *at)),
            instances: instances
                .into_iter()
                .map(|(_, instance)| instance)
                .collect(),
            ring_weights: Box::default(),
        }
    }

    /// A snapshot without instances.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// The instances, in id order.
    #[must_use]
    pub fn instances(&self) -> &[Arc<Instance>] {
        &self.instances
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }

    /// The same instances, some with another weight on rings than their own, as in a [slow start](crate::SlowStart): `weight`
    /// gives it for those that take traffic. It is the same snapshot where nothing changes. What the registry said of their
    /// weights stays in the instances, and snapshots that differ in this alone are equal.
    #[must_use]
    pub fn with_ring_weights(
        self: &Arc<Self>,
        weight: impl Fn(&Instance) -> Option<u32>,
    ) -> Arc<Self> {
        let takers = (0u32..)
            .zip(&self.instances)
            .filter(|(_, i)| i.takes_traffic());
        let other = |(place, instance): (u32, &Arc<Instance>)| {
            let weight = weight(instance)?;
            (weight != instance.effective_weight()).then_some((place, weight))
        };
        let ring_weights: Box<[_]> = takers.filter_map(other).collect();
        if ring_weights == self.ring_weights {
            return Arc::clone(self);
        }
        Arc::new(Self {
            instances: self.instances.clone(),
            duplicates: self.duplicates,
            ring_weights,
            given: self.given.clone(),
        })
    }

    /// The weight on rings of the instance at a place in [`instances`](Self::instances): 0 while it takes no traffic.
    #[must_use]
    pub fn ring_weight(&self, place: u32) -> u32 {
        if !self.ring_weights.is_empty()
            && let Ok(found) = self
                .ring_weights
                .binary_search_by_key(&place, |(place, _)| *place)
            && let Some((_, weight)) = self.ring_weights.get(found)
        {
            return *weight;
        }
        let instance = self.instances.get(place as usize);
        instance.map_or(0, |instance| instance.effective_weight())
    }

    /// The places in [`instances`](Self::instances) in the order in which the registry or file listed them, which some
    /// [algorithms](crate::HashAlgorithm) of other programs depend on. It makes no difference to equality, so a registry that lists the same
    /// instances in another order makes no new snapshot.
    pub fn given_order(&self) -> impl Iterator<Item = u32> + '_ {
        let own = self.given.is_none().then(|| (0u32..).zip(&self.instances));
        let own = own.into_iter().flatten().map(|(place, _)| place);
        own.chain(self.given.iter().flatten().copied())
    }

    /// How many records were dropped because another one had their id.
    #[must_use]
    pub fn duplicates(&self) -> usize {
        self.duplicates
    }

    /// The instance with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Arc<Instance>> {
        self.instances.get(self.index_of(id)?)
    }

    /// The place of this id in [`instances`](Self::instances).
    #[must_use]
    pub fn index_of(&self, id: &str) -> Option<usize> {
        self.instances
            .binary_search_by(|instance| instance.id().as_str().cmp(id))
            .ok()
    }
}

/// The places by when each was given; `None` where that rises with them.
fn given_order(given_at: impl Iterator<Item = u32> + Clone) -> Option<Box<[u32]>> {
    if given_at.clone().is_sorted() {
        return None;
    }
    let mut places: Vec<(u32, u32)> = given_at.zip(0..).collect();
    places.sort_unstable();
    Some(places.into_iter().map(|(_, place)| place).collect())
}

fn tie_break(i: &Instance) -> impl Ord + '_ {
    (
        i.scheme(),
        i.weight(),
        i.version(),
        i.region(),
        i.zone(),
        i.tags(),
        i.health(),
        i.is_enabled(),
    )
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.instances == other.instances
    }
}

impl Eq for Snapshot {}

impl FromIterator<Instance> for Snapshot {
    fn from_iter<I: IntoIterator<Item = Instance>>(instances: I) -> Self {
        Self::new(instances)
    }
}
