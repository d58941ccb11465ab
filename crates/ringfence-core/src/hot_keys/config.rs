use std::time::Duration;

use crate::ConfigError;

/// How hot keys are found.
///
/// # Examples
/// ```
/// use ringfence_core::HotKeysConfig;
///
/// let config = HotKeysConfig::default().with_hot_percent(5)?;
/// assert_eq!(config.hot_percent(), 5);
/// assert!(HotKeysConfig::default().with_hot_percent(0).is_err());
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotKeysConfig {
    counters: usize,
    hot_percent: u8,
    half_life: Duration,
}

impl Default for HotKeysConfig {
    fn default() -> Self {
        Self {
            counters: 1_024,
            hot_percent: 2,
            half_life: Duration::from_secs(10),
        }
    }
}

impl HotKeysConfig {
    /// How many keys are counted at a time; default 1,024, range 8..=65,536. Every key with more than one part in so many of the
    /// requests is among them; each takes some 100 bytes.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_counters(mut self, counters: usize) -> Result<Self, ConfigError> {
        self.counters = ConfigError::check("hot_keys.counters", counters, 8..=65_536)?;
        Ok(self)
    }

    /// From which part of the requests on a key counts as hot; default 2 %, range 1..=100.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_hot_percent(mut self, percent: u8) -> Result<Self, ConfigError> {
        self.hot_percent = ConfigError::check("hot_keys.hot_percent", percent, 1..=100)?;
        Ok(self)
    }

    /// After which time a request counts half; default 10 s, range 1 s..=1 h.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_half_life(mut self, half_life: Duration) -> Result<Self, ConfigError> {
        let range = Duration::from_secs(1)..=Duration::from_secs(60 * 60);
        self.half_life = ConfigError::check("hot_keys.half_life", half_life, range)?;
        Ok(self)
    }

    /// How many keys are counted at a time.
    #[must_use]
    pub fn counters(&self) -> usize {
        self.counters
    }

    /// From which part of the requests on a key counts as hot, in per cent.
    #[must_use]
    pub fn hot_percent(&self) -> u8 {
        self.hot_percent
    }

    /// After which time a request counts half.
    #[must_use]
    pub fn half_life(&self) -> Duration {
        self.half_life
    }
}
