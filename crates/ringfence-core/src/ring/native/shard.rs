use std::{array::from_fn, hint::select_unpredictable, sync::Arc};

use super::{
    cut::{Entry, Step},
    patch::Change,
};

/// The points of a shard in order, and where each part of it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
// In one line of the cache.
#[repr(align(32))]
pub(super) struct Shard {
    /// Behind the points lies a window of padding, so that each place has a whole window behind it.
    entries: Arc<[Entry]>,
    /// How many points lie before each part, or 255.
    starts: [u8; PARTS],
}

/// A shard of 64 to 128 points has 4 to 8 in each part.
const PARTS: usize = 1 << PART_BITS;
const PART_BITS: u32 = 4;

/// How many points from the start of a part are looked at. One key in 20 to 50 lies behind more of them.
const WINDOW: usize = 8;

impl Shard {
    /// Of points in order. `points` is taken for a place to work in.
    pub(super) fn new(points: &mut Vec<Entry>) -> Self {
        Self::with_starts(starts(points), points)
    }

    /// With other points, which `changes` lead to. `points` is taken for a place to work in.
    pub(super) fn patched(&self, points: &mut Vec<Entry>, changes: &[Change]) -> Self {
        let most = self.points().len().max(points.len());
        let starts = if most < usize::from(u8::MAX) {
            changes.iter().fold(self.starts, shifted)
        } else {
            starts(points)
        };
        Self::with_starts(starts, points)
    }

    fn with_starts(starts: [u8; PARTS], points: &mut Vec<Entry>) -> Self {
        points.extend_from_slice(&[Entry::PADDING; WINDOW]);
        let entries = points.as_slice().into();
        Self { entries, starts }
    }

    #[cfg(test)]
    pub(super) fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.entries, &other.entries)
    }

    #[inline]
    pub(super) fn points(&self) -> &[Entry] {
        points_of(&self.entries)
    }

    /// The first point whose kept bits are greater, and its place, or padding where none of the shard's are; `None` where it is to
    /// be [searched](Self::search): where a point has the same bits, and where points do not spread evenly.
    #[inline(always)]
    pub(super) fn find(&self, low: u32) -> Option<(usize, Entry)> {
        let start = usize::from(self.starts[part(low)]);
        let window = self.entries.get(start..start + WINDOW)?;
        let window: &[Entry; WINDOW] = window.try_into().ok()?;
        let goal = Entry::first_at(low);
        // Without a branch, which the processor would guess wrong, and the first three at once: the points may lie in two lines of
        // the cache, which then are fetched together.
        let is_less = |at: usize| usize::from(window[at] < goal);
        let pair = 2 * (is_less(1) + is_less(3) + is_less(5));
        let (first, second) = (window[pair], window[pair + 1]);
        let point = select_unpredictable(first < goal, second, first);
        let at = start + pair + usize::from(first < goal);
        (point.low() > low).then_some((at, point))
    }

    /// The step to the first point whose kept bits are at least these, or to the padding.
    #[inline(always)]
    pub(super) fn step(&self, low: u32) -> Step {
        match self.find(low) {
            Some((_, point)) => point.step_from(low),
            None => self.searched_step(low),
        }
    }

    #[inline(never)]
    fn searched_step(&self, low: u32) -> Step {
        let point = self.entries.get(self.search(low));
        point.map_or(Step::FARTHEST, |point| point.step_from(low))
    }

    /// Place of the first point whose kept bits are at least these.
    #[inline]
    pub(super) fn search(&self, low: u32) -> usize {
        let (goal, part, points) = (Entry::first_at(low), part(low), self.points());
        let start = usize::from(self.starts[part]);
        let end = match self.starts.get(part + 1) {
            Some(&end) if end < u8::MAX => usize::from(end),
            _ => points.len(),
        };
        let points = points.get(start..end).unwrap_or_default();
        start + points.partition_point(|point| *point < goal)
    }
}

#[inline]
fn points_of(entries: &[Entry]) -> &[Entry] {
    let points = entries.split_last_chunk::<WINDOW>();
    points.map_or(&[], |(points, _)| points)
}

#[inline]
fn part(low: u32) -> usize {
    (low >> (u32::BITS - PART_BITS)) as usize
}

fn starts(points: &[Entry]) -> [u8; PARTS] {
    let mut ends = [0; PARTS];
    for (end, point) in (1..).zip(points) {
        ends[part(point.low())] = end;
    }
    let mut start = 0usize;
    ends.map(|end| {
        let before = start;
        start = start.max(end);
        u8::try_from(before).unwrap_or(u8::MAX)
    })
}

/// With one point more or fewer. No start may be a 255 that stands for more.
fn shifted(starts: [u8; PARTS], change: &Change) -> [u8; PARTS] {
    let behind = &BEHIND[part(change.low())];
    let with = |shift: fn(u8, u8) -> u8| from_fn(|at| shift(starts[at], behind[at]));
    if change.is_added() {
        with(u8::wrapping_add)
    } else {
        with(u8::wrapping_sub)
    }
}

/// For each part 1 at those behind it. The processor adds up a whole row at once.
const BEHIND: [[u8; PARTS]; PARTS] = {
    let mut behind = [[0; PARTS]; PARTS];
    let mut cell = 0;
    while cell < PARTS * PARTS {
        let (part, at) = (cell / PARTS, cell % PARTS);
        behind[part][at] = (at > part) as u8;
        cell += 1;
    }
    behind
};
