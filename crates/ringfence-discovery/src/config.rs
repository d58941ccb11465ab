use std::time::Duration;

use ringfence_core::ConfigError;

#[cfg(feature = "disk")]
use crate::DiskSnapshots;

const MAX_DURATION: Duration = Duration::from_secs(24 * 60 * 60);
const MIN_DURATION: Duration = Duration::from_millis(1);

/// How a [`Supervisor`](crate::Supervisor) watches a service. The defaults are right for most programs.
///
/// What can be switched off is so by a setter called `without_…`, and its getter gives `None` then.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use ringfence_discovery::WatchConfig;
///
/// let config = WatchConfig::default()
///     .with_empty_hold(Duration::from_secs(20))?
///     .with_max_loss_percent(70)?;
/// assert_eq!(config.empty_hold(), Some(Duration::from_secs(20)));
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchConfig {
    backoff_base: Duration,
    backoff_max: Duration,
    resync_interval: Option<Duration>,
    resync_jitter_percent: u8,
    fetch_timeout: Duration,
    stale_after: Option<Duration>,
    empty_hold: Option<Duration>,
    max_loss_percent: Option<u8>,
    seed: Option<u64>,
    #[cfg(feature = "disk")]
    disk_snapshots: Option<DiskSnapshots>,
}

impl Default for WatchConfig {
    fn default() -> Self {
        Self {
            backoff_base: Duration::from_millis(100),
            backoff_max: Duration::from_secs(3),
            resync_interval: Some(Duration::from_secs(300)),
            resync_jitter_percent: 20,
            fetch_timeout: Duration::from_secs(5),
            stale_after: Some(Duration::from_secs(30)),
            empty_hold: Some(Duration::from_secs(10)),
            max_loss_percent: Some(50),
            seed: None,
            #[cfg(feature = "disk")]
            disk_snapshots: None,
        }
    }
}

impl WatchConfig {
    /// Ceiling of the first wait after a failure; it doubles with each further failure, up to
    /// [`backoff_max`](Self::backoff_max). Every wait, the first included, is drawn evenly from zero to the ceiling.
    /// Default 100 ms.
    #[must_use]
    pub fn backoff_base(&self) -> Duration {
        self.backoff_base
    }

    /// Largest ceiling of a wait. Default 3 s, so that a registry that comes back after any time is followed again within five
    /// seconds; where thousands of clients share a small registry, a larger one spares it.
    #[must_use]
    pub fn backoff_max(&self) -> Duration {
        self.backoff_max
    }

    /// Sets the backoff: `base` in 1 ms..=`max`, `max` in 1 ms..=24 h.
    ///
    /// # Errors
    /// [`ConfigError`] when one is outside its range.
    pub fn with_backoff(mut self, base: Duration, max: Duration) -> Result<Self, ConfigError> {
        self.backoff_max = checked("backoff_max", max)?;
        self.backoff_base = ConfigError::check("backoff_base", base, MIN_DURATION..=max)?;
        Ok(self)
    }

    /// Time between full reads of the registry beside the watch, as a net under watches that are silently dead. `None`: no
    /// such reads. Default 5 min. Any successful read starts the interval anew.
    #[must_use]
    pub fn resync_interval(&self) -> Option<Duration> {
        self.resync_interval
    }

    /// By how many percent of itself the interval varies, either way. Default 20.
    #[must_use]
    pub fn resync_jitter_percent(&self) -> u8 {
        self.resync_jitter_percent
    }

    /// Sets the resync: `interval` in 1 ms..=24 h, `jitter_percent` in 0..=90.
    ///
    /// # Errors
    /// [`ConfigError`] when one is outside its range.
    pub fn with_resync(
        mut self,
        interval: Duration,
        jitter_percent: u8,
    ) -> Result<Self, ConfigError> {
        self.resync_interval = Some(checked("resync_interval", interval)?);
        self.resync_jitter_percent =
            ConfigError::check("resync_jitter_percent", jitter_percent, 0..=90)?;
        Ok(self)
    }

    /// Switches the periodic full reads off. Reads that confirm a hold or probe a silent registry go on.
    #[must_use]
    pub fn without_resync(mut self) -> Self {
        self.resync_interval = None;
        self
    }

    /// How long one read may take before it counts as failed. Default 5 s.
    #[must_use]
    pub fn fetch_timeout(&self) -> Duration {
        self.fetch_timeout
    }

    /// Sets the time limit of a read; range 1 ms..=24 h.
    ///
    /// # Errors
    /// [`ConfigError`] when it is outside its range.
    pub fn with_fetch_timeout(mut self, timeout: Duration) -> Result<Self, ConfigError> {
        self.fetch_timeout = checked("fetch_timeout", timeout)?;
        Ok(self)
    }

    /// Time without contact after which the data counts as stale; it stays in use. `None`: never. Default 30 s.
    ///
    /// Contact is an update from the watch, changed or not, or a successful read. A watch that is open and says nothing is no
    /// contact; a registry that is silent for half to three quarters of this time is therefore asked by a read, so that one
    /// that is merely quiet does not become stale.
    #[must_use]
    pub fn stale_after(&self) -> Option<Duration> {
        self.stale_after
    }

    /// Sets the time without contact after which data is stale; range 1 ms..=24 h.
    ///
    /// # Errors
    /// [`ConfigError`] when it is outside its range.
    pub fn with_stale_after(mut self, after: Duration) -> Result<Self, ConfigError> {
        self.stale_after = Some(checked("stale_after", after)?);
        Ok(self)
    }

    /// Data read live never counts as stale, and a silent registry is not asked.
    #[must_use]
    pub fn without_staleness(mut self) -> Self {
        self.stale_after = None;
        self
    }

    /// How long a suspicious state (no instances, no such service, or a loss above
    /// [`max_loss_percent`](Self::max_loss_percent)) is held back before a fresh reading of the same kind is believed. `None`:
    /// everything is believed at once. Default 10 s.
    #[must_use]
    pub fn empty_hold(&self) -> Option<Duration> {
        self.empty_hold
    }

    /// Sets the hold; range 1 ms..=24 h.
    ///
    /// # Errors
    /// [`ConfigError`] when it is outside its range.
    pub fn with_empty_hold(mut self, hold: Duration) -> Result<Self, ConfigError> {
        self.empty_hold = Some(checked("empty_hold", hold)?);
        Ok(self)
    }

    /// Believes every state at once, also an empty one.
    #[must_use]
    pub fn without_hold(mut self) -> Self {
        self.empty_hold = None;
        self
    }

    /// By how many percent the number of instances may fall in one step before the new state is held. `None`: only losing all
    /// is held. Default 50.
    ///
    /// Ids that went are set off against ids that came: a deployment that replaces every instance by another is no loss.
    #[must_use]
    pub fn max_loss_percent(&self) -> Option<u8> {
        self.max_loss_percent
    }

    /// Sets the largest loss that is believed at once, in percent; range 1..=99.
    ///
    /// # Errors
    /// [`ConfigError`] when it is outside its range.
    pub fn with_max_loss_percent(mut self, percent: u8) -> Result<Self, ConfigError> {
        self.max_loss_percent = Some(ConfigError::check("max_loss_percent", percent, 1..=99)?);
        Ok(self)
    }

    /// Holds only the loss of all instances.
    #[must_use]
    pub fn without_max_loss(mut self) -> Self {
        self.max_loss_percent = None;
        self
    }

    /// Uses the copy on disk at a start as soon as it is read, without waiting for the registry first
    /// (`DiskSnapshots::use_after` of zero).
    ///
    /// # Errors
    /// [`ConfigError`] where no copies are kept on disk.
    #[cfg_attr(
        not(feature = "disk"),
        expect(unused_mut, reason = "nothing to change")
    )]
    pub fn with_copy_at_once(mut self) -> Result<Self, ConfigError> {
        #[cfg(feature = "disk")]
        if let Some(copies) = self.disk_snapshots.take() {
            self.disk_snapshots = Some(copies.with_use_after(Duration::ZERO)?);
            return Ok(self);
        }
        let value = "none".to_owned();
        Err(ConfigError::refused(
            "disk_snapshots",
            value,
            "a folder for copies, to use them at a start",
        ))
    }

    /// Seed of the jitter; `None` (default) draws one per supervisor.
    #[must_use]
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// Fixes the jitter, so that a test or a simulation runs the same each time. Give each process its own in production.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Where copies of the service are kept on disk for starts while the registry is away. `None` (default): nowhere.
    #[cfg(feature = "disk")]
    #[must_use]
    pub fn disk_snapshots(&self) -> Option<&DiskSnapshots> {
        self.disk_snapshots.as_ref()
    }

    /// Keeps copies of the service on disk and uses them at a start while the registry is away.
    #[cfg(feature = "disk")]
    #[must_use]
    pub fn with_disk_snapshots(mut self, snapshots: DiskSnapshots) -> Self {
        self.disk_snapshots = Some(snapshots);
        self
    }
}

pub(crate) fn checked(field: &'static str, value: Duration) -> Result<Duration, ConfigError> {
    ConfigError::check(field, value, MIN_DURATION..=MAX_DURATION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_checked_at_their_ends() {
        let config = WatchConfig::default;
        let (ms, day) = (Duration::from_millis(1), Duration::from_secs(86_400));
        assert!(config().with_backoff(ms, ms).is_ok());
        assert!(config().with_backoff(ms * 2, ms).is_err());
        assert!(config().with_backoff(Duration::ZERO, ms).is_err());
        assert!(config().with_resync(day, 90).is_ok());
        assert!(config().with_resync(day + ms, 0).is_err());
        assert!(config().with_resync(day, 91).is_err());
        assert!(config().with_fetch_timeout(Duration::ZERO).is_err());
        assert!(config().with_stale_after(Duration::ZERO).is_err());
        assert!(config().with_empty_hold(Duration::MAX).is_err());
        assert!(config().with_max_loss_percent(0).is_err());
        let error = config().with_max_loss_percent(100).expect_err("100");
        assert_eq!(
            error.to_string(),
            "max_loss_percent is 100, allowed is 1..=99"
        );
    }
}
