use std::time::Duration;

use crate::ConfigError;

/// When an instance that keeps failing is left out, and for how long.
///
/// Ejection never changes a ring: keys of the ejected instance go to the next instance clockwise,
/// nobody else's keys move, and they come home when the ejection ends.
///
/// ```
/// use std::time::Duration;
/// use ringfence_core::OutlierConfig;
///
/// let outlier = OutlierConfig::default()
///     .with_consecutive_failures(3)
///     .with_base_ejection_time(Duration::from_secs(10))?
///     .with_max_ejection_percent(50)?;
/// assert_eq!(outlier.consecutive_failures(), 3);
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OutlierConfig {
    consecutive_failures: u32,
    base_ejection_time: Duration,
    max_ejection_time: Duration,
    max_ejection_percent: u32,
    always_eject_one: bool,
}

impl Default for OutlierConfig {
    fn default() -> Self {
        Self {
            consecutive_failures: 5,
            base_ejection_time: Duration::from_secs(30),
            max_ejection_time: Duration::from_secs(300),
            max_ejection_percent: 10,
            always_eject_one: true,
        }
    }
}

impl OutlierConfig {
    /// Failures without a success in between that eject an instance; default 5, any number. Zero switches
    /// ejection off. Failed connections count; what the caller gave up does not.
    #[must_use]
    pub fn with_consecutive_failures(mut self, failures: u32) -> Self {
        self.consecutive_failures = failures;
        self
    }

    /// Length of the first ejection; default 30 s, range 1 ms..=1 h. The n-th ejection in a row lasts n times
    /// as long, up to [`max_ejection_time`](Self::max_ejection_time). Up to 10 % of jitter is
    /// added (taken off where it would pass the maximum).
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_base_ejection_time(mut self, time: Duration) -> Result<Self, ConfigError> {
        self.base_ejection_time = checked("outlier.base_ejection_time", time)?;
        Ok(self)
    }

    /// No ejection lasts longer; default 300 s, range 1 ms..=1 h. It wins over a longer base time.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_max_ejection_time(mut self, time: Duration) -> Result<Self, ConfigError> {
        self.max_ejection_time = checked("outlier.max_ejection_time", time)?;
        Ok(self)
    }

    /// Share of the service's instances that may be ejected at one time, in per cent; default 10,
    /// range 0..=100. It is exact: `(ejected + 1) / instances` must not pass it; below ten instances the
    /// default lets nobody go but the one of [`always_eject_one`](Self::always_eject_one). The last usable
    /// instance is never ejected. Disabled and drained instances are not counted.
    ///
    /// # Errors
    /// [`ConfigError`] above 100.
    pub fn with_max_ejection_percent(mut self, percent: u32) -> Result<Self, ConfigError> {
        self.max_ejection_percent =
            ConfigError::check("outlier.max_ejection_percent", percent, 0..=100)?;
        Ok(self)
    }

    /// Lets one instance be ejected where the share allows none, from three instances up; default on.
    ///
    /// Without it, a crashed instance of a small service is asked first for each of its keys for as long as it is
    /// registered; where it owns more keys than the retry budget allows hops, some of their requests fail.
    #[must_use]
    pub fn with_always_eject_one(mut self, always: bool) -> Self {
        self.always_eject_one = always;
        self
    }

    /// Failures in a row that eject an instance; zero: never.
    #[must_use]
    pub fn consecutive_failures(&self) -> u32 {
        self.consecutive_failures
    }

    /// Length of the first ejection.
    #[must_use]
    pub fn base_ejection_time(&self) -> Duration {
        self.base_ejection_time
    }

    /// The longest ejection.
    #[must_use]
    pub fn max_ejection_time(&self) -> Duration {
        self.max_ejection_time
    }

    /// Share of the instances that may be ejected at one time, in per cent.
    #[must_use]
    pub fn max_ejection_percent(&self) -> u32 {
        self.max_ejection_percent
    }

    /// Whether one may be ejected where the share allows none.
    #[must_use]
    pub fn always_eject_one(&self) -> bool {
        self.always_eject_one
    }

    /// How many of `total` instances may be ejected at one time.
    #[must_use]
    pub fn allowed(&self, total: usize) -> usize {
        const SMALLEST_POOL_FOR_ONE: usize = 3;
        let share = total as u128 * u128::from(self.max_ejection_percent) / 100;
        let share = usize::try_from(share).unwrap_or(total);
        if share == 0 && self.always_eject_one && total >= SMALLEST_POOL_FOR_ONE {
            1
        } else {
            share
        }
    }
}

fn checked(field: &'static str, time: Duration) -> Result<Duration, ConfigError> {
    let range = Duration::from_millis(1)..=Duration::from_secs(3_600);
    ConfigError::check(field, time, range)
}
