//! The sorted points and the successor search over them.

/// Points in order with their owners (places in the member list), split into two arrays, and an index over the top bits.
///
/// 12 bytes a point and 2 to 4 of index.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Points {
    positions: Box<[u64]>,
    owners: Box<[u32]>,
    /// `index[b]` is the place of the first point whose top bits are at least `b`; one more entry than buckets.
    index: Box<[u32]>,
    shift: u32,
}

/// One point: position and owner. Tuples of it sort as the layout wants it, because members are in id order.
pub(super) type Point = (u64, u32);

/// Longest bucket that is scanned instead of searched; only ids chosen to collide fill one further.
const SCAN_LIMIT: usize = 16;

impl Points {
    /// Takes points in order.
    pub(super) fn from_sorted(points: impl ExactSizeIterator<Item = Point>) -> Self {
        let len = points.len();
        let mut positions = Vec::with_capacity(len);
        let mut owners = Vec::with_capacity(len);
        for (position, owner) in points {
            positions.push(position);
            owners.push(owner);
        }
        // One to two points a bucket, and at least two buckets so that the shift stays below 64.
        let bits = len.next_power_of_two().ilog2().saturating_sub(1).max(1);
        let shift = u64::BITS - bits;
        Self {
            index: index_of(&positions, shift, 1 << bits),
            positions: positions.into(),
            owners: owners.into(),
            shift,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = Point> + '_ {
        self.positions
            .iter()
            .copied()
            .zip(self.owners.iter().copied())
    }

    pub(super) fn owner_at(&self, place: usize) -> Option<u32> {
        self.owners.get(place).copied()
    }

    /// Place of the first point at or after `position`, wrapping to the first; 0 when there is no point.
    #[inline]
    pub(super) fn successor(&self, position: u64) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the shift is 64 minus the index's bits, so the bucket number is below the index's length"
        )]
        let bucket = (position >> self.shift) as usize;
        let (Some(&from), Some(&to)) = (self.index.get(bucket), self.index.get(bucket + 1)) else {
            return 0;
        };
        let (from, to) = (from as usize, to as usize);
        let in_bucket = self.positions.get(from..to).unwrap_or_default();
        let before = if in_bucket.len() <= SCAN_LIMIT {
            in_bucket
                .iter()
                .take_while(|&&point| point < position)
                .count()
        } else {
            in_bucket.partition_point(|&point| point < position)
        };
        let place = from + before;
        if place == self.positions.len() {
            0
        } else {
            place
        }
    }
}

fn index_of(positions: &[u64], shift: u32, buckets: usize) -> Box<[u32]> {
    let mut index = Vec::with_capacity(buckets + 1);
    let mut place = 0;
    for bucket in 0..buckets as u64 {
        while positions
            .get(place)
            .is_some_and(|&position| position >> shift < bucket)
        {
            place += 1;
        }
        index.push(saturating_u32(place));
    }
    index.push(saturating_u32(positions.len()));
    index.into()
}

/// A ring has at most 2^26 points plus one for each instance above the cap.
fn saturating_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
