//! Changes of single points.

use super::{
    cut::{Cut, Entry},
    layout::PointSource,
    owners::Owners,
};

/// A point that comes or goes. Orders by position first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Change {
    /// The kept bits of the position.
    kept: u64,
    slot: u32,
    is_added: bool,
}

impl Change {
    pub(super) fn new(cut: Cut, position: u64, slot: u32, is_added: bool) -> Self {
        Self {
            kept: cut.kept(position),
            slot,
            is_added,
        }
    }

    pub(super) fn bucket(&self) -> usize {
        (self.kept >> u32::BITS) as usize
    }

    #[expect(clippy::cast_possible_truncation, reason = "these bits are wanted")]
    pub(super) fn low(&self) -> u32 {
        self.kept as u32
    }

    pub(super) fn is_added(&self) -> bool {
        self.is_added
    }

    fn entry(&self) -> Entry {
        Entry::new(self.low(), self.slot)
    }
}

/// Points `first..end` of an owner that come or go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) source: PointSource,
    pub(super) slot: u32,
    pub(super) first: u32,
    pub(super) end: u32,
    pub(super) is_added: bool,
}

impl Span {
    pub(super) fn len(&self) -> usize {
        (self.end - self.first) as usize
    }

    pub(super) fn changes(self, cut: Cut) -> impl Iterator<Item = Change> {
        (self.first..self.end)
            .map(move |i| Change::new(cut, self.source.point(i), self.slot, self.is_added))
    }
}

/// Appends the points of a bucket to `entries`, with its changes in the order of their positions. `owners` are those after
/// all changes.
pub(super) fn patch(
    entries: &mut Vec<Entry>,
    points: &[Entry],
    changes: &[Change],
    owners: &Owners,
    cut: Cut,
) {
    let mut rest = points;
    for changes in changes.chunk_by(|a, b| a.kept == b.kept) {
        let Some(&Change { kept, .. }) = changes.first() else {
            continue;
        };
        let goal = Entry::first_at(changes.first().map_or(0, Change::low));
        let before = rest.partition_point(|point| *point < goal);
        let (before, from) = rest.split_at_checked(before).unwrap_or_default();
        let equal = from.iter().take_while(|point| point.low() == goal.low());
        let (run, behind) = from.split_at_checked(equal.count()).unwrap_or_default();
        rest = behind;
        entries.extend_from_slice(before);
        let start = entries.len();
        entries.extend_from_slice(run);
        for change in changes {
            if change.is_added {
                entries.push(change.entry());
            } else if let Some(run) = entries.get(start..)
                && let Some(gone) = run.iter().position(|point| *point == change.entry())
            {
                // Equal entries are alike, and what is left is brought into order below.
                entries.swap_remove(start + gone);
            }
        }
        if let Some(run) = entries.get_mut(start..).filter(|run| run.len() > 1) {
            owners.settle(run, cut, kept);
        }
    }
    entries.extend_from_slice(rest);
}
