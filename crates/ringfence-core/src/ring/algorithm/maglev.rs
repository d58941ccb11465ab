use super::HashAlgorithm;
use crate::ConfigError;

/// Settings of a Maglev table as Envoy makes it.
///
/// A table of `table_size` slots, which instances fill in turns, each along its own permutation; a key belongs to the slot that its
/// hash is modulo the size. Shares differ by about 1 % with a thousand times as many slots as instances; a join, a leave or a change of
/// a weight moves some of the others' keys besides, up to 1 in 200. 4 bytes a slot, 256 KiB for each pool at the default
/// size. More instances than slots: those whose host keys come last own nothing.
///
/// The walk tries the slots of Envoy's retries first: the hash of attempt `k` is that of the key, exclusive or 2^64 - `k`. After
/// 63 of them it goes on over the table, slot by slot.
///
/// Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer", NSDI 2016.
///
/// # Examples
/// ```
/// use ringfence_core::Maglev;
///
/// assert_eq!(Maglev::default().table_size(), 65_537);
/// assert!(Maglev::default().with_table_size(65_536).is_err(), "not prime");
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Maglev {
    table_size: u32,
}

impl Default for Maglev {
    fn default() -> Self {
        Self {
            table_size: Self::DEFAULT_TABLE_SIZE,
        }
    }
}

impl Maglev {
    /// 65,537 slots.
    pub const DEFAULT_TABLE_SIZE: u32 = 65_537;
    /// 5,000,011 slots: Envoy's limit.
    pub const MAX_TABLE_SIZE: u32 = 5_000_011;

    /// Slots of the table; default 65,537, a prime number in 2..=5,000,011.
    ///
    /// # Errors
    /// [`ConfigError`] outside of the range, and of a number that is not prime.
    pub fn with_table_size(mut self, slots: u32) -> Result<Self, ConfigError> {
        let slots = ConfigError::check("table_size", slots, 2..=Self::MAX_TABLE_SIZE)?;
        if !is_prime(slots) {
            return Err(ConfigError::refused(
                "table_size",
                slots.to_string(),
                "a prime number, such as 65537",
            ));
        }
        self.table_size = slots;
        Ok(self)
    }

    /// Slots of the table.
    #[must_use]
    pub fn table_size(&self) -> u32 {
        self.table_size
    }
}

/// Trial division: at most 2,236 steps for the largest size.
fn is_prime(n: u32) -> bool {
    n >= 2
        && (2..)
            .take_while(|d| d * d <= n)
            .all(|d| !n.is_multiple_of(d))
}

impl From<Maglev> for HashAlgorithm {
    fn from(maglev: Maglev) -> Self {
        Self::Maglev(maglev)
    }
}
