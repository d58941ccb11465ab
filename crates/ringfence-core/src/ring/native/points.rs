//! The points of a ring in either of two structures.

use super::{
    cut::{Cut, Entry},
    flat::Flat,
    owners::Owners,
    patch::Span,
    place::{Place, run_at},
    shards::Shards,
};

/// All points in the order of the layout: exact in all 64 bits, though not all are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Points {
    Flat(Flat),
    Sharded(Shards),
    /// Of keys with several probes: apart, so that a key with one asks only once what there is.
    ProbedFlat(Flat),
    ProbedSharded(Shards),
}

/// Most points of a flat ring: above, a sharded one is found faster, and far faster changed.
const FLAT_MOST: usize = if cfg!(test) { 1 << 11 } else { 1 << 16 };

/// Most points of a flat ring whose keys have several probes, each of which asks for the bucket of the point it finds.
const FLAT_MOST_PROBED: usize = 1 << 9;

impl Points {
    /// `len` is how many points the owners have.
    pub(super) fn build(owners: &Owners, len: usize, is_plain: bool) -> Self {
        match (len <= flat_most(is_plain), is_plain) {
            (true, true) => Self::Flat(Flat::build(owners, len)),
            (true, false) => Self::ProbedFlat(Flat::build(owners, len)),
            (false, true) => Self::Sharded(Shards::build(owners, len)),
            (false, false) => Self::ProbedSharded(Shards::build(owners, len)),
        }
    }

    /// With some points more or fewer, `len` then; `None` where making all of them anew is better. `owners` are the new ones.
    pub(super) fn patched(
        &self,
        spans: &[Span],
        owners: &Owners,
        len: usize,
        is_plain: bool,
    ) -> Option<Self> {
        let changed: usize = spans.iter().map(Span::len).sum();
        if !self.suits(len, is_plain) || changed > len / 4 {
            return None;
        }
        let cut = self.cut();
        let mut changes = Vec::with_capacity(changed);
        changes.extend(spans.iter().flat_map(|span| span.changes(cut)));
        changes.sort_unstable();
        Some(match self {
            Self::Flat(flat) => Self::Flat(flat.patched(&changes, owners)),
            Self::ProbedFlat(flat) => Self::ProbedFlat(flat.patched(&changes, owners)),
            Self::Sharded(shards) => Self::Sharded(shards.patched(&changes, owners, len)),
            Self::ProbedSharded(shards) => {
                Self::ProbedSharded(shards.patched(&changes, owners, len))
            }
        })
    }

    /// Whether so many points would be neither too many nor too few for the structure and its buckets. The limits lie apart, so
    /// that a size that goes up and down makes nothing anew.
    fn suits(&self, len: usize, is_plain: bool) -> bool {
        let buckets = self.cut().buckets();
        let flat_most = flat_most(is_plain);
        match self {
            Self::Flat(_) | Self::ProbedFlat(_) => {
                len <= flat_most && (buckets / 2..=buckets * 4).contains(&len)
            }
            Self::Sharded(_) | Self::ProbedSharded(_) => {
                len > flat_most / 2 && (buckets * 40..=buckets * 200).contains(&len)
            }
        }
    }

    pub(super) fn cut(&self) -> Cut {
        match self {
            Self::Flat(flat) | Self::ProbedFlat(flat) => flat.cut,
            Self::Sharded(shards) | Self::ProbedSharded(shards) => shards.cut,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Flat(flat) | Self::ProbedFlat(flat) => flat.len(),
            Self::Sharded(shards) | Self::ProbedSharded(shards) => shards.len(),
        }
    }

    /// Slots of all points, in order.
    pub(super) fn slots(&self) -> Vec<u32> {
        match self {
            Self::Flat(flat) | Self::ProbedFlat(flat) => flat.entries().map(Entry::slot).collect(),
            Self::Sharded(shards) | Self::ProbedSharded(shards) => {
                shards.entries().map(Entry::slot).collect()
            }
        }
    }

    /// Slot of the owner of a key with one probe, where it is found at once; else `None` or one that nobody has.
    #[inline(always)]
    pub(super) fn likely_slot(&self, position: u64) -> Option<u32> {
        // Large rings first, whose look-ups have the most to gain.
        if let Self::Sharded(shards) = self {
            return shards.likely_slot(position);
        }
        if let Self::Flat(flat) = self {
            return flat.likely_slot(position);
        }
        None
    }

    /// The first point at or after `position`, wrapping to the first, and its slot; `None` when there is none.
    #[inline(always)]
    pub(super) fn successor(&self, position: u64, owners: &Owners) -> Option<(Place, Entry)> {
        match self {
            Self::Flat(flat) | Self::ProbedFlat(flat) => flat.successor(position, owners),
            Self::Sharded(shards) | Self::ProbedSharded(shards) => {
                shards.successor(position, owners)
            }
        }
    }

    /// The same where [`likely_slot`](Self::likely_slot) did not find it.
    pub(super) fn searched_successor(
        &self,
        position: u64,
        owners: &Owners,
    ) -> Option<(Place, Entry)> {
        match self {
            Self::Flat(flat) | Self::ProbedFlat(flat) => flat.successor(position, owners),
            Self::Sharded(shards) | Self::ProbedSharded(shards) => {
                shards.searched_successor(position, owners)
            }
        }
    }

    /// Points from a place on, as many as lie together.
    #[inline]
    pub(super) fn rest(&self, place: Place) -> &[Entry] {
        match self {
            Self::Flat(flat) | Self::ProbedFlat(flat) => flat.rest(place),
            Self::Sharded(shards) | Self::ProbedSharded(shards) => shards.rest(place),
        }
    }

    /// The points behind those of [`rest`](Self::rest), wrapping to the first, and their bucket. There must be points.
    #[inline]
    pub(super) fn behind(&self, bucket: usize) -> (usize, &[Entry]) {
        match self {
            Self::Flat(flat) | Self::ProbedFlat(flat) => (0, flat.all()),
            Self::Sharded(shards) | Self::ProbedSharded(shards) => shards.behind(bucket),
        }
    }

    /// The point behind, wrapping to the first.
    #[inline]
    pub(super) fn following(&self, place: Place) -> Place {
        match self {
            Self::Flat(flat) | Self::ProbedFlat(flat) => flat.following(place),
            Self::Sharded(shards) | Self::ProbedSharded(shards) => shards.following(place),
        }
    }

    /// Slot of a point; `None` when there is none.
    #[inline]
    pub(super) fn slot(&self, place: Place) -> Option<u32> {
        let entry = match self {
            Self::Flat(flat) | Self::ProbedFlat(flat) => flat.entry(place),
            Self::Sharded(shards) | Self::ProbedSharded(shards) => shards.entry(place),
        };
        entry.map(Entry::slot)
    }

    /// How far a point is from a position before it, at least, and at most the cut's slack more. `None` where the
    /// kept bits do not tell.
    #[inline]
    pub(super) fn least_distance(&self, place: Place, position: u64) -> Option<u64> {
        let (kept, cut) = match self {
            Self::Flat(flat) | Self::ProbedFlat(flat) => (flat.kept_at(place), flat.cut),
            Self::Sharded(shards) | Self::ProbedSharded(shards) => {
                (shards.kept_at(place), shards.cut)
            }
        };
        if kept == cut.kept(position) {
            return None;
        }
        let point = kept << cut.dropped_bits();
        Some(point.wrapping_sub(position))
    }

    /// The whole position of a point.
    #[cold]
    pub(super) fn position(&self, place: Place, owners: &Owners) -> u64 {
        let ((bucket, points, at), kept_at, cut) = match self {
            Self::Flat(flat) | Self::ProbedFlat(flat) => {
                (flat.bucket_at(place), flat.kept_at(place), flat.cut)
            }
            Self::Sharded(shards) | Self::ProbedSharded(shards) => {
                (shards.bucket_at(place), shards.kept_at(place), shards.cut)
            }
        };
        debug_assert_eq!(bucket as u64, kept_at >> u32::BITS);
        let (run, at) = run_at(points, at);
        let position = owners.position(run, at, cut, kept_at);
        position.unwrap_or(kept_at << cut.dropped_bits())
    }
}

fn flat_most(is_plain: bool) -> usize {
    if is_plain {
        FLAT_MOST
    } else {
        FLAT_MOST_PROBED
    }
}
