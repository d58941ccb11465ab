use std::time::Duration;

use crate::ConfigError;

const MILLI: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// How long an instance that was gone or unhealthy has to be back before it is used, and how much longer if that happens often.
///
/// It is the arithmetic of RFC 2439, *BGP Route Flap Damping*, section 4.2: each flap adds [`PENALTY`](Self::PENALTY) to a
/// figure that halves every [`half_life`](Self::half_life). Above [`suppress`](Self::suppress) the instance is left out, until
/// the figure has fallen to [`reuse`](Self::reuse).
///
/// ```
/// use std::time::Duration;
/// use ringfence_core::FlapDampingConfig;
///
/// let config = FlapDampingConfig::default()
///     .with_stable_time(Duration::from_secs(2))?
///     .with_thresholds(3_000, 1_000)?;
/// assert_eq!((config.suppress(), config.reuse()), (3_000, 1_000));
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlapDampingConfig {
    stable_time: Duration,
    half_life: Duration,
    max_suppress_time: Duration,
    suppress: u32,
    reuse: u32,
}

impl Default for FlapDampingConfig {
    fn default() -> Self {
        Self {
            stable_time: Duration::from_secs(5),
            half_life: Duration::from_secs(15),
            max_suppress_time: Duration::from_secs(60),
            suppress: 2_000,
            reuse: 750,
        }
    }
}

impl FlapDampingConfig {
    /// What a flap adds to the penalty: an instance that served went away or stopped to be healthy.
    pub const PENALTY: u32 = 1_000;

    /// An instance that is back is used once it has been so for this long; default 5 s, range 0..=1 h. Zero: at once.
    ///
    /// # Errors
    /// [`ConfigError`] above an hour.
    pub fn with_stable_time(mut self, time: Duration) -> Result<Self, ConfigError> {
        let range = Duration::ZERO..=HOUR;
        self.stable_time = ConfigError::check("flap_damping.stable_time", time, range)?;
        Ok(self)
    }

    /// Time in which a penalty halves; default 15 s, range 1 ms..=1 h.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_half_life(mut self, time: Duration) -> Result<Self, ConfigError> {
        self.half_life = ConfigError::check("flap_damping.half_life", time, MILLI..=HOUR)?;
        Ok(self)
    }

    /// The longest that an instance is suppressed after its last flap, whatever its penalty; default 60 s, range 1 ms..=1 h.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_max_suppress_time(mut self, time: Duration) -> Result<Self, ConfigError> {
        self.max_suppress_time =
            ConfigError::check("flap_damping.max_suppress_time", time, MILLI..=HOUR)?;
        Ok(self)
    }

    /// Penalty above which an instance is suppressed, default 2,000, range 1..=1,000,000; and to which it has to fall before the
    /// instance is used again, default 750, at least 1 and less than the other.
    ///
    /// # Errors
    /// [`ConfigError`] when one is out of its range.
    pub fn with_thresholds(mut self, suppress: u32, reuse: u32) -> Result<Self, ConfigError> {
        self.suppress = ConfigError::check("flap_damping.suppress", suppress, 1..=1_000_000)?;
        self.reuse = ConfigError::check("flap_damping.reuse", reuse, 1..=suppress - 1)?;
        Ok(self)
    }

    /// How long an instance has to be back before it is used.
    #[must_use]
    pub fn stable_time(&self) -> Duration {
        self.stable_time
    }

    /// Time in which a penalty halves.
    #[must_use]
    pub fn half_life(&self) -> Duration {
        self.half_life
    }

    /// The longest suppression after the last flap.
    #[must_use]
    pub fn max_suppress_time(&self) -> Duration {
        self.max_suppress_time
    }

    /// Penalty above which an instance is suppressed.
    #[must_use]
    pub fn suppress(&self) -> u32 {
        self.suppress
    }

    /// Penalty at which its suppression ends.
    #[must_use]
    pub fn reuse(&self) -> u32 {
        self.reuse
    }

    /// A penalty after some time.
    pub(super) fn decayed(&self, penalty: f64, time: Duration) -> f64 {
        penalty * (-time.as_secs_f64() / self.half_life.as_secs_f64()).exp2()
    }

    /// Time until a penalty has fallen to `reuse`.
    pub(super) fn time_to_reuse(&self, penalty: f64) -> Duration {
        let halves = (penalty / f64::from(self.reuse)).log2().max(0.0);
        // A penalty is capped, so that this is no more than some hours.
        Duration::try_from_secs_f64(halves * self.half_life.as_secs_f64())
            .unwrap_or(self.max_suppress_time)
    }

    /// The highest penalty, from which it takes the longest suppression to fall to `reuse`.
    pub(super) fn ceiling(&self) -> f64 {
        let halves = self.max_suppress_time.as_secs_f64() / self.half_life.as_secs_f64();
        let least = f64::from(self.suppress) + f64::from(Self::PENALTY);
        (f64::from(self.reuse) * halves.min(64.0).exp2()).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_at_their_ends() {
        let config = FlapDampingConfig::default;
        assert!(config().with_stable_time(Duration::ZERO).is_ok());
        assert!(config().with_stable_time(HOUR + MILLI).is_err());
        for time in [Duration::ZERO, HOUR + MILLI] {
            assert!(config().with_half_life(time).is_err());
            assert!(config().with_max_suppress_time(time).is_err());
        }
        assert!(config().with_thresholds(2, 1).is_ok());
        assert!(config().with_thresholds(1_000_001, 1).is_err());
        for (suppress, reuse) in [(0, 0), (1, 1), (1, 0), (2_000, 2_000), (2_000, 0)] {
            assert!(
                config().with_thresholds(suppress, reuse).is_err(),
                "{suppress} {reuse}"
            );
        }
    }

    #[test]
    fn penalties_halve_and_the_ceiling_takes_the_longest_time() {
        let config = FlapDampingConfig::default();
        let halved = config.decayed(1_000.0, config.half_life());
        assert!((halved - 500.0).abs() < 1e-9, "{halved}");
        let longest = config.time_to_reuse(config.ceiling());
        assert!((longest.as_secs_f64() - 60.0).abs() < 1e-6, "{longest:?}");
        assert_eq!(config.time_to_reuse(10.0), Duration::ZERO);
    }
}
