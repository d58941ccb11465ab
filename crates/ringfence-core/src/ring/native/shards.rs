//! A large ring: shards of points that a changed ring shares with the one before.

use super::{
    cut::{Cut, Entry, Step, kept_of},
    owners::Owners,
    patch::{Change, patch},
    place::{Place, exact_place},
    shard::Shard,
    threads::shards,
};

/// 8 bytes a point, and 112 for each shard. A change copies the shards that it touches and the table of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shards {
    pub(super) cut: Cut,
    shards: Box<[Shard]>,
    len: usize,
}

impl Shards {
    /// 64 to 128 points a shard.
    pub(super) fn cut_for(points: usize) -> Cut {
        Cut::new(points.next_power_of_two().ilog2().saturating_sub(7))
    }

    pub(super) fn build(owners: &Owners, len: usize) -> Self {
        let cut = Self::cut_for(len);
        Self {
            cut,
            shards: shards(owners, len, cut),
            len,
        }
    }

    /// With changes in the order of their positions.
    pub(super) fn patched(&self, changes: &[Change], owners: &Owners, len: usize) -> Self {
        let mut shards = self.shards.clone();
        let mut points = Vec::new();
        for changes in changes.chunk_by(|a, b| a.bucket() == b.bucket()) {
            let bucket = changes.first().map(|change| change.bucket());
            if let Some(shard) = bucket.and_then(|bucket| shards.get_mut(bucket)) {
                points.clear();
                patch(&mut points, shard.points(), changes, owners, self.cut);
                *shard = shard.patched(&mut points, changes);
            }
        }
        Self {
            cut: self.cut,
            shards,
            len,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[cfg(test)]
    pub(super) fn shards(&self) -> &[Shard] {
        &self.shards
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        let shards = self.shards.iter();
        shards.flat_map(|shard| shard.points().iter().copied())
    }

    /// Slot of the first point behind `position`, where that is found at once; else `None` or one that nobody has.
    #[inline(always)]
    pub(super) fn likely_slot(&self, position: u64) -> Option<u32> {
        let shard = self.shards.get(self.cut.bucket(position))?;
        let (_, point) = shard.find(self.cut.low(position))?;
        Some(point.slot())
    }

    /// The step to the first point at or after `position`. Where none of its shard is, that to the padding: slot of nobody, and
    /// nearer than the point.
    #[inline(always)]
    pub(super) fn step(&self, position: u64) -> Step {
        let shard = self.shards.get(self.cut.bucket(position));
        shard.map_or(Step::FARTHEST, |shard| shard.step(self.cut.low(position)))
    }

    /// The first point at or after `position`, wrapping to the first.
    #[inline(always)]
    pub(super) fn successor(&self, position: u64, owners: &Owners) -> Option<(Place, Entry)> {
        let bucket = self.cut.bucket(position);
        match self.shards.get(bucket)?.find(self.cut.low(position)) {
            Some((at, point)) if point != Entry::PADDING => Some((Place::new(bucket, at), point)),
            Some(_) => self.first_behind(bucket),
            None => self.searched_successor(position, owners),
        }
    }

    /// The same by a binary search.
    #[inline(never)]
    pub(super) fn searched_successor(
        &self,
        position: u64,
        owners: &Owners,
    ) -> Option<(Place, Entry)> {
        let bucket = self.cut.bucket(position);
        let (shard, low) = (self.shards.get(bucket)?, self.cut.low(position));
        let (points, mut at) = (shard.points(), shard.search(low));
        if points.get(at).is_some_and(|point| point.low() == low) {
            at = exact_place(points, at, position, owners, self.cut);
        }
        let point = points.get(at);
        let found = point.map(|point| (Place::new(bucket, at), *point));
        found.or_else(|| self.first_behind(bucket))
    }

    #[inline]
    pub(super) fn entry(&self, place: Place) -> Option<Entry> {
        self.shard(place.bucket()).get(place.at()).copied()
    }

    /// The points of a bucket from a place on.
    #[inline]
    pub(super) fn rest(&self, place: Place) -> &[Entry] {
        self.shard(place.bucket())
            .get(place.at()..)
            .unwrap_or_default()
    }

    /// The first points of the shards behind a bucket, wrapping to the first, and their bucket.
    #[inline]
    pub(super) fn behind(&self, bucket: usize) -> (usize, &[Entry]) {
        match self.shards.get(bucket + 1) {
            Some(shard) if !shard.points().is_empty() => (bucket + 1, shard.points()),
            _ => self.first_behind(bucket).map_or((0, &[]), |(place, _)| {
                (place.bucket(), self.shard(place.bucket()))
            }),
        }
    }

    #[inline]
    pub(super) fn following(&self, place: Place) -> Place {
        if place.at() + 1 < self.shard(place.bucket()).len() {
            Place::new(place.bucket(), place.at() + 1)
        } else {
            Place::new(self.behind(place.bucket()).0, 0)
        }
    }

    /// The bucket of a place and the place in it.
    pub(super) fn bucket_at(&self, place: Place) -> (usize, &[Entry], usize) {
        (place.bucket(), self.shard(place.bucket()), place.at())
    }

    #[inline]
    pub(super) fn kept_at(&self, place: Place) -> u64 {
        let point = self.entry(place).unwrap_or_default();
        kept_of(place.bucket(), point.low())
    }

    /// The first point of the shards behind a bucket, wrapping to the first.
    fn first_behind(&self, bucket: usize) -> Option<(Place, Entry)> {
        let (before, behind) = self.shards.split_at_checked(bucket + 1)?;
        let mut numbered = (bucket + 1..).zip(behind).chain((0..).zip(before));
        numbered.find_map(|(bucket, shard)| Some((Place::new(bucket, 0), *shard.points().first()?)))
    }

    #[inline]
    fn shard(&self, bucket: usize) -> &[Entry] {
        self.shards.get(bucket).map_or(&[], Shard::points)
    }
}
