//! Settings of a balancer.

mod health;
mod load;
mod movement;
mod telemetry;

use std::time::Duration;

use ringfence_core::{
    HashBalanceFactor, HotKeysConfig, RingConfig, SlowStartConfig, TagRouting, ViewConfig,
};
use ringfence_discovery::WatchConfig;

use crate::{
    ConcurrencyLimits, ConfigError, FlapDampingConfig, MAX_CANDIDATES, MissingKey, OutlierConfig,
    RetryBudgetConfig, StartPolicy,
};

/// Settings of a [`Balancer`](crate::Balancer).
///
/// A number or a waiting time of zero switches off what it limits, where its setter says so; other things that can be done without
/// have a setter called `without_…`.
///
/// ```
/// use ringfence_balancer::{BalancerConfig, MissingKey};
///
/// let config = BalancerConfig::default()
///     .with_missing_key(MissingKey::Reject)
///     .with_max_attempts(2)?;
/// assert_eq!(config.max_attempts(), 2);
/// # Ok::<(), ringfence_balancer::ConfigError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BalancerConfig {
    view: ViewConfig,
    watch: WatchConfig,
    outlier: OutlierConfig,
    flap_damping: Option<FlapDampingConfig>,
    start_policy: StartPolicy,
    retry_budget: RetryBudgetConfig,
    missing_key: MissingKey,
    hash_balance_factor: Option<HashBalanceFactor>,
    concurrency: ConcurrencyLimits,
    slow_start: SlowStartConfig,
    movement_window: Duration,
    hot_keys: Option<HotKeysConfig>,
    update_merge_window: Duration,
    max_merge_delay: Duration,
    ready_timeout: Duration,
    max_attempts: usize,
    max_key_len: usize,
    max_pools: usize,
}

impl Default for BalancerConfig {
    fn default() -> Self {
        Self {
            view: ViewConfig::default(),
            watch: WatchConfig::default(),
            outlier: OutlierConfig::default(),
            flap_damping: None,
            start_policy: StartPolicy::default(),
            retry_budget: RetryBudgetConfig::default(),
            missing_key: MissingKey::default(),
            hash_balance_factor: None,
            concurrency: ConcurrencyLimits::default(),
            slow_start: SlowStartConfig::default(),
            movement_window: Duration::ZERO,
            hot_keys: Some(HotKeysConfig::default()),
            update_merge_window: Duration::from_millis(200),
            max_merge_delay: Duration::from_secs(2),
            ready_timeout: Duration::from_secs(5),
            max_attempts: 3,
            max_key_len: 1_024,
            max_pools: 1_024,
        }
    }
}

impl BalancerConfig {
    /// Algorithm, points, seed and size limit of the rings; every client of a service must use the same. A policy that has a section
    /// `ring` takes their place while it is in force.
    #[must_use]
    pub fn with_ring(mut self, ring: RingConfig) -> Self {
        self.view = self.view.with_ring(ring);
        self
    }

    /// How the tags of a request become pools.
    #[must_use]
    pub fn with_routing(mut self, routing: TagRouting) -> Self {
        self.view = self.view.with_routing(routing);
        self
    }

    /// Backoff, resync, staleness and the hold of suspicious snapshots.
    #[must_use]
    pub fn with_watch(mut self, watch: WatchConfig) -> Self {
        self.watch = watch;
        self
    }

    /// What requests get before the registry's first answer; default [`StartPolicy::Wait`].
    #[must_use]
    pub fn with_start_policy(mut self, policy: StartPolicy) -> Self {
        self.start_policy = policy;
        self
    }

    /// Hops allowed in relation to requests.
    #[must_use]
    pub fn with_retry_budget(mut self, budget: RetryBudgetConfig) -> Self {
        self.retry_budget = budget;
        self
    }

    /// What happens with a request without a key; default [`MissingKey::P2c`].
    #[must_use]
    pub fn with_missing_key(mut self, missing_key: MissingKey) -> Self {
        self.missing_key = missing_key;
        self
    }

    /// Additions, weight and tag changes are applied when nothing new came for this long; default
    /// 200 ms, range 0..=60 s. Zero applies each snapshot at once. The first snapshot, removals,
    /// drains, health changes and the first usable instance never wait.
    ///
    /// Envoy's knob of this name merges health, weight and metadata changes but not membership;
    /// this one merges additions too.
    ///
    /// # Errors
    /// [`ConfigError`] above 60 s.
    pub fn with_update_merge_window(mut self, window: Duration) -> Result<Self, ConfigError> {
        self.update_merge_window = at_most_a_minute("update_merge_window", window)?;
        Ok(self)
    }

    /// The longest that [`update_merge_window`](Self::update_merge_window) may hold a change back;
    /// default 2 s, range 0..=60 s.
    ///
    /// # Errors
    /// [`ConfigError`] above 60 s.
    pub fn with_max_merge_delay(mut self, delay: Duration) -> Result<Self, ConfigError> {
        self.max_merge_delay = at_most_a_minute("max_merge_delay", delay)?;
        Ok(self)
    }

    /// How long [`Balancer::ready`](crate::Balancer::ready) waits for the first view; default 5 s,
    /// range 0..=24 h. Zero does not wait.
    ///
    /// # Errors
    /// [`ConfigError`] above 24 h.
    pub fn with_ready_timeout(mut self, timeout: Duration) -> Result<Self, ConfigError> {
        let range = Duration::ZERO..=Duration::from_secs(24 * 60 * 60);
        self.ready_timeout = ConfigError::check("ready_timeout", timeout, range)?;
        Ok(self)
    }

    /// Candidates of a decision, the first one included; default 3, range 1..=8.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_max_attempts(mut self, attempts: usize) -> Result<Self, ConfigError> {
        self.max_attempts = ConfigError::check("max_attempts", attempts, 1..=MAX_CANDIDATES)?;
        Ok(self)
    }

    /// Longer keys count as absent and are counted; in bytes, default 1,024, range 1..=1,048,576.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_max_key_len(mut self, bytes: usize) -> Result<Self, ConfigError> {
        self.max_key_len = ConfigError::check("max_key_len", bytes, 1..=1_048_576)?;
        Ok(self)
    }

    /// How many different request tags have their pools prepared; default 1,024, range 1..=65,536.
    /// Beyond it the least recently used go; requests with such tags are served all the same,
    /// slower. The pools of requests without tags, one for each plan of a policy, are always there
    /// and do not count.
    ///
    /// # Errors
    /// [`ConfigError`] out of the range.
    pub fn with_max_pools(mut self, pools: usize) -> Result<Self, ConfigError> {
        self.max_pools = ConfigError::check("max_pools", pools, 1..=65_536)?;
        Ok(self)
    }

    /// Points, seed and size limit of the rings.
    #[must_use]
    pub fn ring(&self) -> &RingConfig {
        self.view.ring()
    }

    /// How the tags of a request become pools.
    pub fn routing(&self) -> &TagRouting {
        self.view.routing()
    }

    /// Backoff, resync, staleness and the hold of suspicious snapshots.
    #[must_use]
    pub fn watch(&self) -> &WatchConfig {
        &self.watch
    }

    /// What requests get before the registry's first answer.
    #[must_use]
    pub fn start_policy(&self) -> StartPolicy {
        self.start_policy
    }

    /// Hops allowed in relation to requests.
    #[must_use]
    pub fn retry_budget(&self) -> &RetryBudgetConfig {
        &self.retry_budget
    }

    /// What happens with a request without a key.
    #[must_use]
    pub fn missing_key(&self) -> MissingKey {
        self.missing_key
    }

    /// How long a change that may wait does wait.
    #[must_use]
    pub fn update_merge_window(&self) -> Duration {
        self.update_merge_window
    }

    /// The longest that a change is held back.
    #[must_use]
    pub fn max_merge_delay(&self) -> Duration {
        self.max_merge_delay
    }

    /// How long callers wait for the first view.
    #[must_use]
    pub fn ready_timeout(&self) -> Duration {
        self.ready_timeout
    }

    /// Candidates of a decision, the first one included.
    #[must_use]
    pub fn max_attempts(&self) -> usize {
        self.max_attempts
    }

    /// The longest key, in bytes.
    #[must_use]
    pub fn max_key_len(&self) -> usize {
        self.max_key_len
    }

    /// How many different request tags have their pools prepared.
    #[must_use]
    pub fn max_pools(&self) -> usize {
        self.max_pools
    }

    /// What decides a view.
    pub(crate) fn view(&self) -> &ViewConfig {
        &self.view
    }
}

fn at_most_a_minute(field: &'static str, time: Duration) -> Result<Duration, ConfigError> {
    ConfigError::check(field, time, Duration::ZERO..=Duration::from_secs(60))
}
