//! Who owns points: slots that stay while members come and go.

use super::{
    cut::{Cut, Entry, kept_of},
    layout::PointSource,
};

/// A slot that nobody has.
pub(super) const VACANT: u32 = u32::MAX;

/// Members with points, by slot. A member keeps its slot for as long as it has points, while its place among the members moves
/// with each one that comes or leaves before it; so points name slots, and those that did not change need not be written again.
#[derive(Clone)]
pub(super) struct Owners {
    members: Box<[u32]>,
    owners: Box<[Owner]>,
}

/// What the points of one slot come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) source: PointSource,
    pub(super) points: u32,
}

impl Owners {
    /// Both lists are by slot.
    pub(super) fn new(members: Vec<u32>, owners: Vec<Owner>) -> Self {
        Self {
            members: members.into(),
            owners: owners.into(),
        }
    }

    /// The same members in new slots: as many as have points, in the members' order.
    pub(super) fn compacted(&self) -> Self {
        let mut taken: Vec<(u32, Owner)> = self.iter().map(|(_, m, owner)| (m, owner)).collect();
        taken.sort_unstable_by_key(|(member, _)| *member);
        let (members, owners) = taken.into_iter().unzip();
        Self::new(members, owners)
    }

    /// Member of a slot.
    #[inline]
    pub(super) fn member(&self, slot: u32) -> Option<u32> {
        self.members.get(slot as usize).copied()
    }

    pub(super) fn members(&self) -> &[u32] {
        &self.members
    }

    pub(super) fn by_slot(&self) -> &[Owner] {
        &self.owners
    }

    pub(super) fn owner(&self, slot: u32) -> Owner {
        self.owners.get(slot as usize).copied().unwrap_or_default()
    }

    /// Slot, member and owner of each slot that is taken.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32, Owner)> + '_ {
        (0u32..)
            .zip(&self.members)
            .zip(&self.owners)
            .filter(|((_, member), _)| **member != VACANT)
            .map(|((slot, member), owner)| (slot, *member, *owner))
    }

    /// Points of all.
    pub(super) fn len(&self) -> usize {
        self.owners.iter().map(|owner| owner.points as usize).sum()
    }

    /// Members with points.
    pub(super) fn populated(&self) -> usize {
        self.iter().count()
    }

    /// Slot and position of every point, slot by slot.
    pub(super) fn points(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.iter().flat_map(|(slot, _, owner)| {
            (0..owner.points).map(move |i| (slot, owner.source.point(i)))
        })
    }

    /// Number and position of the points of a slot whose kept bits are these.
    fn points_at(
        &self,
        slot: u32,
        cut: Cut,
        kept: u64,
    ) -> impl Iterator<Item = (u32, u64)> + Clone {
        let Owner { source, points } = self.owner(slot);
        (0..points)
            .map(move |i| (i, source.point(i)))
            .filter(move |(_, position)| cut.kept(*position) == kept)
    }

    /// Puts entries that agree in all kept bits into the order of the layout. They must be all that there are of their owners.
    #[cold]
    pub(super) fn settle(&self, run: &mut [Entry], cut: Cut, kept: u64) {
        let mut slots: Vec<u32> = run.iter().map(|entry| entry.slot()).collect();
        slots.sort_unstable();
        slots.dedup();
        let mut points: Vec<_> = slots
            .iter()
            .flat_map(|&slot| {
                let member = self.member(slot).unwrap_or(VACANT);
                self.points_at(slot, cut, kept)
                    .map(move |(i, position)| (position, member, i, slot))
            })
            .collect();
        points.sort_unstable();
        debug_assert_eq!(points.len(), run.len(), "a run is all points of its owners");
        for (entry, (.., slot)) in run.iter_mut().zip(points) {
            *entry = Entry::new(entry.low(), slot);
        }
    }

    /// Brings each run of a bucket that is in the order of its entries into that of the layout.
    #[cold]
    pub(super) fn settle_all(&self, points: &mut [Entry], cut: Cut, bucket: usize) {
        for run in points.chunk_by_mut(|a, b| a.low() == b.low()) {
            if let [first, _, ..] = run {
                let kept = kept_of(bucket, first.low());
                self.settle(run, cut, kept);
            }
        }
    }

    /// How many of a run's points lie before `position`, whose kept bits are the run's own.
    #[cold]
    pub(super) fn count_before(&self, run: &[Entry], cut: Cut, position: u64) -> usize {
        let is_first_of_owner = |(at, entry): &(usize, &Entry)| {
            let earlier = run.get(..*at).unwrap_or_default();
            earlier.last() != Some(*entry) && !earlier.contains(entry)
        };
        run.iter()
            .enumerate()
            .filter(is_first_of_owner)
            .map(|(_, entry)| {
                self.points_at(entry.slot(), cut, cut.kept(position))
                    .filter(|(_, point)| *point < position)
                    .count()
            })
            .sum()
    }

    /// The whole position of the entry at a place in its run.
    #[cold]
    pub(super) fn position(&self, run: &[Entry], at: usize, cut: Cut, kept: u64) -> Option<u64> {
        let entry = run.get(at)?;
        let mut earlier = run
            .get(..at)?
            .iter()
            .filter(|other| *other == entry)
            .count();
        let points = self.points_at(entry.slot(), cut, kept).map(|(_, p)| p);
        // An owner's points with equal kept bits come in the order of their positions.
        let mut least = points.clone().min()?;
        loop {
            let equal = points.clone().filter(|p| *p == least).count();
            if earlier < equal {
                return Some(least);
            }
            earlier -= equal;
            least = points.clone().filter(|p| *p > least).min()?;
        }
    }
}
