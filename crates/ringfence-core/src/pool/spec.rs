use std::fmt;

use super::{Selector, Shard};
use crate::instance::Instance;

/// What a pool is: the instances that a [`Selector`] accepts, or a [`Shard`] of them, on the usual ring or on one of its own.
/// Equal ones are one pool with one ring.
///
/// # Examples
/// ```
/// use ringfence_core::{Attribute, Match, PoolSpec, Selector, Shard};
///
/// let shared = Selector::any().and(Attribute::tenant(), Match::absent());
/// assert_eq!(PoolSpec::from(shared.clone()).to_string(), "tenant absent");
/// let acme = PoolSpec::from(shared).with_shard(Shard::new(3, 7)?).with_ring_seed(9);
/// assert_eq!(acme.to_string(), "tenant absent, shard of 3 by 0000000000000007, ring seed 0000000000000009");
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[must_use]
pub struct PoolSpec {
    selector: Selector,
    shard: Option<Shard>,
    ring_seed: Option<u64>,
}

impl PoolSpec {
    /// All instances that meet the conditions.
    pub fn new(selector: Selector) -> Self {
        Self {
            selector,
            shard: None,
            ring_seed: None,
        }
    }

    /// Only a shard of them.
    pub fn with_shard(mut self, shard: Shard) -> Self {
        self.shard = Some(shard);
        self
    }

    /// A ring with this seed in place of the configured one, for its points and for keys: who owns what on it has nothing to
    /// do with other rings.
    pub fn with_ring_seed(mut self, seed: u64) -> Self {
        self.ring_seed = Some(seed);
        self
    }

    /// The conditions.
    pub fn selector(&self) -> &Selector {
        &self.selector
    }

    /// Which part of those that meet the conditions.
    #[must_use]
    pub fn shard(&self) -> Option<&Shard> {
        self.shard.as_ref()
    }

    /// Seed of its ring, where it is not the configured one.
    #[must_use]
    pub fn ring_seed(&self) -> Option<u64> {
        self.ring_seed
    }

    /// Whether it is all instances, on the usual ring.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.selector.is_any() && self.shard.is_none() && self.ring_seed.is_none()
    }

    /// Whether an instance meets the conditions. Whether it is in the shard depends on the others.
    #[must_use]
    pub fn may_have(&self, instance: &Instance) -> bool {
        self.selector.matches(instance)
    }
}

impl From<Selector> for PoolSpec {
    fn from(selector: Selector) -> Self {
        Self::new(selector)
    }
}

impl fmt::Display for PoolSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.selector)?;
        if let Some(shard) = self.shard {
            write!(f, ", {shard}")?;
        }
        if let Some(seed) = self.ring_seed {
            write!(f, ", ring seed {seed:016x}")?;
        }
        Ok(())
    }
}
