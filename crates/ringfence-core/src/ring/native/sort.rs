//! Points brought into order by their top bits.
//!
//! A sort by buckets of two to four, which are then sorted alone: all positions are hashes, so buckets fill evenly. Where they
//! do not, a bucket is one more sort of the standard library.

use super::{cut::Entry, owners::Owners};

/// How a point is one number while it is sorted: the kept bits of its position above its slot.
#[derive(Clone, Copy)]
pub(super) struct Numbering {
    slot_bits: u32,
}

impl Numbering {
    pub(super) fn new(owners: &Owners) -> Self {
        let slots = owners.members().len();
        Self {
            slot_bits: slots.next_power_of_two().ilog2(),
        }
    }

    pub(super) fn slot_bits(self) -> u32 {
        self.slot_bits
    }

    #[inline]
    pub(super) fn number(self, kept: u64, slot: u32) -> u64 {
        kept << self.slot_bits | u64::from(slot)
    }

    #[inline]
    pub(super) fn kept(self, number: u64) -> u64 {
        number >> self.slot_bits
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "32 bits of the position are wanted, and the slot has no more"
    )]
    pub(super) fn entry(self, number: u64) -> Entry {
        let slot = number & ((1 << self.slot_bits) - 1);
        Entry::new(self.kept(number) as u32, slot as u32)
    }

    /// Whether sorted numbers agree in all kept bits.
    pub(super) fn has_ties(self, sorted: &[u64]) -> bool {
        let pairs = sorted.iter().zip(sorted.iter().skip(1));
        pairs.fold(false, |tie, (a, b)| tie | (self.kept(a ^ b) == 0))
    }
}

/// Starts of buckets, and one more: the end of the last.
pub(super) type Index = Vec<u32>;

/// Sorts numbers into `sorted`; `index` becomes the starts of the buckets, which are numbered by `number >> shift`.
pub(super) fn sort_into(
    sorted: &mut Vec<u64>,
    index: &mut Index,
    numbers: &[u64],
    buckets: usize,
    shift: u32,
) {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "numbers have as many bits above the shift as there are buckets"
    )]
    let bucket_of = |number: u64| (number >> shift) as usize;
    index.clear();
    index.resize(buckets + 1, 0);
    for number in numbers {
        if let Some(count) = index.get_mut(bucket_of(*number)) {
            *count += 1;
        }
    }
    let mut start = 0;
    for count in index.iter_mut() {
        start += std::mem::replace(count, start);
    }
    sorted.clear();
    sorted.resize(numbers.len(), 0);
    for number in numbers {
        if let Some(next) = index.get_mut(bucket_of(*number)) {
            if let Some(place) = sorted.get_mut(*next as usize) {
                *place = *number;
            }
            *next += 1;
        }
    }
    // Each start has become its bucket's end.
    index.copy_within(..buckets, 1);
    if let Some(first) = index.first_mut() {
        *first = 0;
    }
    let mut rest = sorted.as_mut_slice();
    for ends in index.windows(2) {
        let [from, to] = ends else { continue };
        let (bucket, further) = rest.split_at_mut((to - from) as usize);
        bucket.sort_unstable();
        rest = further;
    }
}
