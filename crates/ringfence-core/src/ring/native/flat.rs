//! A small ring: all points in one array, and an index over the top bits.

use super::{
    cut::{Cut, Entry, kept_of},
    owners::Owners,
    patch::{Change, patch},
    place::{Place, exact_place},
    sort::{Numbering, sort_into},
};

/// 8 bytes a point and 2 to 4 of index. A change copies all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flat {
    pub(super) cut: Cut,
    entries: Box<[Entry]>,
    /// `index[b]` is the place of the first point of bucket `b` or of one behind it; one more entry than buckets.
    index: Box<[u32]>,
}

/// Longest bucket that is compared as a whole.
const WINDOW: usize = 4;

impl Flat {
    /// One to two points a bucket: more are slower to scan, fewer only make the index longer.
    pub(super) fn cut_for(points: usize) -> Cut {
        Cut::new(points.next_power_of_two().ilog2().saturating_sub(1))
    }

    pub(super) fn build(owners: &Owners, points: usize) -> Self {
        let cut = Self::cut_for(points);
        let numbering = Numbering::new(owners);
        let mut numbers = Vec::with_capacity(points);
        owners.points().for_each(|(slot, position)| {
            numbers.push(numbering.number(cut.kept(position), slot));
        });
        let (mut sorted, mut index) = (Vec::new(), Vec::new());
        let shift = u32::BITS + numbering.slot_bits();
        sort_into(&mut sorted, &mut index, &numbers, cut.buckets(), shift);
        let mut entries: Box<[Entry]> = sorted.iter().map(|n| numbering.entry(*n)).collect();
        if numbering.has_ties(&sorted) {
            let mut rest = &mut *entries;
            for (bucket, ends) in index.windows(2).enumerate() {
                let [from, to] = ends else { continue };
                let (points, further) = rest.split_at_mut((to - from) as usize);
                owners.settle_all(points, cut, bucket);
                rest = further;
            }
        }
        Self {
            cut,
            entries,
            index: index.into(),
        }
    }

    /// With changes in the order of their positions.
    pub(super) fn patched(&self, changes: &[Change], owners: &Owners) -> Self {
        let mut entries = Vec::with_capacity(self.entries.len() + changes.len());
        let mut index = Vec::with_capacity(self.index.len());
        let mut copied = 0;
        // By how many places the entries from `copied` on move.
        let mut shift = 0i32;
        for changes in changes.chunk_by(|a, b| a.bucket() == b.bucket()) {
            let Some(bucket) = changes.first().map(|change| change.bucket()) else {
                continue;
            };
            let (from, to) = self.ends(bucket);
            entries.extend_from_slice(self.entries.get(copied..from).unwrap_or_default());
            let starts = self.index.get(index.len()..=bucket).unwrap_or_default();
            index.extend(starts.iter().map(|start| start.wrapping_add_signed(shift)));
            let before = entries.len();
            let points = self.entries.get(from..to).unwrap_or_default();
            patch(&mut entries, points, changes, owners, self.cut);
            shift += signed(entries.len() - before) - signed(to - from);
            copied = to;
        }
        entries.extend_from_slice(self.entries.get(copied..).unwrap_or_default());
        let starts = self.index.get(index.len()..).unwrap_or_default();
        index.extend(starts.iter().map(|start| start.wrapping_add_signed(shift)));
        Self {
            cut: self.cut,
            entries: entries.into(),
            index: index.into(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.entries.iter().copied()
    }

    /// Slot of the first point behind `position`, where that is found at once.
    #[inline(always)]
    pub(super) fn likely_slot(&self, position: u64) -> Option<u32> {
        let (from, to) = self.ends(self.cut.bucket(position));
        let low = self.cut.low(position);
        let at = from + self.count_before(from, to, Entry::first_at(low));
        let point = self.entries.get(at)?;
        (point.low() != low).then_some(point.slot())
    }

    /// The first point at or after `position`, wrapping to the first.
    #[inline(always)]
    pub(super) fn successor(&self, position: u64, owners: &Owners) -> Option<(Place, Entry)> {
        let bucket = self.cut.bucket(position);
        let (from, to) = self.ends(bucket);
        let low = self.cut.low(position);
        let at = from + self.count_before(from, to, Entry::first_at(low));
        let found = self
            .entries
            .get(at)
            .map(|point| (Place::new(bucket, at), *point));
        let (place, point) = match found {
            Some(found) => found,
            None => self.first()?,
        };
        if point.low() == low && (from..to).contains(&place.at()) {
            return self.exact_successor(bucket, place.at(), position, owners);
        }
        Some((place, point))
    }

    /// How many points of the bucket `from..to` are less.
    #[inline(always)]
    fn count_before(&self, from: usize, to: usize, goal: Entry) -> usize {
        let len = to - from;
        let window = self.entries.get(from..).and_then(|rest| rest.first_chunk());
        let window: &[Entry; WINDOW] = match window {
            Some(window) if len <= WINDOW => window,
            _ => return self.search_before(from, to, goal),
        };
        // Without a branch for each of them, which the processor would guess wrong.
        let points = window.iter().enumerate();
        points.fold(0, |before, (at, point)| {
            before + usize::from((at < len) & (*point < goal))
        })
    }

    /// In a bucket that is too long for a window, or the last ones.
    #[cold]
    fn search_before(&self, from: usize, to: usize, goal: Entry) -> usize {
        let points = self.entries.get(from..to).unwrap_or_default();
        points.partition_point(|point| *point < goal)
    }

    /// Where all kept bits of the point at `at` are those of `position`.
    #[cold]
    fn exact_successor(
        &self,
        bucket: usize,
        at: usize,
        position: u64,
        owners: &Owners,
    ) -> Option<(Place, Entry)> {
        let (from, to) = self.ends(bucket);
        let points = self.entries.get(from..to)?;
        let at = from + exact_place(points, at - from, position, owners, self.cut);
        let point = self.entries.get(at);
        let found = point.map(|point| (Place::new(bucket, at), *point));
        found.or_else(|| self.first())
    }

    fn first(&self) -> Option<(Place, Entry)> {
        self.entries.first().map(|point| (Place::default(), *point))
    }

    #[inline]
    pub(super) fn entry(&self, place: Place) -> Option<Entry> {
        self.entries.get(place.at()).copied()
    }

    /// The points from a place on.
    #[inline]
    pub(super) fn rest(&self, place: Place) -> &[Entry] {
        self.entries.get(place.at()..).unwrap_or_default()
    }

    pub(super) fn all(&self) -> &[Entry] {
        &self.entries
    }

    #[inline]
    pub(super) fn following(&self, place: Place) -> Place {
        let next = Place::new(place.bucket(), place.at() + 1);
        if next.at() == self.entries.len() {
            Place::default()
        } else {
            next
        }
    }

    /// The bucket of a place, and where it begins; the place's own bucket may be one before.
    #[inline]
    pub(super) fn bucket_at(&self, place: Place) -> (usize, &[Entry], usize) {
        let mut bucket = place.bucket();
        let (mut from, mut to) = self.ends(bucket);
        while to <= place.at() && bucket < self.cut.buckets() {
            bucket += 1;
            (from, to) = self.ends(bucket);
        }
        let points = self.entries.get(from..to).unwrap_or_default();
        (bucket, points, place.at().saturating_sub(from))
    }

    #[inline]
    pub(super) fn kept_at(&self, place: Place) -> u64 {
        let (bucket, points, at) = self.bucket_at(place);
        kept_of(bucket, points.get(at).copied().unwrap_or_default().low())
    }

    #[inline]
    fn ends(&self, bucket: usize) -> (usize, usize) {
        match (self.index.get(bucket), self.index.get(bucket + 1)) {
            (Some(&from), Some(&to)) => (from as usize, to as usize),
            _ => (0, 0),
        }
    }
}

/// A flat ring has few points.
fn signed(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}
