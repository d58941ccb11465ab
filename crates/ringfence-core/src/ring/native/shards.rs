//! A large ring: shards of points that a changed ring shares with the one before.

use super::{
    cut::{Cut, Entry, kept_of},
    owners::Owners,
    patch::{Change, patch},
    place::{Place, exact_place},
    threads::{Shard, shards},
};

/// 8 bytes a point, and 32 for each shard. A change copies the shards that it touches and the table of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shards {
    pub(super) cut: Cut,
    shards: Box<[Shard]>,
    len: usize,
}

/// How many points are compared around the place where a position is to be expected. Of 100 points the middle one is five places
/// beside it in the mean, so that seldom more are needed.
const WINDOW: usize = 16;

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
                patch(&mut points, shard, changes, owners, self.cut);
                *shard = points.as_slice().into();
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
        self.shards.iter().flat_map(|shard| shard.iter().copied())
    }

    /// The first point at or after `position`, wrapping to the first.
    #[inline(always)]
    pub(super) fn successor(&self, position: u64, owners: &Owners) -> Option<(Place, Entry)> {
        let bucket = self.cut.bucket(position);
        let low = self.cut.low(position);
        let shard = self.shard(bucket);
        let at = first_from(shard, low);
        match shard.get(at) {
            Some(point) if point.low() != low => Some((Place::new(bucket, at), *point)),
            Some(_) => self.exact_successor(bucket, at, position, owners),
            None => self.first_behind(bucket),
        }
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
        let shard = self.shard(bucket);
        let at = exact_place(shard, at, position, owners, self.cut);
        let point = shard.get(at);
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
            Some(shard) if !shard.is_empty() => (bucket + 1, shard),
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
        numbered.find_map(|(bucket, shard)| Some((Place::new(bucket, 0), *shard.first()?)))
    }

    #[inline]
    fn shard(&self, bucket: usize) -> &[Entry] {
        self.shards
            .get(bucket)
            .map(|shard| &**shard)
            .unwrap_or_default()
    }
}

/// Place of the first point of a shard whose kept bits are at least these.
#[inline(always)]
fn first_from(shard: &[Entry], low: u32) -> usize {
    let goal = Entry::first_at(low);
    if let Some(last) = shard.len().checked_sub(WINDOW) {
        let expected = ((u64::from(low) * shard.len() as u64) >> u32::BITS) as usize;
        let start = expected.saturating_sub(WINDOW / 2).min(last);
        let window: Option<&[Entry; WINDOW]> = shard.get(start..).and_then(|w| w.first_chunk());
        if let Some(window) = window {
            // Both ends first: they may lie in two lines of the cache, which then are fetched together.
            if (window[0] < goal) & (window[WINDOW - 1] >= goal) {
                return start + count_before(window, goal);
            }
        }
    }
    search_before(shard, goal)
}

/// How many points are less, where the last one is not. A binary search whose steps are additions: the processor would guess branches wrong.
#[inline(always)]
fn count_before(window: &[Entry; WINDOW], goal: Entry) -> usize {
    let mut before = 0;
    for step in [WINDOW / 2, WINDOW / 4, WINDOW / 8, WINDOW / 16] {
        let is_less = window[(before + step - 1) % WINDOW] < goal;
        before += step * usize::from(is_less);
    }
    before
}

/// Where the window missed the place, as it does where points do not spread evenly, and before the first point and behind the last.
#[cold]
fn search_before(shard: &[Entry], goal: Entry) -> usize {
    shard.partition_point(|point| *point < goal)
}
