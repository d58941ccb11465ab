use std::{ops::RangeInclusive, sync::Arc};

use super::HashAlgorithm;
use crate::{ConfigError, InstanceId};

/// Settings of hash slots: whose each slot is.
///
/// A key's slot is the CRC-16 (XMODEM) of the key modulo 16,384, as in Redis Cluster. Where the key has a `{` and behind it a `}` with
/// something between, only what lies between the first `{` and the first `}` after it is hashed, so that keys can be kept together. The table
/// says whose a slot is; slots of nobody, or of an instance that is not in the pool or takes no traffic, go by weighted rendezvous
/// of the slot's number until the table changes. So where every slot has an owner that is there, a join takes no keys until it is given slots, and a leave moves its own keys
/// alone; weights matter to rendezvous and to the table that is made without one only.
///
/// The walk: the owner, then the others in the order of rendezvous. Memory: 8 bytes a range, and 16 an instance.
///
/// # Examples
/// ```
/// use ringfence_core::{InstanceId, SlotTable, Slots};
///
/// let [a, b] = [InstanceId::try_new("a")?, InstanceId::try_new("b")?];
/// let old = SlotTable::new(1, [(0..=8_191, a.clone()), (8_192..=16_383, b.clone())])?;
/// let new = SlotTable::new(2, [(0..=8_999, a), (9_000..=16_383, b)])?;
/// let moved: Vec<_> = old.moved_to(&new).map(|moved| moved.slots).collect();
/// assert_eq!(moved, [8_192..=8_999]);
/// let slots = Slots::default().with_table(new);
/// assert_eq!(slots.table().map(SlotTable::epoch), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Slots {
    table: Option<Arc<SlotTable>>,
}

impl Slots {
    /// Whose each slot is. By default the pool's members in the order given have contiguous ranges by their weights: then every join, leave
    /// and change of a weight moves the bounds of all.
    #[must_use]
    pub fn with_table(mut self, table: impl Into<Arc<SlotTable>>) -> Self {
        self.table = Some(table.into());
        self
    }

    /// Whose each slot is; `None` where the members' weights say it.
    #[must_use]
    pub fn table(&self) -> Option<&SlotTable> {
        self.table.as_deref()
    }
}

impl From<Slots> for HashAlgorithm {
    fn from(slots: Slots) -> Self {
        Self::Slots(slots)
    }
}

/// Whose each of the 16,384 slots is: data that an operator gives out, with a number that rises.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SlotTable {
    epoch: u64,
    ranges: Box<[SlotRange]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SlotRange {
    first: u16,
    last: u16,
    owner: InstanceId,
}

/// Slots that change hands from one table to another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotMove {
    /// Which.
    pub slots: RangeInclusive<u16>,
    /// Whose they were; `None` for nobody's.
    pub from: Option<InstanceId>,
    /// Whose they are; `None` for nobody's.
    pub to: Option<InstanceId>,
}

impl SlotTable {
    /// Number of slots.
    pub const SLOTS: u16 = 16_384;

    /// Ranges of slots, in any order, and whose they are. Slots may be left to nobody. `epoch` tells tables apart.
    ///
    /// # Errors
    /// [`ConfigError`] of a range that is empty, ends above 16,383, or has a slot of another one.
    pub fn new(
        epoch: u64,
        ranges: impl IntoIterator<Item = (RangeInclusive<u16>, InstanceId)>,
    ) -> Result<Self, ConfigError> {
        let mut checked = Vec::new();
        for (slots, owner) in ranges {
            let refused = |allowed| ConfigError::refused("slots", format!("{slots:?}"), allowed);
            let (first, last) = (*slots.start(), *slots.end());
            if first > last || last >= Self::SLOTS {
                return Err(refused("a range within 0..=16383"));
            }
            if checked.len() == usize::from(Self::SLOTS) {
                return Err(refused("each slot once"));
            }
            checked.push(SlotRange { first, last, owner });
        }
        checked.sort_by_key(|range| range.first);
        let mut next = checked.iter().skip(1);
        let overlap = checked
            .iter()
            .find(|range| next.next().is_some_and(|next| next.first <= range.last));
        if let Some(range) = overlap {
            return Err(ConfigError::refused(
                "slots",
                format!("{}..={}", range.first, range.last),
                "each slot once",
            ));
        }
        Ok(Self {
            epoch,
            ranges: checked.into(),
        })
    }

    /// What tells it from others.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The ranges in order, and whose they are.
    #[must_use]
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = (RangeInclusive<u16>, &InstanceId)> {
        self.ranges
            .iter()
            .map(|range| (range.first..=range.last, &range.owner))
    }

    /// Whose a slot is.
    #[must_use]
    pub fn owner(&self, slot: u16) -> Option<&InstanceId> {
        let place = self.ranges.partition_point(|range| range.last < slot);
        let range = self.ranges.get(place)?;
        (range.first <= slot).then_some(&range.owner)
    }

    /// The slots that another owner has in `newer`, in order.
    pub fn moved_to<'a>(&'a self, newer: &'a Self) -> impl Iterator<Item = SlotMove> + 'a {
        let mut slot = 0;
        std::iter::from_fn(move || {
            let change = |slot| (self.owner(slot), newer.owner(slot));
            while slot < Self::SLOTS {
                let first = slot;
                let (from, to) = change(slot);
                while slot < Self::SLOTS && change(slot) == (from, to) {
                    slot += 1;
                }
                if from != to {
                    return Some(SlotMove {
                        slots: first..=slot - 1,
                        from: from.cloned(),
                        to: to.cloned(),
                    });
                }
            }
            None
        })
    }
}
