use crate::{ConfigError, ring::RingConfig, routing::TagRouting};

/// What decides a view besides the snapshot.
///
/// # Examples
/// ```
/// use ringfence_core::{RingConfig, ViewConfig};
///
/// let config = ViewConfig::default()
///     .with_ring(RingConfig::default().with_seed(7))
///     .with_panic_threshold(30)?;
/// assert_eq!(config.panic_threshold(), 30);
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewConfig {
    ring: RingConfig,
    routing: TagRouting,
    panic_threshold: u8,
}

impl Default for ViewConfig {
    fn default() -> Self {
        Self {
            ring: RingConfig::default(),
            routing: TagRouting::default(),
            panic_threshold: 50,
        }
    }
}

impl ViewConfig {
    /// Settings of every ring.
    #[must_use]
    pub fn with_ring(mut self, ring: RingConfig) -> Self {
        self.ring = ring;
        self
    }

    /// How tags choose pools.
    #[must_use]
    pub fn with_routing(mut self, routing: TagRouting) -> Self {
        self.routing = routing;
        self
    }

    /// When less than this share of a pool's members that take traffic is usable, in per cent, health and ejection are
    /// ignored in this pool (it is in panic); default 50, range 0..=100. Zero never ignores them.
    ///
    /// Not so while a later stage of the request's route, up to one where the search ends, has usable instances and is not
    /// below the threshold itself: then health counts in this pool, however few are left. Which stage serves, and which keys
    /// [spill](crate::Spill) over, does not depend on panic.
    ///
    /// # Errors
    /// [`ConfigError`] above 100.
    pub fn with_panic_threshold(mut self, percent: u8) -> Result<Self, ConfigError> {
        self.panic_threshold = ConfigError::check("panic_threshold", percent, 0..=100)?;
        Ok(self)
    }

    /// Settings of every ring.
    #[must_use]
    pub fn ring(&self) -> &RingConfig {
        &self.ring
    }

    /// How tags choose pools.
    pub fn routing(&self) -> &TagRouting {
        &self.routing
    }

    /// Usable share of a pool, in per cent, below which health and ejection are ignored.
    #[must_use]
    pub fn panic_threshold(&self) -> u8 {
        self.panic_threshold
    }
}
