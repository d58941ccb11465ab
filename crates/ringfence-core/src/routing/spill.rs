use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::ConfigError;

/// `spill` in ASCII, the seed of the hash that chooses the keys which leave a stage.
const SPILL_SEED: u64 = 0x73_7069_6c6c;

/// Which share of the keys of a stage (of a zone, say) go to the next stage although this one could serve them: as many as the
/// instances that are left cannot carry, or more where it is set so.
///
/// With `capacity` = the weight of the usable members in permille of the weight of all, the share is
/// `max(permille, 1000 - min(1000, capacity * overprovisioning_factor / 100))` permille, everything in whole numbers rounded
/// down. Which keys go is told by a hash of their own, see [`takes`](Self::takes): so all clients with the same view pass on the
/// same keys, and a rising share only adds to them.
///
/// # Examples
/// ```
/// use ringfence_core::Spill;
///
/// let spill = Spill::default();
/// assert_eq!(spill.share(800, 1_000), 0, "eight of ten carry everything at a factor of 140 %");
/// assert_eq!(spill.share(500, 1_000), 300);
/// assert_eq!(spill.with_permille(50)?.share(1_000, 1_000), 50);
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct Spill {
    permille: u16,
    overprovisioning_factor: u32,
}

impl Default for Spill {
    fn default() -> Self {
        Self {
            permille: 0,
            overprovisioning_factor: 140,
        }
    }
}

impl Spill {
    /// The least share that goes to the next stage, in permille; default 0, range 0..=1000.
    ///
    /// # Errors
    /// [`ConfigError`] above 1000.
    pub fn with_permille(mut self, permille: u16) -> Result<Self, ConfigError> {
        self.permille = ConfigError::check("spill_permille", permille, 0..=1_000)?;
        Ok(self)
    }

    /// How much more than its share an instance can carry, in per cent; default 140, range 100..=10,000: keys leave when less
    /// than 100/140 of the weight is usable.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_overprovisioning_factor(mut self, percent: u32) -> Result<Self, ConfigError> {
        self.overprovisioning_factor =
            ConfigError::check("overprovisioning_factor", percent, 100..=10_000)?;
        Ok(self)
    }

    /// The least share that goes to the next stage, in permille.
    #[must_use]
    pub fn permille(&self) -> u16 {
        self.permille
    }

    /// How much more than its share an instance can carry, in per cent.
    #[must_use]
    pub fn overprovisioning_factor(&self) -> u32 {
        self.overprovisioning_factor
    }

    /// The share that leaves, in permille, when `usable` of `registered` weight can be used.
    #[must_use]
    pub fn share(&self, usable: u64, registered: u64) -> u16 {
        let (usable, registered) = (u128::from(usable), u128::from(registered));
        let capacity = (usable * 1_000).checked_div(registered).unwrap_or(0);
        let carried = (capacity * u128::from(self.overprovisioning_factor) / 100).min(1_000);
        let missing = u16::try_from(1_000 - carried).unwrap_or(1_000);
        missing.max(self.permille)
    }

    /// Whether a key is among the `share` permille that leave the stage at this place of a route: xxh3_64 of it, with the
    /// seed `0x7370696c6c` plus the place, divided by 2^64, is below the share.
    #[must_use]
    pub fn takes(share: u16, place: usize, key: &[u8]) -> bool {
        let hash = xxh3_64_with_seed(key, SPILL_SEED.wrapping_add(place as u64));
        u128::from(hash) * 1_000 < u128::from(share) << 64
    }
}
