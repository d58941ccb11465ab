//! Sorted points and the successor search over them, for rings of 32 and of 64 bits.

/// Positions with their owners (places in the member list), split into two arrays, and an index over the top bits.
///
/// 4 bytes a point more than a position has, and 2 to 4 of index.
pub(in crate::ring) struct SortedRing<P> {
    positions: Box<[P]>,
    owners: Box<[u32]>,
    /// `index[b]` is the place of the first point whose top bits are at least `b`; one more entry than buckets.
    index: Box<[u32]>,
    shift: u32,
}

/// The width of a ring.
pub(in crate::ring) trait Position: Copy + Ord + Into<u64> {
    const BITS: u32;
    /// Of the hash of a key.
    fn of(hash: u64) -> Self;
}

impl Position for u64 {
    const BITS: u32 = Self::BITS;

    fn of(hash: u64) -> Self {
        hash
    }
}

impl Position for u32 {
    const BITS: u32 = Self::BITS;

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the hash of a key has 32 bits here; a random one may have more, of which any 32 will do"
    )]
    fn of(hash: u64) -> Self {
        hash as Self
    }
}

impl<P: Position> SortedRing<P> {
    /// Points in any order. Of equal positions that of the smaller place is found; all stay, so that walking past one finds the
    /// others.
    pub(super) fn new(mut points: Vec<(P, u32)>) -> Self {
        points.sort_unstable();
        // One to two points a bucket, and at least two buckets so that the shift stays below the width.
        let bits = points.len().next_power_of_two().ilog2();
        let bits = bits.saturating_sub(1).clamp(1, P::BITS - 1);
        let shift = P::BITS - bits;
        let (positions, owners): (Vec<P>, Vec<u32>) = points.into_iter().unzip();
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

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (u64, u32)> + '_ {
        let positions = self.positions.iter().map(|&position| position.into());
        positions.zip(self.owners.iter().copied())
    }

    #[inline]
    pub(super) fn owner(&self, hash: u64) -> Option<u32> {
        self.owners.get(self.successor(P::of(hash))).copied()
    }

    /// The owners of all points from a hash on, once around.
    pub(super) fn from(&self, hash: u64) -> Clockwise<'_> {
        Clockwise {
            owners: &self.owners,
            place: self.successor(P::of(hash)),
            left: self.owners.len(),
        }
    }

    /// Place of the first point at or after `position`, wrapping to the first; 0 when there is no point.
    #[inline]
    fn successor(&self, position: P) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the shift leaves the index's bits, so the bucket number is below the index's length"
        )]
        let bucket = (position.into() >> self.shift) as usize;
        let (Some(&from), Some(&to)) = (self.index.get(bucket), self.index.get(bucket + 1)) else {
            return 0;
        };
        let (from, to) = (from as usize, to as usize);
        let in_bucket = self.positions.get(from..to).unwrap_or_default();
        let place = from + in_bucket.partition_point(|&point| point < position);
        if place == self.positions.len() {
            0
        } else {
            place
        }
    }
}

fn index_of<P: Position>(positions: &[P], shift: u32, buckets: usize) -> Box<[u32]> {
    let mut index = Vec::with_capacity(buckets + 1);
    let mut place = 0;
    for bucket in 0..buckets as u64 {
        while positions
            .get(place)
            .is_some_and(|&position| position.into() >> shift < bucket)
        {
            place += 1;
        }
        index.push(saturating_u32(place));
    }
    index.push(saturating_u32(positions.len()));
    index.into()
}

/// A ring has at most 2^26 points, and a few for each instance above the cap.
fn saturating_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The owners of points, clockwise.
pub(in crate::ring) struct Clockwise<'a> {
    owners: &'a [u32],
    place: usize,
    left: usize,
}

impl Iterator for Clockwise<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let owner = self.owners.get(self.place).copied();
        self.place += 1;
        if self.place == self.owners.len() {
            self.place = 0;
        }
        owner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<P: Position + std::fmt::Debug>(points: Vec<(P, u32)>, hashes: &[u64]) {
        let ring = SortedRing::new(points.clone());
        let mut sorted = points;
        sorted.sort_unstable();
        for &hash in hashes {
            let at = P::of(hash);
            let first = sorted.iter().position(|(point, _)| *point >= at);
            let first = first.unwrap_or(0);
            let around = sorted.iter().cycle().skip(first).take(sorted.len());
            let expected: Vec<_> = around.map(|(_, owner)| *owner).collect();
            assert_eq!(ring.from(hash).collect::<Vec<_>>(), expected, "{at:?}");
            assert_eq!(ring.owner(hash), expected.first().copied());
        }
    }

    /// Positions that collide, at both ends, and all in one bucket (B13).
    #[test]
    fn the_search_is_that_of_a_linear_scan() {
        let hashes = [
            0,
            1,
            6,
            7,
            8,
            1 << 31,
            u64::from(u32::MAX),
            1 << 63,
            u64::MAX,
        ];
        check::<u64>(vec![], &hashes);
        check::<u32>(vec![], &hashes);
        check(vec![(7u64, 3)], &hashes);
        check(vec![(7u32, 3)], &hashes);
        check(vec![(7u64, 3), (7, 1), (u64::MAX, 2), (0, 0)], &hashes);
        check(vec![(7u32, 3), (7, 1), (u32::MAX, 2), (0, 0)], &hashes);
        check((0..100u32).map(|i| (i % 9, i)).collect(), &hashes);
        let spread = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let many: Vec<u64> = (0..2_000).map(spread).collect();
        let points = |i: usize| (many[i], u32::try_from(i % 7).expect("small"));
        check((0..1_000).map(points).collect(), &many);
        let narrow = |i: usize| (u32::of(many[i]), points(i).1);
        check((0..1_000).map(narrow).collect(), &many);
    }
}
