use super::{
    HashAlgorithm, HashedKey, KeyHash, native::PointCounts, others,
    others::hash_key as hash_key_of_other,
};
use crate::{ConfigError, snapshot::Snapshot};

/// Settings of a ring. All clients of a service must use the same ones to agree on the owners of keys.
///
/// # Examples
/// ```
/// use ringfence_core::RingConfig;
///
/// let config = RingConfig::default().with_points_per_instance(320)?.with_seed(7);
/// assert_eq!(config.points_per_instance(), 320);
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RingConfig {
    algorithm: HashAlgorithm,
    points_per_instance: u32,
    probes: u32,
    seed: u64,
    max_ring_points: u32,
}

impl Default for RingConfig {
    fn default() -> Self {
        Self {
            algorithm: HashAlgorithm::default(),
            points_per_instance: Self::DEFAULT_POINTS_PER_INSTANCE,
            probes: 1,
            seed: 0,
            max_ring_points: Self::DEFAULT_MAX_RING_POINTS,
        }
    }
}

impl RingConfig {
    /// Most probes of a key.
    pub const MAX_PROBES: u32 = 21;
    /// 160 points for weight 100.
    pub const DEFAULT_POINTS_PER_INSTANCE: u32 = 160;
    /// 4,194,304 points.
    pub const DEFAULT_MAX_RING_POINTS: u32 = 1 << 22;

    /// How keys are mapped; default [`HashAlgorithm::Ring`], which the other settings here belong to but where they say more.
    #[must_use]
    pub fn with_algorithm(mut self, algorithm: impl Into<HashAlgorithm>) -> Self {
        self.algorithm = algorithm.into();
        self
    }

    /// Points of an instance of weight 100; default 160, range 1..=65,536. More points even out the shares (their standard
    /// deviation is about `1 / sqrt(points)`) and cost memory and build time.
    ///
    /// # Errors
    /// [`ConfigError`] outside of the range.
    pub fn with_points_per_instance(mut self, points: u32) -> Result<Self, ConfigError> {
        self.points_per_instance = ConfigError::check("points_per_instance", points, 1..=65_536)?;
        Ok(self)
    }

    /// Positions that a key is looked up at on [the own ring](HashAlgorithm::Ring); default 1, range 1..=21. The nearest point
    /// behind any of them owns the key. A walk over all of many instances takes time that grows with the square of their number; its first steps do not. More probes even out the shares at the same memory, and cost time for each lookup: with 8
    /// the busiest of up to 200 instances has about 6 % more than the mean, at three to five times the time. Keys still move only
    /// from those that leave and to those that come. Appleton and O'Reilly, "Multi-Probe Consistent Hashing", 2015.
    ///
    /// # Errors
    /// [`ConfigError`] outside of the range.
    pub fn with_probes(mut self, probes: u32) -> Result<Self, ConfigError> {
        self.probes = ConfigError::check("probes", probes, 1..=Self::MAX_PROBES)?;
        Ok(self)
    }

    /// Seed of all hashes of the ring, keys included; default 0, any value. Rings of different seeds are independent.
    ///
    /// Foreign algorithms have none: with a seed other than 0 theirs differ from those of other programs, as the rings of tenants
    /// that have one of their own do. Keys are hashed without it there, and the table of [`Slots`](super::Slots) holds with any seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Most points that all instances of a snapshot may have together; default 4,194,304, range 1..=67,108,864.
    ///
    /// A snapshot whose instances would have more gets `max(1, floor(count * max_ring_points / sum of counts))` points for
    /// each, in every pool made of it; so a set of more instances than the cap has one point each. While the cap is in
    /// force a change of one instance's weight can change the counts of the others.
    ///
    /// # Errors
    /// [`ConfigError`] outside of the range.
    pub fn with_max_ring_points(mut self, points: u32) -> Result<Self, ConfigError> {
        self.max_ring_points = ConfigError::check("max_ring_points", points, 1..=1 << 26)?;
        Ok(self)
    }

    /// How keys are mapped.
    #[must_use]
    pub fn algorithm(&self) -> &HashAlgorithm {
        &self.algorithm
    }

    /// Points of an instance of weight 100.
    #[must_use]
    pub fn points_per_instance(&self) -> u32 {
        self.points_per_instance
    }

    /// Positions that a key is looked up at.
    #[must_use]
    pub fn probes(&self) -> u32 {
        self.probes
    }

    /// Seed of all hashes.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Most points of a snapshot.
    #[must_use]
    pub fn max_ring_points(&self) -> u32 {
        self.max_ring_points
    }

    /// About how many entries the ring of all instances of a snapshot has, by their own weights: what building it costs.
    #[must_use]
    pub fn expected_entries(&self, snapshot: &Snapshot) -> usize {
        if self.algorithm == HashAlgorithm::Ring {
            return PointCounts::new(snapshot, self).expected();
        }
        others::expected_entries(self, snapshot)
    }

    /// Hashes a key as rings of these settings want it:
    ///
    /// | algorithm | hash of a key | with a salt |
    /// |---|---|---|
    /// | `ring`, `jump` | xxh3_64 with the seed | with seed xor salt |
    /// | `envoy-ring`, `maglev` | xxh64 with seed 0 | with the salt as seed |
    /// | `nginx` | CRC-32 | upper half of xxh3_64 with the salt as seed |
    /// | `ketama` | first word of MD5, little endian | upper half of xxh3_64 with the salt as seed |
    /// | `rendezvous` | xxh64 with seed 0, which nothing is mapped by: it is the key itself that is scored | xxh3_64 with the salt as seed, which is scored in place of the key, as 8 bytes, least first |
    /// | `slots` | the slot: CRC-16 of the key's hash tag, modulo 16,384 | xxh3_64 of the tag with the salt as seed, modulo 16,384 |
    ///
    /// A hash that is made elsewhere, or a random number, will do in place of it: of algorithms that need fewer bits the lower ones
    /// count, and rendezvous scores it as 8 bytes.
    #[inline]
    #[must_use]
    pub fn hash_key<'k>(&self, key: &'k [u8]) -> HashedKey<'k> {
        self.hash_key_salted(key, 0)
    }

    /// Hashes a key so that where it lies has nothing to do with where other salts have it. Salt 0 is none. A tenant's salt is the
    /// [`name_seed`](crate::name_seed) of its name.
    #[inline]
    #[must_use]
    pub fn hash_key_salted<'k>(&self, key: &'k [u8], salt: u64) -> HashedKey<'k> {
        match self.algorithm {
            HashAlgorithm::Ring => HashedKey::new(KeyHash::of(key, self.seed ^ salt), key),
            // The key itself must not be scored, as it knows of no salt.
            HashAlgorithm::Rendezvous if salt != 0 => hash_key_of_other(self, key, salt).into(),
            _ => HashedKey::new(hash_key_of_other(self, key, salt), key),
        }
    }
}
