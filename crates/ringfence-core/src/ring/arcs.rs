//! Which parts of the key space belong to whom.

use super::{HashAlgorithm, KeyHash, Ring, RingConfig, SlotTable, native};
use crate::{instance::InstanceId, key_share::KeyShare};

/// The member of an arc that belongs to nobody.
pub(crate) const NOBODY: u32 = u32::MAX;

impl Ring {
    /// Version of the layout of Ringfence's own ring.
    pub const LAYOUT_VERSION: u32 = native::VERSION;

    /// How many members it has, those without points included.
    #[must_use]
    pub fn member_count(&self) -> usize {
        self.members.len()
    }

    /// The id of a member; `None` for one that does not exist.
    #[must_use]
    pub fn member_id(&self, member: u32) -> Option<&InstanceId> {
        self.members.get(member as usize).map(|member| &member.id)
    }

    /// The member with this id.
    #[must_use]
    pub fn member_of(&self, id: &str) -> Option<u32> {
        let found = self
            .members
            .binary_search_by(|member| member.id.as_str().cmp(id));
        found.ok().and_then(|place| u32::try_from(place).ok())
    }

    /// The part of all keys that each member owns, exact; `None` where nothing tells it but keys themselves: with several probes, with
    /// jump and with rendezvous.
    ///
    /// It takes a step for each point of a ring, slot of Maglev's table, or slot and member of slots: for a look from outside, not
    /// for the path of a request.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use ringfence_core::{Instance, Pool, Ring, RingConfig, Selector, Snapshot};
    ///
    /// let instances = ["a", "b", "c"].map(|id| Instance::builder(id, "10.0.0.1:80").build());
    /// let snapshot = Arc::new(Snapshot::new(instances.into_iter().collect::<Result<Vec<_>, _>>()?));
    /// let ring = Ring::build(&Pool::select(&snapshot, &Selector::any()), &RingConfig::default());
    /// let shares = ring.shares().expect("a ring has arcs");
    /// assert_eq!(shares.len(), 3);
    /// let sum: u128 = shares.iter().map(|share| share.part()).sum();
    /// assert_eq!(sum, 1 << 64);
    /// # Ok::<(), ringfence_core::InstanceError>(())
    /// ```
    #[must_use]
    pub fn shares(&self) -> Option<Vec<KeyShare>> {
        let (last, arcs) = match (self.last_position(), self.table_size()) {
            (Some(last), _) => (last, self.arcs(last)),
            (None, Some(size)) => {
                let last = u64::from(size).checked_sub(1)?;
                (
                    last,
                    Box::new(self.slots(last)) as Box<dyn Iterator<Item = _>>,
                )
            }
            (None, None) => return None,
        };
        let mut parts = vec![0_u128; self.member_count()];
        let mut begin = 0_u128;
        for (end, member) in arcs {
            let end = u128::from(end) + 1;
            if let Some(part) = parts.get_mut(member as usize) {
                *part += end - begin;
            }
            begin = end;
        }
        let whole = u128::from(last) + 1;
        let shares = parts.into_iter().map(|part| KeyShare::new(part, whole));
        Some(shares.collect())
    }

    /// The part of each member, in the order of the members, counted over keys: for rings whose [shares](Self::shares) are not known
    /// without.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use ringfence_core::{Instance, Pool, Ring, RingConfig, Selector, Snapshot};
    ///
    /// let instances = [
    ///     Instance::builder("a", "10.0.0.1:80").build()?,
    ///     Instance::builder("b", "10.0.0.2:80").build()?,
    /// ];
    /// let pool = Pool::select(&Arc::new(Snapshot::new(instances)), &Selector::any());
    /// let ring = Ring::build(&pool, &RingConfig::default().with_probes(5)?);
    /// let shares = ring.sampled_shares((0..10_000_u64).map(u64::to_le_bytes));
    /// assert!(shares.iter().all(|share| share.whole() == 10_000 && share.as_f64() > 0.4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn sampled_shares<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Vec<KeyShare> {
        let mut counts = vec![0; self.member_count()];
        let mut whole = 0;
        for key in keys {
            whole += 1;
            let owner = self.owner(self.config().hash_key(key.as_ref()));
            let count = owner.and_then(|member| counts.get_mut(member as usize));
            if let Some(count) = count {
                *count += 1;
            }
        }
        let share = |count| KeyShare::new(count, whole);
        counts.into_iter().map(share).collect()
    }

    /// The last position of its key space, where it is divided into arcs, each of one owner; `None` where neighbouring hashes have
    /// nothing in common: with several probes, Maglev, jump and rendezvous.
    #[must_use]
    pub fn last_position(&self) -> Option<u64> {
        let config = self.config();
        match config.algorithm() {
            HashAlgorithm::Ring => (config.probes() == 1).then_some(u64::MAX),
            HashAlgorithm::EnvoyRing(_) => Some(u64::MAX),
            HashAlgorithm::Nginx(_) | HashAlgorithm::Ketama(_) => Some(u32::MAX.into()),
            // A key's hash is its slot.
            HashAlgorithm::Slots(_) => Some(u64::from(SlotTable::SLOTS) - 1),
            HashAlgorithm::Maglev(_) | HashAlgorithm::Jump(_) | HashAlgorithm::Rendezvous => None,
        }
    }

    /// The key space in order, as the last position of each arc and its owner: each arc begins behind the one before, the last
    /// one ends with the space. Nobody owns anything on a ring without points.
    pub(crate) fn arcs(&self, last: u64) -> Box<dyn Iterator<Item = (u64, u32)> + '_> {
        match self.config().algorithm() {
            HashAlgorithm::Slots(_) => Box::new(self.slots(last)),
            _ => Box::new(arcs_of(self.points(), last)),
        }
    }

    /// How many slots the table has that a key's hash is taken modulo of, where there is one.
    pub(crate) fn table_size(&self) -> Option<u32> {
        match self.config().algorithm() {
            HashAlgorithm::Maglev(maglev) => Some(maglev.table_size()),
            _ => None,
        }
    }

    /// How many steps it takes at most to go over all arcs, or the table: what [`shares`](Self::shares) costs.
    #[must_use]
    pub fn arc_steps(&self) -> usize {
        match self.config().algorithm() {
            // A slot of nobody is scored for each member.
            HashAlgorithm::Slots(_) => {
                usize::from(SlotTable::SLOTS).saturating_mul(self.member_count().max(1))
            }
            _ => self.len(),
        }
    }

    /// The owner of each hash up to `last`.
    pub(crate) fn slots(&self, last: u64) -> impl Iterator<Item = (u64, u32)> + '_ {
        (0..=last).map(|slot| {
            let owner = self.owner(KeyHash::from_raw(slot));
            (slot, owner.unwrap_or(NOBODY))
        })
    }
}

fn arcs_of(
    mut points: impl Iterator<Item = (u64, u32)>,
    last: u64,
) -> impl Iterator<Item = (u64, u32)> {
    let mut before = None;
    // Keys behind the last point are those of the first one.
    let mut owner_of_the_rest = NOBODY;
    let mut is_over = false;
    std::iter::from_fn(move || {
        while !is_over {
            let Some((position, member)) = points.next() else {
                is_over = true;
                return Some((last, owner_of_the_rest));
            };
            if before.is_none() {
                owner_of_the_rest = member;
            }
            // Of equal points the first one has the keys.
            if before.replace(position) != Some(position) {
                is_over = position >= last;
                return Some((position, member));
            }
        }
        None
    })
}

impl RingConfig {
    /// Whether rings of these settings give each key the same position as rings of others.
    pub(crate) fn hashes_alike(&self, other: &Self) -> bool {
        match (self.algorithm(), other.algorithm()) {
            (HashAlgorithm::Ring, HashAlgorithm::Ring) => self.seed() == other.seed(),
            // Theirs has no seed.
            (HashAlgorithm::EnvoyRing(_), HashAlgorithm::EnvoyRing(_))
            | (HashAlgorithm::Nginx(_), HashAlgorithm::Nginx(_))
            | (HashAlgorithm::Ketama(_), HashAlgorithm::Ketama(_))
            | (HashAlgorithm::Slots(_), HashAlgorithm::Slots(_)) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arcs(points: &[(u64, u32)], last: u64) -> Vec<(u64, u32)> {
        arcs_of(points.iter().copied(), last).collect()
    }

    #[test]
    fn the_arcs_cover_the_space_once() {
        assert_eq!(arcs(&[], 9), [(9, NOBODY)]);
        assert_eq!(arcs(&[(4, 1)], 9), [(4, 1), (9, 1)]);
        assert_eq!(arcs(&[(0, 1), (9, 2)], 9), [(0, 1), (9, 2)]);
        let max = u64::MAX;
        assert_eq!(arcs(&[(0, 1), (5, 2)], max), [(0, 1), (5, 2), (max, 1)]);
    }

    /// Two points at one place: the first one in order has the keys, as in a look-up (B13).
    #[test]
    fn of_equal_points_the_first_has_the_arc() {
        let points = [(0, 3), (0, 1), (5, 2), (5, 1), (5, 2), (9, 1), (9, 3)];
        assert_eq!(arcs(&points, 9), [(0, 3), (5, 2), (9, 1)]);
    }
}
