//! Settings on what follows when keys move.

use std::time::Duration;

use super::BalancerConfig;
use crate::ConfigError;

impl BalancerConfig {
    /// How long after a change of a ring the owners of before are [known](crate::Balancer::old_owner); default 0, which is off;
    /// range 0..=24 h. Each change of that time keeps its whole view in memory, at most the last
    /// [`MAX_CHANGES`](ringfence_core::MovementWindow::MAX_CHANGES).
    ///
    /// # Errors
    /// [`ConfigError`] above 24 h.
    pub fn with_movement_window(mut self, window: Duration) -> Result<Self, ConfigError> {
        let range = Duration::ZERO..=Duration::from_secs(24 * 60 * 60);
        self.movement_window = ConfigError::check("movement_window", window, range)?;
        Ok(self)
    }

    /// How long the owners of before are known; zero: not at all.
    #[must_use]
    pub fn movement_window(&self) -> Duration {
        self.movement_window
    }
}
