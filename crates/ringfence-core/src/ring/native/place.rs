use super::{
    cut::{Cut, Entry},
    owners::Owners,
};

/// Where a point is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// In a flat ring the point's bucket or one before it.
    bucket: u32,
    /// In a flat ring among all points, else among those of the bucket.
    at: u32,
}

impl Place {
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a ring has fewer than 2^32 points, and fewer buckets"
    )]
    pub(super) fn new(bucket: usize, at: usize) -> Self {
        Self {
            bucket: bucket as u32,
            at: at as u32,
        }
    }

    #[inline]
    pub(super) fn bucket(self) -> usize {
        self.bucket as usize
    }

    #[inline]
    pub(super) fn at(self) -> usize {
        self.at as usize
    }
}

/// The points of a bucket that agree in all kept bits with the one at a place, and the place among them.
pub(super) fn run_at(points: &[Entry], at: usize) -> (&[Entry], usize) {
    let Some(low) = points.get(at).map(|point| point.low()) else {
        return (&[], 0);
    };
    let (before, from) = points.split_at_checked(at).unwrap_or_default();
    let is_equal = |point: &&Entry| point.low() == low;
    let earlier = before.iter().rev().take_while(is_equal).count();
    let further = from.iter().take_while(is_equal).count();
    let run = points.get(at - earlier..at + further).unwrap_or_default();
    (run, earlier)
}

/// The place in a bucket of the first point at or after `position`, where the one at `at` is the first of those that agree with
/// it in all kept bits.
#[cold]
pub(super) fn exact_place(
    points: &[Entry],
    at: usize,
    position: u64,
    owners: &Owners,
    cut: Cut,
) -> usize {
    let (run, _) = run_at(points, at);
    at + owners.count_before(run, cut, position)
}
