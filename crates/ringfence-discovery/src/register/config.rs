use std::time::Duration;

use crate::{ConfigError, config::checked};

/// How a [`Registration`](crate::Registration) keeps an instance registered. An adapter fills it from settings of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegisterConfig {
    heartbeat: Duration,
    call_timeout: Duration,
    backoff_base: Duration,
    backoff_max: Duration,
    remove_timeout: Duration,
    seed: Option<u64>,
}

impl Default for RegisterConfig {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(5),
            call_timeout: Duration::from_secs(5),
            backoff_base: Duration::from_millis(100),
            backoff_max: Duration::from_secs(5),
            remove_timeout: Duration::from_secs(10),
            seed: None,
        }
    }
}

impl RegisterConfig {
    /// Time between signs of life, each varied by up to 10 percent. A third of the time to live is usual. Default 5 s.
    #[must_use]
    pub fn heartbeat(&self) -> Duration {
        self.heartbeat
    }

    /// Sets the time between signs of life: 1 ms to 24 h.
    ///
    /// # Errors
    /// [`ConfigError`] when it is outside its range.
    pub fn with_heartbeat(mut self, heartbeat: Duration) -> Result<Self, ConfigError> {
        self.heartbeat = checked("heartbeat", heartbeat)?;
        Ok(self)
    }

    /// How long one call to the registry may take before it counts as failed. Default 5 s.
    #[must_use]
    pub fn call_timeout(&self) -> Duration {
        self.call_timeout
    }

    /// Sets the time limit of a call: 1 ms to 24 h.
    ///
    /// # Errors
    /// [`ConfigError`] when it is outside its range.
    pub fn with_call_timeout(mut self, timeout: Duration) -> Result<Self, ConfigError> {
        self.call_timeout = checked("call timeout", timeout)?;
        Ok(self)
    }

    /// Ceiling of the first wait after a failure; it doubles with each further failure, up to
    /// [`backoff_max`](Self::backoff_max). Every wait is drawn evenly from zero to the ceiling. Default 100 ms.
    #[must_use]
    pub fn backoff_base(&self) -> Duration {
        self.backoff_base
    }

    /// Largest ceiling of a wait. Default 5 s.
    #[must_use]
    pub fn backoff_max(&self) -> Duration {
        self.backoff_max
    }

    /// Sets the backoff: `base` from 1 ms, `max` from `base` to 24 h.
    ///
    /// # Errors
    /// [`ConfigError`] when one is outside its range.
    pub fn with_backoff(mut self, base: Duration, max: Duration) -> Result<Self, ConfigError> {
        self.backoff_base = checked("backoff base", base)?;
        self.backoff_max = checked("backoff max", max)?.max(base);
        Ok(self)
    }

    /// How long taking an instance out is tried when it is given up, before its removal is left to the registry's time to live.
    /// Default 10 s.
    #[must_use]
    pub fn remove_timeout(&self) -> Duration {
        self.remove_timeout
    }

    /// Sets how long taking an instance out is tried: 1 ms to 24 h.
    ///
    /// # Errors
    /// [`ConfigError`] when it is outside its range.
    pub fn with_remove_timeout(mut self, timeout: Duration) -> Result<Self, ConfigError> {
        self.remove_timeout = checked("remove timeout", timeout)?;
        Ok(self)
    }

    /// Seed of the jitter; `None` (default) draws one per registration.
    #[must_use]
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// Fixes the jitter, so that a test runs the same each time.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }
}
