//! How an ejected instance comes back.

use std::time::Duration;

use super::{OutlierConfig, checked};
use crate::ConfigError;

impl OutlierConfig {
    /// Attempts that may run at a time on an instance that has just come back, until it has proven itself; default 1,
    /// range 0..=1,000. Zero gives it its full traffic at once.
    ///
    /// While they run, its other requests go to the next instance clockwise. A failure among them ejects it again, for longer.
    ///
    /// # Errors
    /// [`ConfigError`] above 1,000.
    pub fn with_trial_requests(mut self, requests: u32) -> Result<Self, ConfigError> {
        self.trial_requests = ConfigError::check("outlier.trial_requests", requests, 0..=1_000)?;
        Ok(self)
    }

    /// Successes that end the trial of an instance which came back; default 3, range 1..=1,000. It ends too when the
    /// [base time](Self::base_ejection_time) is over without a failure, for those that few ask or whose answers take long.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_trial_successes(mut self, successes: u32) -> Result<Self, ConfigError> {
        self.trial_successes = ConfigError::check("outlier.trial_successes", successes, 1..=1_000)?;
        Ok(self)
    }

    /// Pause between two probes of an ejected instance, where there is a probe; default 1 s, range 1 ms..=1 h. A fifth of
    /// it is jitter, up or down.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_probe_interval(mut self, interval: Duration) -> Result<Self, ConfigError> {
        self.probe_interval = checked("outlier.probe_interval", interval)?;
        Ok(self)
    }

    /// A probe that takes longer has failed; default 1 s, range 1 ms..=1 h.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_probe_timeout(mut self, timeout: Duration) -> Result<Self, ConfigError> {
        self.probe_timeout = checked("outlier.probe_timeout", timeout)?;
        Ok(self)
    }

    /// Attempts that may run at a time on an instance that has just come back; zero: any number.
    #[must_use]
    pub fn trial_requests(&self) -> u32 {
        self.trial_requests
    }

    /// Successes that end its trial.
    #[must_use]
    pub fn trial_successes(&self) -> u32 {
        self.trial_successes
    }

    /// Pause between two probes of an ejected instance.
    #[must_use]
    pub fn probe_interval(&self) -> Duration {
        self.probe_interval
    }

    /// The longest that a probe may take.
    #[must_use]
    pub fn probe_timeout(&self) -> Duration {
        self.probe_timeout
    }
}
