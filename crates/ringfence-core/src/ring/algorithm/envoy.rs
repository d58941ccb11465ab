use super::HashAlgorithm;
use crate::ConfigError;

/// Settings of a ring as Envoy's `RING_HASH` and gRPC's `ring_hash` make it (A42).
///
/// Each instance has a share of `min_ring_size` points by its weight, the lightest one a whole number of them. So the points of an
/// instance depend on how many others there are: when one of a few leaves, up to a seventh of the keys of the others move too,
/// and a change of one weight moves keys of all. Where that matters and no Envoy is beside, the own ring is better. A fleet
/// that shares keys with an Envoy needs the same sizes, hash, weights, host keys and order.
///
/// An instance that the sizes leave without a point owns nothing, and comes last in walks. Keys: xxh64 with seed 0, with either
/// hash of points. The walk goes clockwise. 12 bytes a point, and 2 to 4 of index.
///
/// # Examples
/// ```
/// use ringfence_core::{EnvoyRing, PointHash};
///
/// let ring = EnvoyRing::default().with_ring_sizes(1_024, 4_096)?.with_hash(PointHash::MurmurHash2);
/// assert_eq!((ring.min_ring_size(), ring.max_ring_size()), (1_024, 4_096));
/// assert!(EnvoyRing::default().with_ring_sizes(0, 4_096).is_err());
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EnvoyRing {
    min_ring_size: u32,
    max_ring_size: u32,
    host_order: HostOrder,
    hash: PointHash,
}

/// The order in which instances are given points; it decides which of them get one more where shares are not whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum HostOrder {
    /// As the registry or file listed them, as Envoy does (default). All clients must be given the same order; a registry that lists the
    /// same instances in another order makes no new snapshot, so the order first given stays until something changes.
    #[default]
    AsGiven,
    /// By host key, as gRPC does: the order given does not matter.
    Sorted,
}

/// The hash that makes points of host keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PointHash {
    /// xxh64 with seed 0 (default): Envoy's `XX_HASH`.
    #[default]
    XxHash,
    /// MurmurHash2 of 64 bits with seed `0xc70f6907`: Envoy's `MURMUR_HASH_2`, libstdc++'s `std::hash`.
    MurmurHash2,
}

impl Default for EnvoyRing {
    fn default() -> Self {
        Self {
            min_ring_size: Self::DEFAULT_MIN_RING_SIZE,
            max_ring_size: Self::MAX_RING_SIZE,
            host_order: HostOrder::default(),
            hash: PointHash::default(),
        }
    }
}

impl EnvoyRing {
    /// 1,024 points.
    pub const DEFAULT_MIN_RING_SIZE: u32 = 1_024;
    /// 8,388,608 points: the default and the largest legal `max_ring_size`.
    pub const MAX_RING_SIZE: u32 = 8_388_608;

    /// Fewest and most points that all instances have together; defaults 1,024 and 8,388,608 (gRPC's own cap is 4,096), range of
    /// both 1..=8,388,608. The most is in force where the lightest instance's whole points would need more.
    ///
    /// # Errors
    /// [`ConfigError`] outside of the range, and where `min` is more than `max`.
    pub fn with_ring_sizes(mut self, min: u32, max: u32) -> Result<Self, ConfigError> {
        let max = ConfigError::check("max_ring_size", max, 1..=Self::MAX_RING_SIZE)?;
        self.min_ring_size = ConfigError::check("min_ring_size", min, 1..=max)?;
        self.max_ring_size = max;
        Ok(self)
    }

    /// Order in which instances are given points.
    #[must_use]
    pub fn with_host_order(mut self, order: HostOrder) -> Self {
        self.host_order = order;
        self
    }

    /// Hash of the points.
    #[must_use]
    pub fn with_hash(mut self, hash: PointHash) -> Self {
        self.hash = hash;
        self
    }

    /// Fewest points.
    #[must_use]
    pub fn min_ring_size(&self) -> u32 {
        self.min_ring_size
    }

    /// Most points.
    #[must_use]
    pub fn max_ring_size(&self) -> u32 {
        self.max_ring_size
    }

    /// Order in which instances are given points.
    #[must_use]
    pub fn host_order(&self) -> HostOrder {
        self.host_order
    }

    /// Hash of the points.
    #[must_use]
    pub fn hash(&self) -> PointHash {
        self.hash
    }
}

impl From<EnvoyRing> for HashAlgorithm {
    fn from(ring: EnvoyRing) -> Self {
        Self::EnvoyRing(ring)
    }
}
