use std::time::Duration;

use crate::ConfigError;

/// How moved ranges are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MigrationConfig {
    batch_ranges: usize,
    batch_timeout: Duration,
}

impl Default for MigrationConfig {
    fn default() -> Self {
        Self {
            batch_ranges: 128,
            batch_timeout: Duration::from_millis(500),
        }
    }
}

impl MigrationConfig {
    /// Ranges of one batch; default 128, range 1..=65,536.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_batch_ranges(mut self, ranges: usize) -> Result<Self, ConfigError> {
        self.batch_ranges = ConfigError::check("batch_ranges", ranges, 1..=65_536)?;
        Ok(self)
    }

    /// Time for one batch; default 500 ms, range 1 ms..=24 h. A batch that is done later is not taken as done.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_batch_timeout(mut self, timeout: Duration) -> Result<Self, ConfigError> {
        let range = Duration::from_millis(1)..=Duration::from_secs(24 * 60 * 60);
        self.batch_timeout = ConfigError::check("batch_timeout", timeout, range)?;
        Ok(self)
    }

    /// Ranges of one batch.
    #[must_use]
    pub fn batch_ranges(&self) -> usize {
        self.batch_ranges
    }

    /// Time for one batch.
    #[must_use]
    pub fn batch_timeout(&self) -> Duration {
        self.batch_timeout
    }
}
