use std::time::Duration;

use crate::ConfigError;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// How often instances are asked whether they serve, and what it takes to believe their answers.
///
/// ```
/// use std::time::Duration;
/// use ringfence_core::HealthCheckConfig;
///
/// let config = HealthCheckConfig::default()
///     .with_times(Duration::from_secs(5), Duration::from_secs(1))?
///     .with_fall(2)?;
/// assert_eq!(config.interval(), Duration::from_secs(5));
/// assert!(config.with_times(SECOND, SECOND).is_err(), "a check must end before the next one");
/// # const SECOND: Duration = Duration::from_secs(1);
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HealthCheckConfig {
    interval: Duration,
    timeout: Duration,
    jitter_percent: u8,
    rise: u32,
    fall: u32,
    max_concurrent: usize,
    require_pass: bool,
}

impl Default for HealthCheckConfig {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(10),
            timeout: Duration::from_secs(3),
            jitter_percent: 20,
            rise: 2,
            fall: 3,
            max_concurrent: 16,
            require_pass: false,
        }
    }
}

impl HealthCheckConfig {
    /// From the start of a check of an instance to the next, default 10 s, range 10 ms..=1 h; and how long a check may take
    /// before it counts as failed, default 3 s, from 1 ms to less than the interval.
    ///
    /// # Errors
    /// [`ConfigError`] when one is out of its range.
    pub fn with_times(
        mut self,
        interval: Duration,
        timeout: Duration,
    ) -> Result<Self, ConfigError> {
        self.interval = ConfigError::check("health_check.interval", interval, MIN_INTERVAL..=HOUR)?;
        if timeout >= interval {
            let value = format!("{timeout:?}");
            let allowed = format!("less than the interval of {interval:?}");
            return Err(ConfigError::refused(
                "health_check.timeout",
                value,
                &allowed,
            ));
        }
        let range = Duration::from_millis(1)..=HOUR;
        self.timeout = ConfigError::check("health_check.timeout", timeout, range)?;
        Ok(self)
    }

    /// By how many per cent of itself the interval varies, either way; default 20, range 0..=50. It keeps the checks of many
    /// clients and of many instances apart.
    ///
    /// # Errors
    /// [`ConfigError`] above 50.
    pub fn with_jitter_percent(mut self, percent: u8) -> Result<Self, ConfigError> {
        self.jitter_percent = ConfigError::check("health_check.jitter_percent", percent, 0..=50)?;
        Ok(self)
    }

    /// Checks in a row that a failing instance must pass to be used again; default 2, range 1..=100.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_rise(mut self, checks: u32) -> Result<Self, ConfigError> {
        self.rise = ConfigError::check("health_check.rise", checks, 1..=100)?;
        Ok(self)
    }

    /// Checks in a row that must fail before an instance is left out; default 3, range 1..=100.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_fall(mut self, checks: u32) -> Result<Self, ConfigError> {
        self.fall = ConfigError::check("health_check.fall", checks, 1..=100)?;
        Ok(self)
    }

    /// Checks of the service that may run at one time; default 16, range 1..=1,024. Where they cannot keep up with the interval,
    /// each instance is checked less often, in turn.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_max_concurrent(mut self, checks: usize) -> Result<Self, ConfigError> {
        self.max_concurrent = ConfigError::check("health_check.max_concurrent", checks, 1..=1_024)?;
        Ok(self)
    }

    /// Whether an instance gets requests only after a check that it passed; default off: it counts as up until checks say
    /// otherwise. The first check of an instance decides alone then.
    #[must_use]
    pub fn with_require_pass(mut self, require: bool) -> Self {
        self.require_pass = require;
        self
    }

    /// From the start of a check of an instance to the next.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// How long a check may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// By how many per cent the interval varies.
    #[must_use]
    pub fn jitter_percent(&self) -> u8 {
        self.jitter_percent
    }

    /// Checks in a row that bring an instance back.
    #[must_use]
    pub fn rise(&self) -> u32 {
        self.rise
    }

    /// Checks in a row that take an instance out.
    #[must_use]
    pub fn fall(&self) -> u32 {
        self.fall
    }

    /// Checks that may run at one time.
    #[must_use]
    pub fn max_concurrent(&self) -> usize {
        self.max_concurrent
    }

    /// Whether an instance has to pass a check first.
    #[must_use]
    pub fn require_pass(&self) -> bool {
        self.require_pass
    }

    /// How long the first check of a new instance waits: at most a second, and not at all where requests wait for it. `draw` in
    /// 0..1 spreads the instances of a first snapshot.
    #[must_use]
    pub fn first_wait(&self, draw: f64) -> Duration {
        if self.require_pass {
            return Duration::ZERO;
        }
        self.interval.min(SECOND).mul_f64(unit(draw))
    }

    /// From the start of the first check to the second: any part of the interval, so that instances that came together are not
    /// checked together ever after. `draw` in 0..1.
    #[must_use]
    pub fn second_wait(&self, draw: f64) -> Duration {
        self.timeout + (self.interval - self.timeout).mul_f64(unit(draw))
    }

    /// From the start of a later check to the next. `draw` in 0..1.
    #[must_use]
    pub fn wait(&self, draw: f64) -> Duration {
        let jitter = f64::from(self.jitter_percent) / 100.0;
        self.interval
            .mul_f64(1.0 + jitter * (2.0 * unit(draw) - 1.0))
    }
}

/// What is no number counts as the middle.
fn unit(draw: f64) -> f64 {
    if draw.is_nan() {
        0.5
    } else {
        draw.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_at_their_ends() {
        let config = HealthCheckConfig::default;
        let milli = Duration::from_millis(1);
        assert!(config().with_times(MIN_INTERVAL, milli).is_ok());
        assert!(config().with_times(MIN_INTERVAL - milli, milli).is_err());
        assert!(config().with_times(HOUR, HOUR - milli).is_ok());
        assert!(config().with_times(HOUR + milli, milli).is_err());
        assert!(config().with_times(HOUR, Duration::ZERO).is_err());
        let error = config().with_times(SECOND, SECOND).expect_err("equal");
        assert_eq!(
            error.to_string(),
            "health_check.timeout is 1s, allowed is less than the interval of 1s"
        );
        assert!(config().with_jitter_percent(50).is_ok());
        assert!(config().with_jitter_percent(51).is_err());
        for legal in [1, 100] {
            assert!(config().with_rise(legal).is_ok());
            assert!(config().with_fall(legal).is_ok());
        }
        for illegal in [0, 101] {
            assert!(config().with_rise(illegal).is_err());
            assert!(config().with_fall(illegal).is_err());
        }
        assert!(config().with_max_concurrent(1_024).is_ok());
        assert!(config().with_max_concurrent(0).is_err());
        assert!(config().with_max_concurrent(1_025).is_err());
    }

    #[test]
    fn waits_lie_within_their_bounds_whatever_is_drawn() {
        let config = HealthCheckConfig::default();
        for draw in [f64::NAN, -1.0, 0.0, 0.25, 0.999, 7.0] {
            assert!(config.first_wait(draw) <= SECOND, "{draw}");
            let (timeout, interval) = (config.timeout(), config.interval());
            assert!(
                (timeout..=interval).contains(&config.second_wait(draw)),
                "{draw}"
            );
            let wait = config.wait(draw);
            assert!(
                (interval.mul_f64(0.79)..=interval.mul_f64(1.21)).contains(&wait),
                "{draw}"
            );
        }
        assert!(config.wait(0.0) < config.wait(0.5) && config.wait(0.5) < config.wait(1.0));
        assert_eq!(
            config.with_require_pass(true).first_wait(0.9),
            Duration::ZERO
        );
    }
}
