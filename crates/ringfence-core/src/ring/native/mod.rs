//! Ring layout v1: the ring that Ringfence's clients share.

mod layout;
mod points;
#[cfg(test)]
mod tests;
mod update;
mod walk;

use self::{
    layout::PointSource,
    points::{Point, Points},
};
pub(super) use self::{
    layout::{PointCounts, VERSION},
    walk::NativeWalk,
};
use super::{KeyHash, RingMember};

/// The points of all members and the search over them.
pub(super) struct NativeRing {
    points: Points,
    /// Members with points.
    populated: usize,
}

impl NativeRing {
    pub(super) fn build(members: &[RingMember], seed: u64) -> Self {
        let count = members.iter().map(|m| m.points as usize).sum();
        let mut points: Vec<Point> = Vec::with_capacity(count);
        for (owner, member) in (0..).zip(members) {
            let source = PointSource::new(member.id.as_str(), seed);
            points.extend((0..member.points).map(|i| (source.point(i), owner)));
        }
        points.sort_unstable();
        Self::new(members, Points::from_sorted(points.into_iter()))
    }

    /// Equal to one built of the new members; `old` are those that this one was built of.
    pub(super) fn update(&self, old: &[RingMember], new: &[RingMember], seed: u64) -> Self {
        Self::new(new, update::merge(old, &self.points, new, seed))
    }

    fn new(members: &[RingMember], points: Points) -> Self {
        Self {
            points,
            populated: members.iter().filter(|m| m.points > 0).count(),
        }
    }

    #[inline]
    pub(super) fn owner(&self, key: KeyHash) -> Option<u32> {
        self.points.owner_at(self.points.successor(key.get()))
    }

    pub(super) fn walk_where<P: FnMut(u32) -> bool>(
        &self,
        members: usize,
        key: KeyHash,
        usable: P,
    ) -> NativeWalk<'_, P> {
        let members = members.min(self.populated);
        NativeWalk::new(&self.points, members, key.get(), usable)
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (u64, u32)> + '_ {
        self.points.iter()
    }
}
