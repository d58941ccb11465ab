//! Settings on load.

use ringfence_core::{HashBalanceFactor, LoadLimits, SlowStartConfig};

use super::BalancerConfig;
use crate::{ConcurrencyLimits, ConfigError};

impl BalancerConfig {
    /// Bounded load, in per cent: an instance takes a request with a key only while it has, with this request, no more in flight
    /// than this times its share (by weight) of all that is in flight in the pool; else the first instance clockwise that has
    /// room takes it. Default 0, which is off; range 0 or 101..=100,000, where 125 is usual. See [`HashBalanceFactor`].
    ///
    /// It spreads a key that is asked for far more often than others over as many instances as it needs. What is in flight is
    /// what this client has in flight: each client spreads its own requests. It takes a sum over all usable instances of the
    /// pool, unless the owner is idle. [`Balancer::owners`](crate::Balancer::owners) and explanations do not look at loads.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_hash_balance_factor(mut self, percent: u32) -> Result<Self, ConfigError> {
        self.hash_balance_factor = match percent {
            0 => None,
            percent => Some(HashBalanceFactor::new(percent)?),
        };
        Ok(self)
    }

    /// How many requests may be in flight, on each instance and in all; by default any number.
    #[must_use]
    pub fn with_concurrency(mut self, limits: ConcurrencyLimits) -> Self {
        self.concurrency = limits;
        self
    }

    /// How the weight of a new instance grows; by default it has all of it at once. Those that are there when the program starts
    /// are not new, and neither is one that was away for at most 30 s: that one goes on where it was.
    ///
    /// Its points on the ring are added in at most ten steps, and move keys to it alone. Clients that learn of it at different
    /// times have different rings until the window is over, and so different owners for the keys that it is to get. What the
    /// registry said of its weight stays in the view's snapshot; its weight on the ring is
    /// [`Snapshot::ring_weight`](ringfence_core::Snapshot::ring_weight).
    #[must_use]
    pub fn with_slow_start(mut self, slow_start: SlowStartConfig) -> Self {
        self.slow_start = slow_start;
        self
    }

    /// How much more than its share an instance may carry; `None`: any load.
    #[must_use]
    pub fn hash_balance_factor(&self) -> Option<HashBalanceFactor> {
        self.hash_balance_factor
    }

    /// How the weight of a new instance grows.
    #[must_use]
    pub fn slow_start(&self) -> &SlowStartConfig {
        &self.slow_start
    }

    /// How many requests may be in flight.
    #[must_use]
    pub fn concurrency(&self) -> &ConcurrencyLimits {
        &self.concurrency
    }

    /// What decides who takes a request.
    pub(crate) fn load_limits(&self) -> LoadLimits {
        LoadLimits::default()
            .with_balance_factor(self.hash_balance_factor)
            .with_most(self.concurrency.max_in_flight_per_instance())
    }
}
