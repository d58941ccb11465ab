//! What a movement is told in.

use crate::instance::InstanceId;
use crate::key_share::KeyShare;

/// What the shares of a [`RingDiff`](crate::RingDiff) are measured over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Basis {
    /// The whole key space; exact.
    KeySpace,
    /// The slots of a table that hashes are taken modulo of; exact, but for the remainder that 2^64 leaves. It has no ranges.
    Table(u32),
    /// This many keys that were given.
    Sample(u64),
}

/// A part of the keys that moves from one instance to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyMove<'a> {
    /// Who had the keys; `None`: nobody.
    pub from: Option<&'a InstanceId>,
    /// Who has them now; `None`: nobody.
    pub to: Option<&'a InstanceId>,
    /// How many.
    pub share: KeyShare,
}

/// Neighbouring positions of the key space that move alike. It never wraps: what does is two ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MovedRange<'a> {
    /// The first position.
    pub start: u64,
    /// The last position.
    pub end: u64,
    /// Who had its keys; `None`: nobody.
    pub from: Option<&'a InstanceId>,
    /// Who has them now; `None`: nobody.
    pub to: Option<&'a InstanceId>,
}

/// Why there are no ranges of positions that move between two rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WithoutRanges {
    /// The algorithm gives neighbouring hashes owners that have nothing in common.
    #[error("the algorithm does not divide the key space into ranges; sample some keys")]
    NotByPosition,
    /// The rings give one key different positions.
    #[error("the rings hash keys differently; sample some keys")]
    HashedDifferently,
    /// Only the keys that were given were compared.
    #[error("only a sample of keys was compared")]
    Sampled,
}
