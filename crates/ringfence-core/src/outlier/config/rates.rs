//! Settings of what is judged by the share of requests that fail.

use crate::ConfigError;

/// When an instance is ejected because its share of successes is far below that of the others.
///
/// Each [interval](super::OutlierConfig::interval), the success rates of the instances with enough requests are compared: whoever
/// is below `mean - stdev_factor / 1,000 × standard deviation` goes, as far as the limits allow. As in
/// [gRPC A50](https://github.com/grpc/proposal/blob/master/A50-xds-outlier-detection.md) and Envoy.
///
/// ```
/// use ringfence_core::{OutlierConfig, SuccessRateConfig};
///
/// let rate = SuccessRateConfig::default().with_request_volume(50)?;
/// let outlier = OutlierConfig::default().with_success_rate(rate);
/// assert_eq!(outlier.success_rate(), Some(&rate));
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SuccessRateConfig {
    stdev_factor: u32,
    sample: Sample,
}

/// When an instance is ejected because too many of its requests fail, whatever the others do.
///
/// Each [interval](super::OutlierConfig::interval), whoever had enough requests and `threshold` per cent of failures or more goes,
/// as far as the limits allow. As in [gRPC A50](https://github.com/grpc/proposal/blob/master/A50-xds-outlier-detection.md) and
/// Envoy.
///
/// ```
/// use ringfence_core::{FailurePercentageConfig, OutlierConfig};
///
/// let percentage = FailurePercentageConfig::default().with_threshold(60)?;
/// let outlier = OutlierConfig::default().with_failure_percentage(percentage);
/// assert_eq!(outlier.failure_percentage(), Some(&percentage));
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FailurePercentageConfig {
    threshold: u32,
    sample: Sample,
}

/// What both ask for before they judge, and how often they act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::outlier) struct Sample {
    pub(in crate::outlier) minimum_hosts: usize,
    pub(in crate::outlier) request_volume: u64,
    pub(in crate::outlier) enforcement_percentage: u32,
}

impl Sample {
    fn of_volume(request_volume: u64) -> Self {
        Self {
            minimum_hosts: 5,
            request_volume,
            enforcement_percentage: 100,
        }
    }
}

impl Default for SuccessRateConfig {
    fn default() -> Self {
        Self {
            stdev_factor: 1_900,
            sample: Sample::of_volume(100),
        }
    }
}

impl Default for FailurePercentageConfig {
    fn default() -> Self {
        Self {
            threshold: 85,
            sample: Sample::of_volume(50),
        }
    }
}

impl SuccessRateConfig {
    /// How many thousandths of the standard deviation below the mean are too far; default 1,900, range 0..=100,000.
    ///
    /// # Errors
    /// [`ConfigError`] above 100,000.
    pub fn with_stdev_factor(mut self, thousandths: u32) -> Result<Self, ConfigError> {
        self.stdev_factor =
            ConfigError::check("success_rate.stdev_factor", thousandths, 0..=100_000)?;
        Ok(self)
    }

    /// How many thousandths of the standard deviation below the mean are too far.
    #[must_use]
    pub fn stdev_factor(&self) -> u32 {
        self.stdev_factor
    }
}

impl FailurePercentageConfig {
    /// Share of failures that ejects, in per cent; default 85, range 1..=100.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_threshold(mut self, percent: u32) -> Result<Self, ConfigError> {
        self.threshold = ConfigError::check("failure_percentage.threshold", percent, 1..=100)?;
        Ok(self)
    }

    /// Share of failures that ejects, in per cent.
    #[must_use]
    pub fn threshold(&self) -> u32 {
        self.threshold
    }
}

/// The settings that both have.
macro_rules! sample_settings {
    ($config:ident, $name:literal, $volume:literal) => {
        impl $config {
            /// Nobody is judged while fewer instances than this had enough requests; default 5, range 1..=100,000.
            ///
            /// # Errors
            /// [`ConfigError`] out of the range.
            pub fn with_minimum_hosts(mut self, hosts: usize) -> Result<Self, ConfigError> {
                let field = concat!($name, ".minimum_hosts");
                self.sample.minimum_hosts = ConfigError::check(field, hosts, 1..=100_000)?;
                Ok(self)
            }

            /// Requests that an instance must have answered or failed in the interval to be judged;
            #[doc = concat!("default ", $volume, ", range 1..=1,000,000,000.")]
            ///
            /// # Errors
            /// [`ConfigError`] out of the range.
            pub fn with_request_volume(mut self, requests: u64) -> Result<Self, ConfigError> {
                let field = concat!($name, ".request_volume");
                self.sample.request_volume =
                    ConfigError::check(field, requests, 1..=1_000_000_000)?;
                Ok(self)
            }

            /// How many of those that are found are ejected, in per cent; default 100, range 0..=100. Zero only logs and
            /// counts them.
            ///
            /// # Errors
            /// [`ConfigError`] above 100.
            pub fn with_enforcement_percentage(
                mut self,
                percent: u32,
            ) -> Result<Self, ConfigError> {
                let field = concat!($name, ".enforcement_percentage");
                self.sample.enforcement_percentage = ConfigError::check(field, percent, 0..=100)?;
                Ok(self)
            }

            /// Instances that must have had enough requests before anybody is judged.
            #[must_use]
            pub fn minimum_hosts(&self) -> usize {
                self.sample.minimum_hosts
            }

            /// Requests that an instance must have had to be judged.
            #[must_use]
            pub fn request_volume(&self) -> u64 {
                self.sample.request_volume
            }

            /// How many of those that are found are ejected, in per cent.
            #[must_use]
            pub fn enforcement_percentage(&self) -> u32 {
                self.sample.enforcement_percentage
            }

            pub(in crate::outlier) fn sample(&self) -> Sample {
                self.sample
            }
        }
    };
}

sample_settings!(SuccessRateConfig, "success_rate", "100");
sample_settings!(FailurePercentageConfig, "failure_percentage", "50");
