//! What of a position is kept with a point.

/// How positions are cut: the top `bits` choose a bucket, the 32 bits below are kept with each point, and the rest is made anew
/// from the owner where it decides, which it does for one key in billions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// 32 less `bits`, from 1 to 31, so that all shifts are legal.
    dropped_bits: u32,
}

impl Cut {
    pub(super) fn new(bits: u32) -> Self {
        Self {
            dropped_bits: u32::BITS - bits.clamp(1, 31),
        }
    }

    pub(super) fn bits(self) -> u32 {
        u32::BITS - self.dropped_bits
    }

    pub(super) fn buckets(self) -> usize {
        1 << self.bits()
    }

    #[inline]
    pub(super) fn bucket(self, position: u64) -> usize {
        (self.kept(position) >> u32::BITS) as usize
    }

    /// The bits below the bucket's that are kept.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "these bits are wanted")]
    pub(super) fn low(self, position: u64) -> u32 {
        self.kept(position) as u32
    }

    /// All bits that are kept: the bucket's and those below.
    #[inline]
    pub(super) fn kept(self, position: u64) -> u64 {
        position >> self.dropped_bits
    }

    /// How many bits are not kept.
    #[inline]
    pub(super) fn dropped_bits(self) -> u32 {
        self.dropped_bits
    }

    /// What the bits that are not kept may add to a position.
    #[inline]
    pub(super) fn slack(self) -> u64 {
        (1 << self.dropped_bits) - 1
    }
}

/// The bucket and what is kept below it, together: `bucket << 32 | low`.
#[inline]
pub(super) fn kept_of(bucket: usize, low: u32) -> u64 {
    (bucket as u64) << 32 | u64::from(low)
}

/// A point as it is kept: 32 bits of its position, and the slot of its owner. Orders by position first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry(u64);

impl Entry {
    /// Behind all points, and of no slot.
    pub(super) const PADDING: Self = Self(u64::MAX);

    #[inline]
    pub(super) fn new(low: u32, slot: u32) -> Self {
        Self(u64::from(low) << 32 | u64::from(slot))
    }

    /// The least entry with this position.
    #[inline]
    pub(super) fn first_at(low: u32) -> Self {
        Self::new(low, 0)
    }

    #[inline]
    pub(super) fn low(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// From a position of the same bucket, not behind it.
    #[inline]
    pub(super) fn step_from(self, low: u32) -> Step {
        Step(self.0.wrapping_sub(Self::first_at(low).0))
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is wanted")]
    pub(super) fn slot(self) -> u32 {
        self.0 as u32
    }
}

/// How far a point is from a position, in kept bits, and the slot of its owner. Orders by distance first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step(u64);

impl Step {
    pub(super) const FARTHEST: Self = Self(u64::MAX);

    /// Distance in the least of the kept bits; with all bits it is less than one more or less.
    #[inline]
    pub(super) fn distance(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is wanted")]
    pub(super) fn slot(self) -> u32 {
        self.0 as u32
    }
}
