//! Ring layout v1: the ring that Ringfence's clients share.
//!
//! A point is 8 bytes: its owner, and as many bits of its position as tell it from others but once in billions of times, where the
//! rest is made anew from the owner; so the mapping is exact in 64 bits. A small ring is one array with an index. A large one is
//! cut by the top bits into shards, which a changed ring shares with the one before, but for those that the change touches.

mod cut;
mod flat;
mod layout;
mod owners;
mod patch;
mod place;
mod points;
mod probes;
mod shard;
mod shards;
mod sort;
#[cfg(test)]
mod tests;
mod threads;
mod update;
mod walk;

use self::{
    layout::PointSource,
    owners::{Owner, Owners},
    points::Points,
    probes::Probes,
    sort::sort_into,
    update::Plan,
};
pub(super) use self::{
    layout::{PointCounts, VERSION},
    walk::NativeWalk,
};
use super::{KeyHash, RingMember};

/// The points of all members and the search over them.
pub(super) struct NativeRing {
    points: Points,
    owners: Owners,
    /// Members with points.
    populated: usize,
    probes: Probes,
}

impl NativeRing {
    pub(super) fn build(members: &[RingMember], seed: u64, probes: u32) -> Self {
        let populated = (0u32..).zip(members).filter(|(_, m)| m.points > 0);
        let (places, owners) = populated
            .map(|(place, member)| {
                let source = PointSource::new(member.id.as_str(), seed);
                let points = member.points;
                (place, Owner { source, points })
            })
            .unzip();
        let owners = Owners::new(places, owners);
        Self::new(owners, Probes::new(probes))
    }

    /// Equal to one built of the new members; `old` are those that this one was built of.
    pub(super) fn update(&self, old: &[RingMember], new: &[RingMember], seed: u64) -> Self {
        let Plan { owners, spans } = Plan::new(&self.owners, old, new, seed);
        let (len, populated) = (owners.len(), owners.populated());
        let is_sparse = owners.members().len() > 2 * populated + 64;
        let patched = if is_sparse {
            None
        } else {
            let is_plain = self.probes.is_plain();
            self.points.patched(&spans, &owners, len, is_plain)
        };
        let Some(points) = patched else {
            return Self::new(owners.compacted(), self.probes);
        };
        Self {
            points,
            owners,
            populated,
            probes: self.probes,
        }
    }

    fn new(owners: Owners, probes: Probes) -> Self {
        Self {
            points: Points::build(&owners, owners.len(), probes.is_plain()),
            populated: owners.populated(),
            owners,
            probes,
        }
    }

    #[inline]
    pub(super) fn owner(&self, key: KeyHash) -> Option<u32> {
        let position = key.get();
        let slot = self.points.likely_slot(position);
        let member = slot.and_then(|slot| self.owners.member(slot));
        member.or_else(|| self.any_owner(position))
    }

    /// Apart, for what several probes need of the stack would cost other keys more than the rest of their way.
    #[inline(never)]
    fn any_owner(&self, position: u64) -> Option<u32> {
        if self.probes.is_plain() {
            return self.searched_owner(position);
        }
        self.probes.owner(position, &self.points, &self.owners)
    }

    #[inline(never)]
    fn searched_owner(&self, position: u64) -> Option<u32> {
        let (_, point) = self.points.searched_successor(position, &self.owners)?;
        self.owners.member(point.slot())
    }

    #[inline]
    pub(super) fn walk_where<P: FnMut(u32) -> bool>(
        &self,
        members: usize,
        key: KeyHash,
        usable: P,
    ) -> NativeWalk<'_, P> {
        NativeWalk::new(self, members.min(self.populated), key.get(), usable)
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// Position and member of each point, in order. Positions are made anew: time and memory for all of them.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (u64, u32)> + '_ {
        let positions: Vec<u64> = self.owners.points().map(|(_, p)| p).collect();
        let (mut sorted, mut index) = (Vec::new(), Vec::new());
        let bits = positions.len().max(4).ilog2() - 1;
        sort_into(
            &mut sorted,
            &mut index,
            &positions,
            1 << bits,
            u64::BITS - bits,
        );
        let slots = self.points.slots();
        let points = sorted.into_iter().zip(slots);
        points.map(|(position, slot)| (position, self.owners.member(slot).unwrap_or_default()))
    }

    #[inline]
    fn member(&self, place: place::Place) -> Option<u32> {
        self.owners.member(self.points.slot(place)?)
    }
}
