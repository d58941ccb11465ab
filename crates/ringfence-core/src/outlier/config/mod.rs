//! Settings of outlier detection.

mod rates;
mod returning;

use std::time::Duration;

pub(super) use self::rates::Sample;
pub use self::rates::{FailurePercentageConfig, SuccessRateConfig};
use crate::ConfigError;

/// When an instance that fails is left out, for how long, and how it comes back.
///
/// Ejection never changes a ring: keys of the ejected instance go to the next instance clockwise,
/// nobody else's keys move, and they come home when the ejection ends.
///
/// Each of the four causes can be switched off by itself; the limits hold for all of them together.
///
/// ```
/// use std::time::Duration;
/// use ringfence_core::{FailurePercentageConfig, OutlierConfig};
///
/// let outlier = OutlierConfig::default()
///     .with_consecutive_failures(3)
///     .with_failure_percentage(FailurePercentageConfig::default())
///     .with_base_ejection_time(Duration::from_secs(10))?
///     .with_max_ejection_percent(50)?;
/// assert_eq!(outlier.consecutive_failures(), 3);
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OutlierConfig {
    consecutive_failures: u32,
    consecutive_connect_failures: u32,
    success_rate: Option<SuccessRateConfig>,
    failure_percentage: Option<FailurePercentageConfig>,
    interval: Duration,
    base_ejection_time: Duration,
    max_ejection_time: Duration,
    max_ejection_percent: u32,
    always_eject_one: bool,
    trial_requests: u32,
    trial_successes: u32,
    probe_interval: Duration,
    probe_timeout: Duration,
}

impl Default for OutlierConfig {
    fn default() -> Self {
        Self {
            consecutive_failures: 5,
            consecutive_connect_failures: 3,
            success_rate: None,
            failure_percentage: None,
            interval: Duration::from_secs(10),
            base_ejection_time: Duration::from_secs(30),
            max_ejection_time: Duration::from_secs(300),
            max_ejection_percent: 10,
            always_eject_one: true,
            trial_requests: 1,
            trial_successes: 3,
            probe_interval: Duration::from_secs(1),
            probe_timeout: Duration::from_secs(1),
        }
    }
}

impl OutlierConfig {
    /// With all causes off: nobody is ejected. A cause that is set afterwards is on.
    #[must_use]
    pub fn off() -> Self {
        Self {
            consecutive_failures: 0,
            consecutive_connect_failures: 0,
            success_rate: None,
            failure_percentage: None,
            ..Self::default()
        }
    }

    /// Failures of any kind without a success in between that eject an instance; default 5, any number. Zero switches
    /// this cause off. Failed connections count; what the caller gave up does not.
    #[must_use]
    pub fn with_consecutive_failures(mut self, failures: u32) -> Self {
        self.consecutive_failures = failures;
        self
    }

    /// Failed connections in a row that eject an instance; default 3, any number. Zero switches this cause off. A success and any
    /// answer, even one that says no, begin the count anew; timeouts and broken connections leave it as it is.
    #[must_use]
    pub fn with_consecutive_connect_failures(mut self, failures: u32) -> Self {
        self.consecutive_connect_failures = failures;
        self
    }

    /// Ejects instances whose share of successes is far below that of the others; off by default, and `None` switches it off.
    #[must_use]
    pub fn with_success_rate(mut self, config: impl Into<Option<SuccessRateConfig>>) -> Self {
        self.success_rate = config.into();
        self
    }

    /// Ejects instances of whose requests too many fail; off by default, and `None` switches it off.
    #[must_use]
    pub fn with_failure_percentage(
        mut self,
        config: impl Into<Option<FailurePercentageConfig>>,
    ) -> Self {
        self.failure_percentage = config.into();
        self
    }

    /// How often success rates and failure percentages are judged, each time by what ended since the time before;
    /// default 10 s, range 1 ms..=1 h.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_interval(mut self, interval: Duration) -> Result<Self, ConfigError> {
        self.interval = checked("outlier.interval", interval)?;
        Ok(self)
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

    /// No ejection lasts longer, unless a probe finds at its end that the instance still does not serve; default 300 s,
    /// range 1 ms..=1 h, and not below the base time.
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
    /// instance is never ejected, and one that is on trial does not count as usable. Disabled and drained instances are
    /// not counted.
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

    /// Whether any cause is on.
    #[must_use]
    pub fn ejects(&self) -> bool {
        self.consecutive_failures > 0
            || self.consecutive_connect_failures > 0
            || self.counts_rates()
    }

    /// Failures in a row that eject an instance; zero: never.
    #[must_use]
    pub fn consecutive_failures(&self) -> u32 {
        self.consecutive_failures
    }

    /// Failed connections in a row that eject an instance; zero: never.
    #[must_use]
    pub fn consecutive_connect_failures(&self) -> u32 {
        self.consecutive_connect_failures
    }

    /// When a low success rate ejects; `None`: never.
    #[must_use]
    pub fn success_rate(&self) -> Option<&SuccessRateConfig> {
        self.success_rate.as_ref()
    }

    /// When a high share of failures ejects; `None`: never.
    #[must_use]
    pub fn failure_percentage(&self) -> Option<&FailurePercentageConfig> {
        self.failure_percentage.as_ref()
    }

    /// Whether successes and failures of instances that serve have to be counted.
    #[must_use]
    pub fn counts_rates(&self) -> bool {
        self.success_rate.is_some() || self.failure_percentage.is_some()
    }

    /// How often success rates and failure percentages are judged.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.interval
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

    /// Successes between two steps of forgiveness that take one off the count of ejections.
    pub(super) fn proof(&self) -> u64 {
        match self.consecutive_failures {
            0 => u64::from(self.trial_successes),
            failures => u64::from(failures),
        }
    }
}

fn checked(field: &'static str, time: Duration) -> Result<Duration, ConfigError> {
    let range = Duration::from_millis(1)..=Duration::from_secs(3_600);
    ConfigError::check(field, time, range)
}
