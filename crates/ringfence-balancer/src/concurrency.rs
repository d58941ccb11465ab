use std::time::Duration;

use crate::ConfigError;

/// How many requests this client may have in flight: on each instance, and to the service in all. Zero is no limit.
///
/// A request that is refused here has reached no instance, is told as [`PickError::Overloaded`](crate::PickError::Overloaded),
/// and says nothing about any instance.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use ringfence_balancer::ConcurrencyLimits;
///
/// let limits = ConcurrencyLimits::default()
///     .with_max_in_flight_per_instance(100)?
///     .with_max_in_flight(1_000)?
///     .with_max_queued(200)?
///     .with_queue_timeout(Duration::from_millis(250))?;
/// assert_eq!(limits.max_queued(), 200);
/// # Ok::<(), ringfence_balancer::ConfigError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConcurrencyLimits {
    max_in_flight_per_instance: u64,
    max_in_flight: usize,
    max_queued: usize,
    queue_timeout: Duration,
}

/// Below what a semaphore of tokio can count, on 32 bits too.
const MOST: usize = 100_000_000;

/// Below what a node can count.
const MOST_PER_INSTANCE: u64 = 1_000_000;

impl Default for ConcurrencyLimits {
    fn default() -> Self {
        Self {
            max_in_flight_per_instance: 0,
            max_in_flight: 0,
            max_queued: 0,
            queue_timeout: Duration::from_secs(1),
        }
    }
}

impl ConcurrencyLimits {
    /// Attempts in flight on one instance; default 0, any number; range 0..=1,000,000. An instance that has as many is passed
    /// by; a request for which all are full fails at once.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_max_in_flight_per_instance(mut self, requests: u64) -> Result<Self, ConfigError> {
        let field = "max_in_flight_per_instance";
        self.max_in_flight_per_instance =
            ConfigError::check(field, requests, 0..=MOST_PER_INSTANCE)?;
        Ok(self)
    }

    /// Calls in flight to the service, each from before its first attempt to the end of its response; default 0, any number;
    /// range 0..=100,000,000.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_max_in_flight(mut self, calls: usize) -> Result<Self, ConfigError> {
        self.max_in_flight = ConfigError::check("max_in_flight", calls, 0..=MOST)?;
        Ok(self)
    }

    /// Calls that may wait for one of the [`max_in_flight`](Self::max_in_flight) places; default 0, none: what is too much
    /// fails at once; range 0..=100,000,000.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_max_queued(mut self, calls: usize) -> Result<Self, ConfigError> {
        self.max_queued = ConfigError::check("max_queued", calls, 0..=MOST)?;
        Ok(self)
    }

    /// How long a call waits for a place, if its deadline is not earlier; default 1 s, range 1 ms..=1 h.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_queue_timeout(mut self, timeout: Duration) -> Result<Self, ConfigError> {
        let range = Duration::from_millis(1)..=Duration::from_secs(3_600);
        self.queue_timeout = ConfigError::check("queue_timeout", timeout, range)?;
        Ok(self)
    }

    /// Attempts in flight on one instance; 0: any number.
    #[must_use]
    pub fn max_in_flight_per_instance(&self) -> u64 {
        self.max_in_flight_per_instance
    }

    /// Calls in flight to the service; 0: any number.
    #[must_use]
    pub fn max_in_flight(&self) -> usize {
        self.max_in_flight
    }

    /// Calls that may wait.
    #[must_use]
    pub fn max_queued(&self) -> usize {
        self.max_queued
    }

    /// How long a call waits.
    #[must_use]
    pub fn queue_timeout(&self) -> Duration {
        self.queue_timeout
    }
}
