use std::fmt;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{ConfigError, snapshot::Snapshot};

/// `tenant` in ASCII, the seed of [`name_seed`].
const TENANT_SEED: u64 = 0x7465_6e61_6e74;

/// The seed that stands for a tenant's name, or for any other value that a request asks for: xxh3_64 of its bytes with the
/// seed `0x74656e616e74`. A format: clients in other processes and languages compute the same number.
///
/// # Examples
/// ```
/// assert_eq!(ringfence_core::name_seed("acme"), 0xc527_ef0d_6e29_a6a6);
/// ```
#[must_use]
pub fn name_seed(name: &str) -> u64 {
    xxh3_64_with_seed(name.as_bytes(), TENANT_SEED)
}

/// A few of a pool's instances, which ones being told by a seed: a shuffle shard.
///
/// Those with the highest xxh3_64 of their id with the seed as the hash's seed are in it, of equal ones those whose id comes
/// first: rendezvous hashing. So it depends on who is registered and on nothing else, neither on order nor on health; an
/// instance that comes or goes changes one member at most, and shards of different seeds have few members in common.
///
/// Rendezvous hashing: Thaler, Ravishankar, "Using Name-Based Mappings to Increase Hit Rates", IEEE/ACM ToN 1998.
/// Shuffle shards: MacCárthaigh, "Workload isolation using shuffle-sharding", Amazon Builders' Library.
///
/// # Examples
/// ```
/// use ringfence_core::{Shard, name_seed};
///
/// let shard = Shard::new(3, name_seed("acme"))?;
/// assert_eq!((shard.size(), shard.to_string().as_str()), (3, "shard of 3 by c527ef0d6e29a6a6"));
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard {
    size: u32,
    seed: u64,
}

impl Shard {
    /// `size` members, or all where there are no more; range 1..=1,000,000.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn new(size: u32, seed: u64) -> Result<Self, ConfigError> {
        let size = Self::check(size)?;
        Ok(Self { size, seed })
    }

    pub(crate) fn check(size: u32) -> Result<u32, ConfigError> {
        ConfigError::check("shard size", size, 1..=1_000_000)
    }

    /// For a size that was checked.
    pub(crate) fn of_checked(size: u32, seed: u64) -> Self {
        Self { size, seed }
    }

    /// How many members it has, where there are as many.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// What tells its members.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Its members among `places` of a snapshot, which rise.
    pub(super) fn of(&self, snapshot: &Snapshot, places: &[u32]) -> Box<[u32]> {
        let size = self.size as usize;
        if places.len() <= size {
            return places.into();
        }
        let mut ranked: Vec<(std::cmp::Reverse<u64>, u32)> = places
            .iter()
            .filter_map(|&place| {
                let instance = snapshot.instances().get(place as usize)?;
                let score = xxh3_64_with_seed(instance.id().as_str().as_bytes(), self.seed);
                // Places are in id order, so they break ties as ids do.
                Some((std::cmp::Reverse(score), place))
            })
            .collect();
        if size < ranked.len() {
            ranked.select_nth_unstable(size);
        }
        let mut members: Box<[u32]> = ranked
            .into_iter()
            .take(size)
            .map(|(_, place)| place)
            .collect();
        members.sort_unstable();
        members
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard of {} by {:016x}", self.size, self.seed)
    }
}
