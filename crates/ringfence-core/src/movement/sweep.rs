//! Both rings side by side, arc by arc.

use std::collections::BTreeMap;

use crate::ring::{NOBODY, Ring};

/// A run of positions whose owner is another on the newer ring: members of the older and of the newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Piece {
    pub(super) fn width(self) -> u128 {
        u128::from(self.end - self.start) + 1
    }
}

/// Which member of the newer ring a member of the older one is.
pub(super) struct Translation(Box<[u32]>);

impl Translation {
    pub(super) fn new(before: &Ring, after: &Ring) -> Self {
        let count = u32::try_from(before.member_count()).unwrap_or(u32::MAX);
        let same = |member| after.member_of(before.member_id(member)?.as_str());
        Self((0..count).map(|m| same(m).unwrap_or(GONE)).collect())
    }

    /// Whether the owner of a key stays the same one.
    pub(super) fn is_same(&self, from: u32, to: u32) -> bool {
        if from == NOBODY {
            return to == NOBODY;
        }
        self.0.get(from as usize) == Some(&to)
    }
}

/// Not [`NOBODY`], so that what belonged to one who is gone differs from what belongs to nobody.
const GONE: u32 = NOBODY - 1;

/// The runs of positions up to `last` that have another owner, in order, those that touch and move alike as one.
pub(super) fn moved(before: &Ring, after: &Ring, last: u64) -> impl Iterator<Item = Piece> {
    let same = Translation::new(before, after);
    moved_arcs(before.arcs(last), after.arcs(last), last, same)
}

/// The runs of slots of a table that have another owner.
pub(super) fn moved_slots(before: &Ring, after: &Ring, size: u32) -> impl Iterator<Item = Piece> {
    let same = Translation::new(before, after);
    let last = u64::from(size).saturating_sub(1);
    moved_arcs(before.slots(last), after.slots(last), last, same)
}

fn moved_arcs(
    before: impl Iterator<Item = (u64, u32)>,
    after: impl Iterator<Item = (u64, u32)>,
    last: u64,
    same: Translation,
) -> impl Iterator<Item = Piece> {
    let (mut old, mut new) = (before.peekable(), after.peekable());
    let mut start = Some(0);
    let mut open: Option<Piece> = None;
    std::iter::from_fn(move || {
        while let (Some(from), Some(&(old_end, old_owner)), Some(&(new_end, new_owner))) =
            (start, old.peek(), new.peek())
        {
            let end = old_end.min(new_end);
            if old_end == end {
                old.next();
            }
            if new_end == end {
                new.next();
            }
            start = (end < last).then(|| end + 1);
            if same.is_same(old_owner, new_owner) {
                continue;
            }
            let piece = Piece {
                start: from,
                end,
                from: old_owner,
                to: new_owner,
            };
            match &mut open {
                Some(open) if continues(*open, piece) => open.end = piece.end,
                Some(_) => return open.replace(piece),
                None => open = Some(piece),
            }
        }
        open.take()
    })
}

fn continues(open: Piece, next: Piece) -> bool {
    open.end.checked_add(1) == Some(next.start) && (open.from, open.to) == (next.from, next.to)
}

/// How much moves from whom to whom, by members of both rings.
#[derive(Default)]
pub(super) struct Sums(BTreeMap<(u32, u32), u128>);

impl Sums {
    pub(super) fn add(&mut self, from: u32, to: u32, width: u128) {
        *self.0.entry((from, to)).or_default() += width;
    }

    pub(super) fn total(&self) -> u128 {
        self.0.values().sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32, u128)> {
        self.0.iter().map(|(&(from, to), &sum)| (from, to, sum))
    }
}
