use std::time::Duration;

use crate::ConfigError;

/// How the weight of a new instance grows. The names are those of Envoy's slow start.
///
/// At a time `t` after its start an instance has its weight times `max(min_weight_percent, (t / window) ^ (1 / aggression))`.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use ringfence_core::SlowStartConfig;
///
/// let slow_start = SlowStartConfig::default().with_window(Duration::from_secs(60))?;
/// assert_eq!(slow_start.permille_at(Duration::ZERO), 100);
/// assert_eq!(slow_start.permille_at(Duration::from_secs(30)), 500);
/// assert_eq!(slow_start.permille_at(Duration::from_secs(60)), 1_000);
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlowStartConfig {
    window: Duration,
    aggression_percent: u32,
    min_weight_percent: u32,
}

impl Default for SlowStartConfig {
    fn default() -> Self {
        Self {
            window: Duration::ZERO,
            aggression_percent: 100,
            min_weight_percent: 10,
        }
    }
}

impl SlowStartConfig {
    /// How long an instance takes to its full weight (Envoy: `slow_start_window`); default 0, which is off; range 0 or 1 s..=1 h.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_window(mut self, window: Duration) -> Result<Self, ConfigError> {
        if !window.is_zero() {
            let range = Duration::from_secs(1)..=Duration::from_secs(3_600);
            ConfigError::check("slow_start_window", window, range)?;
        }
        self.window = window;
        Ok(self)
    }

    /// Envoy's `aggression` in per cent: default 100, the weight grows evenly; above, faster in the beginning, below, slower;
    /// range 10..=1,000.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_aggression_percent(mut self, percent: u32) -> Result<Self, ConfigError> {
        let field = "slow_start.aggression_percent";
        self.aggression_percent = ConfigError::check(field, percent, 10..=1_000)?;
        Ok(self)
    }

    /// Share of its weight that an instance has from the first moment, in per cent; default 10, range 1..=100.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_min_weight_percent(mut self, percent: u32) -> Result<Self, ConfigError> {
        let field = "slow_start.min_weight_percent";
        self.min_weight_percent = ConfigError::check(field, percent, 1..=100)?;
        Ok(self)
    }

    /// How long an instance takes to its full weight; zero: none.
    #[must_use]
    pub fn window(&self) -> Duration {
        self.window
    }

    /// How fast the weight grows in the beginning, in per cent.
    #[must_use]
    pub fn aggression_percent(&self) -> u32 {
        self.aggression_percent
    }

    /// Share of the weight from the first moment, in per cent.
    #[must_use]
    pub fn min_weight_percent(&self) -> u32 {
        self.min_weight_percent
    }

    /// Share of its weight that an instance has this long after its start, in permille.
    #[must_use]
    pub fn permille_at(&self, elapsed: Duration) -> u32 {
        if elapsed >= self.window {
            return 1_000;
        }
        let time = elapsed.as_secs_f64() / self.window.as_secs_f64();
        let grown = time.powf(100.0 / f64::from(self.aggression_percent)) * 1_000.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a power of a number from 0 to 1 is within them"
        )]
        let grown = grown as u32;
        grown.max(self.min_weight_percent * 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(100);

    fn config(aggression: u32, least: u32) -> SlowStartConfig {
        let config = SlowStartConfig::default().with_window(WINDOW);
        let config = config.and_then(|config| config.with_aggression_percent(aggression));
        let config = config.and_then(|config| config.with_min_weight_percent(least));
        config.expect("legal")
    }

    fn at(config: SlowStartConfig, percent: u32) -> u32 {
        config.permille_at(WINDOW / 100 * percent)
    }

    #[test]
    fn weights_grow_as_envoys_do() {
        let even = config(100, 10);
        let shares = [0, 5, 25, 50, 99, 100, 500].map(|percent| at(even, percent));
        assert_eq!(shares, [100, 100, 250, 500, 990, 1_000, 1_000]);
        // 0.25 ^ (1 / 2) and 0.25 ^ 2.
        assert_eq!((at(config(200, 1), 25), at(config(50, 1), 25)), (500, 62));
        assert_eq!(at(config(100, 100), 1), 1_000);
        assert_eq!(
            SlowStartConfig::default().permille_at(Duration::ZERO),
            1_000
        );
    }

    #[test]
    fn settings_out_of_their_range_are_refused() {
        let config = SlowStartConfig::default;
        assert!(config().with_window(Duration::from_millis(999)).is_err());
        assert!(config().with_window(Duration::from_secs(3_601)).is_err());
        assert!(config().with_aggression_percent(9).is_err());
        assert!(config().with_min_weight_percent(0).is_err());
        assert!(config().with_min_weight_percent(101).is_err());
    }
}
