//! Redis Cluster's hash slots.

use super::{
    hosts::Hosts,
    scores::{ScoredKey, Scores},
};
use crate::ring::{SlotTable, Slots};

/// Whose the slots are.
pub(in crate::ring) struct SlotOwners {
    /// Last slot and member of each range that has an owner who takes keys, rising.
    ranges: Box<[Owned]>,
}

struct Owned {
    first: u16,
    last: u16,
    member: u32,
}

impl SlotOwners {
    pub(super) fn build(hosts: &Hosts, config: &Slots) -> Self {
        let ranges = match config.table() {
            Some(table) => by_table(hosts, table),
            None => by_weight(hosts),
        };
        Self { ranges }
    }

    fn owned(&self, slot: u16) -> Option<u32> {
        let place = self.ranges.partition_point(|range| range.last < slot);
        let range = self.ranges.get(place)?;
        (range.first <= slot).then_some(range.member)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        let ranges = self.ranges.iter();
        ranges.flat_map(|range| {
            let slots = u64::from(range.first)..=u64::from(range.last);
            slots.map(|slot| (slot, range.member))
        })
    }

    pub(super) fn owner(&self, hash: u64, scores: &Scores) -> Option<u32> {
        let slot = slot_of_hash(hash);
        let owned = self.owned(slot);
        owned.or_else(|| scores.best(ScoredKey::Hash(slot.into())))
    }
}

fn by_table(hosts: &Hosts, table: &SlotTable) -> Box<[Owned]> {
    let owned = |(slots, id): (std::ops::RangeInclusive<u16>, &_)| {
        let place = hosts.list.binary_search_by(|host| host.id.cmp(id)).ok()?;
        hosts.list.get(place).filter(|host| host.weight > 0)?;
        Some(Owned {
            first: *slots.start(),
            last: *slots.end(),
            member: u32::try_from(place).ok()?,
        })
    };
    table.ranges().filter_map(owned).collect()
}

/// Contiguous ranges in the order given: that of an instance ends before slot `floor(16384 * weights so far / all weights)`.
fn by_weight(hosts: &Hosts) -> Box<[Owned]> {
    let total: u64 = hosts.list.iter().map(|host| u64::from(host.weight)).sum();
    let (mut first, mut so_far) = (0, 0);
    let owned = |(member, host): (u32, &super::hosts::Host)| {
        so_far += u64::from(host.weight);
        let end = (u64::from(SlotTable::SLOTS) * so_far).checked_div(total)?;
        let end = u16::try_from(end).ok()?;
        let range = Owned {
            first,
            last: end.checked_sub(1)?,
            member,
        };
        let is_empty = end == first;
        first = end;
        (!is_empty).then_some(range)
    };
    hosts.ordered().filter_map(owned).collect()
}

/// The slot of a key: that of what is between its first braces, where there is something.
pub(super) fn slot_of_key(key: &[u8]) -> u16 {
    crc16(tag_of(key)) % SlotTable::SLOTS
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the rest is below the number of slots"
)]
pub(super) fn slot_of_hash(hash: u64) -> u16 {
    (hash % u64::from(SlotTable::SLOTS)) as u16
}

pub(super) fn tag_of(key: &[u8]) -> &[u8] {
    let tag = || {
        let open = key.iter().position(|byte| *byte == b'{')?;
        let behind = key.get(open + 1..)?;
        let close = behind.iter().position(|byte| *byte == b'}')?;
        behind.get(..close).filter(|tag| !tag.is_empty())
    };
    tag().unwrap_or(key)
}

/// CRC-16/XMODEM: polynomial 0x1021, from 0, not reflected.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, byte| {
        let [high, _] = crc.to_be_bytes();
        (crc << 8) ^ CRC16[usize::from(high ^ byte)]
    })
}

/// What each byte does to it.
const CRC16: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte: u16 = 0;
    while byte < 256 {
        let mut crc = byte << 8;
        let mut bit = 0;
        while bit < 8 {
            let carry = crc & 0x8000 != 0;
            crc <<= 1;
            if carry {
                crc ^= 0x1021;
            }
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_braces_is_hashed() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, tag) in [("}a{b", "}a{b"), ("{", "{"), ("a}{b}", "b"), ("{}", "{}")] {
            assert_eq!(tag_of(key.as_bytes()), tag.as_bytes(), "{key}");
        }
    }
}
