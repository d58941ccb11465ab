use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use ringfence_balancer::{Balancer, BalancerConfig, ConcurrencyLimits, StartPolicy};
use ringfence_core::{
    ConfigError, ConfigFinding, FailurePercentageConfig, FlapDampingConfig, HealthCheckConfig,
    HotKeysConfig, OutlierConfig, RetryBudgetConfig, RingConfig, SlowStartConfig,
    SuccessRateConfig,
};
use ringfence_discovery::{DiskSnapshots, StaticDiscovery, TcpProbe, WatchConfig};

use super::super::values::switch;

/// Two values that are set as one, as far as a file has them.
type Pair<A, B> = (Option<A>, Option<B>);

/// How the names of settings begin that do not fit, and why.
pub(super) type Misfit = (&'static str, String);

/// Sections that can be switched.
pub(super) const FAILURE_PERCENTAGE: &str = "outlier.failure_percentage";
pub(super) const FLAP_DAMPING: &str = "flap_damping";
pub(super) const HEALTH_CHECK: &str = "health_check";
pub(super) const HOT_KEYS: &str = "hot_keys";
pub(super) const SUCCESS_RATE: &str = "outlier.success_rate";

/// What a whole file comes to.
#[derive(Clone, Debug)]
pub(super) struct Finished {
    config: BalancerConfig,
    checks: Option<HealthCheckConfig>,
}

/// What a file sets, over the defaults.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) config: BalancerConfig,
    pub(super) watch: WatchConfig,
    pub(super) copies: DiskSnapshots,
    pub(super) copies_dir: Option<PathBuf>,
    pub(super) outlier: OutlierConfig,
    pub(super) success_rate: SuccessRateConfig,
    pub(super) failure_percentage: FailurePercentageConfig,
    pub(super) damping: FlapDampingConfig,
    pub(super) retry_budget: RetryBudgetConfig,
    pub(super) concurrency: ConcurrencyLimits,
    pub(super) slow_start: SlowStartConfig,
    pub(super) hot_keys: HotKeysConfig,
    pub(super) checks: HealthCheckConfig,
    pub(super) backoff: Pair<Duration, Duration>,
    pub(super) resync: Pair<Duration, u8>,
    pub(super) thresholds: Pair<u32, u32>,
    pub(super) check_times: Pair<Duration, Duration>,
    /// Sections that a file switches.
    switched: BTreeMap<&'static str, bool>,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            config: BalancerConfig::default(),
            watch: WatchConfig::default(),
            copies: DiskSnapshots::new(""),
            copies_dir: None,
            outlier: OutlierConfig::default(),
            success_rate: SuccessRateConfig::default(),
            failure_percentage: FailurePercentageConfig::default(),
            damping: FlapDampingConfig::default(),
            retry_budget: RetryBudgetConfig::default(),
            concurrency: ConcurrencyLimits::default(),
            slow_start: SlowStartConfig::default(),
            hot_keys: HotKeysConfig::default(),
            checks: HealthCheckConfig::default(),
            backoff: (None, None),
            resync: (None, None),
            thresholds: (None, None),
            check_times: (None, None),
            switched: BTreeMap::new(),
        }
    }
}

impl Draft {
    /// Switches a section by a text.
    pub(super) fn switch(&mut self, section: &'static str, text: &str) -> Result<(), String> {
        self.switched.insert(section, switch(text)?);
        Ok(())
    }

    /// A setting of the section is there, which is on with it.
    pub(super) fn touch(&mut self, section: &'static str) -> Result<(), String> {
        match self.switched.entry(section).or_insert(true) {
            true => Ok(()),
            false => Err(format!("{section} is off, so that this has no effect")),
        }
    }

    pub(super) fn is_on(&self, section: &str) -> bool {
        let by_default = match section {
            FLAP_DAMPING => self.config.flap_damping().is_some(),
            HOT_KEYS => self.config.hot_keys().is_some(),
            SUCCESS_RATE => self.outlier.success_rate().is_some(),
            FAILURE_PERCENTAGE => self.outlier.failure_percentage().is_some(),
            _ => false,
        };
        self.switched.get(section).copied().unwrap_or(by_default)
    }

    /// The settings of a balancer, and of its checks where there are any.
    ///
    /// # Errors
    /// What does not fit, each with how the names of its settings begin.
    pub(super) fn finish(mut self, ring: RingConfig) -> Result<Finished, Vec<Misfit>> {
        let mut faults = Vec::new();
        let mut take = |section, fault: ConfigError| faults.push((section, fault.to_string()));
        match self.paired_watch() {
            Ok(watch) => self.watch = watch,
            Err((section, fault)) => take(section, fault),
        }
        let (suppress, reuse) = self.thresholds;
        let suppress = suppress.unwrap_or(self.damping.suppress());
        let reuse = reuse.unwrap_or(self.damping.reuse());
        match self.damping.with_thresholds(suppress, reuse) {
            Ok(damping) => self.damping = damping,
            Err(fault) => take("flap_damping.", fault),
        }
        let (interval, timeout) = self.check_times;
        let interval = interval.unwrap_or(self.checks.interval());
        let timeout = timeout.unwrap_or(self.checks.timeout());
        match self.checks.with_times(interval, timeout) {
            Ok(checks) => self.checks = checks,
            Err(fault) => take("health_check.", fault),
        }
        if self.config.start_policy() == StartPolicy::UseDiskSnapshot
            && let Err(fault) = self.watch.clone().with_copy_at_once()
        {
            take("start_policy", fault);
        }
        match faults.is_empty() {
            true => Ok(self.together(ring)),
            false => Err(faults),
        }
    }

    /// With the pairs and the copies of this draft.
    fn paired_watch(&self) -> Result<WatchConfig, (&'static str, ConfigError)> {
        let (base, max) = self.backoff;
        let base = base.unwrap_or(self.watch.backoff_base());
        let max = max.unwrap_or(self.watch.backoff_max());
        let watch = self.watch.clone().with_backoff(base, max);
        let mut watch = watch.map_err(|fault| ("watch.backoff_", fault))?;
        let (interval, jitter) = self.resync;
        let jitter = jitter.unwrap_or(watch.resync_jitter_percent());
        // The jitter of a resync that is off is checked all the same.
        let any = Duration::from_secs(1);
        let given = interval.or(watch.resync_interval());
        let set = watch.with_resync(given.unwrap_or(any), jitter);
        watch = set.map_err(|fault| ("watch.resync_", fault))?;
        if given.is_none() {
            watch = watch.without_resync();
        }
        let (max_age, use_after) = (self.copies.max_age(), self.copies.use_after());
        if let Some(dir) = &self.copies_dir {
            let copies = DiskSnapshots::new(dir).with_max_age(max_age);
            let copies = copies.and_then(|copies| copies.with_use_after(use_after));
            let copies = copies.map_err(|fault| ("watch.disk_snapshots.", fault))?;
            return Ok(watch.with_disk_snapshots(copies));
        }
        match self.copies == DiskSnapshots::new("") {
            true => Ok(watch),
            false => {
                let name = "watch.disk_snapshots.dir";
                let fault =
                    ConfigError::refused(name, "none".to_owned(), "a folder for the copies");
                Err(("watch.disk_snapshots.", fault))
            }
        }
    }

    fn together(self, ring: RingConfig) -> Finished {
        let is_on = |section| self.is_on(section);
        let mut outlier = self.outlier;
        outlier = outlier.with_success_rate(is_on(SUCCESS_RATE).then_some(self.success_rate));
        outlier = outlier
            .with_failure_percentage(is_on(FAILURE_PERCENTAGE).then_some(self.failure_percentage));
        let config = self.config.clone().with_ring(ring);
        let config = config
            .with_watch(self.watch.clone())
            .with_outlier(outlier)
            .with_retry_budget(self.retry_budget)
            .with_concurrency(self.concurrency)
            .with_slow_start(self.slow_start);
        let config = match is_on(FLAP_DAMPING) {
            true => config.with_flap_damping(self.damping),
            false => config.without_flap_damping(),
        };
        let config = match is_on(HOT_KEYS) {
            true => config.with_hot_keys(self.hot_keys),
            false => config.without_hot_keys(),
        };
        Finished {
            config,
            checks: is_on(HEALTH_CHECK).then_some(self.checks),
        }
    }
}

impl Finished {
    /// What a balancer of these settings would complain of.
    pub(super) fn findings(self) -> Vec<ConfigFinding> {
        let builder = Balancer::builder(StaticDiscovery::new(), "lint").with_config(self.config);
        match self.checks {
            // Which probe it is does not matter: nothing is built.
            Some(checks) => builder.with_health_check(TcpProbe, checks).findings(),
            None => builder.findings(),
        }
    }
}
