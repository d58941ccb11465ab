//! A file of settings, as `BalancerConfig` and its parts have them.

mod tree;

use std::{io::Write, time::Duration};

use ringfence_balancer::{Balancer, BalancerConfig, ConcurrencyLimits};
use ringfence_core::{
    ConfigFinding, HealthCheckConfig, OutlierConfig, RetryBudgetConfig, RingConfig,
    SlowStartConfig, did_you_mean,
};
use ringfence_discovery::{StaticDiscovery, TcpProbe, WatchConfig};
use ringfence_policy::{RingAlgorithm, RingSettings};

use super::setting_list::SETTINGS;
use crate::{failure::Failure, output::Table};

/// What a file sets, over the defaults.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) config: BalancerConfig,
    pub(super) watch: WatchConfig,
    pub(super) outlier: OutlierConfig,
    pub(super) retry_budget: RetryBudgetConfig,
    pub(super) concurrency: ConcurrencyLimits,
    pub(super) slow_start: SlowStartConfig,
    pub(super) checks: HealthCheckConfig,
    /// Instances are checked at all.
    pub(super) has_checks: bool,
    /// Pairs that are set as one.
    pub(super) backoff: (Option<Duration>, Option<Duration>),
    pub(super) check_times: (Option<Duration>, Option<Duration>),
}

/// A setting that is unknown or has no legal value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: Option<u64>,
    pub(super) name: Option<String>,
    pub(super) reason: String,
}

/// Everything that is wrong with a text. Findings about settings that do not go together count only where each is legal.
pub(super) fn check(text: &str) -> (Vec<Fault>, Vec<ConfigFinding>) {
    let entries = match tree::entries(text) {
        Ok(entries) => entries,
        Err(fault) => return (vec![fault], Vec::new()),
    };
    let mut draft = Draft::default();
    let mut ring = RingSettings::default();
    let mut faults = Vec::new();
    // The algorithm says which settings of the ring there are.
    let (first, others): (Vec<_>, Vec<_>) = entries
        .iter()
        .partition(|entry| entry.name == "ring.algorithm");
    for entry in first.into_iter().chain(others) {
        let set = match entry.name.strip_prefix("ring.") {
            Some(name) => ring
                .set(name, &entry.value)
                .map_err(|error| error.reason().to_owned()),
            None => set(&mut draft, &entry.name, &entry.value),
        };
        faults.extend(set.err().map(|reason| Fault {
            line: Some(entry.line),
            name: Some(entry.name.clone()),
            reason,
        }));
    }
    let fault = |name: &str, reason: String| {
        let entry = entries.iter().find(|entry| entry.name.starts_with(name));
        Fault {
            line: entry.map(|entry| entry.line),
            name: Some(name.to_owned()),
            reason,
        }
    };
    match RingConfig::try_from(&ring) {
        Ok(ring) => draft.config = draft.config.with_ring(ring),
        Err(error) => faults.push(fault(
            &format!("ring.{}", error.path()),
            error.reason().to_owned(),
        )),
    }
    if let Err((name, reason)) = draft.set_pairs() {
        faults.push(fault(name, reason));
    }
    match faults.is_empty() {
        true => (faults, draft.findings()),
        false => (faults, Vec::new()),
    }
}

fn set(draft: &mut Draft, name: &str, value: &str) -> Result<(), String> {
    match SETTINGS.iter().find(|setting| setting.name == name) {
        Some(setting) => (setting.set)(draft, value),
        None => {
            let rings = ["ring.algorithm"];
            let known = SETTINGS.iter().map(|setting| setting.name).chain(rings);
            Err(format!(
                "there is no such setting{}",
                did_you_mean(name, known)
            ))
        }
    }
}

impl Draft {
    fn set_pairs(&mut self) -> Result<(), (&'static str, String)> {
        if let (base, max) = self.backoff
            && (base, max) != (None, None)
        {
            let base = base.unwrap_or(self.watch.backoff_base());
            let max = max.unwrap_or(self.watch.backoff_max());
            let set = self.watch.clone().with_backoff(base, max);
            self.watch = set.map_err(|error| ("watch.backoff_", error.to_string()))?;
        }
        if let (interval, timeout) = self.check_times
            && (interval, timeout) != (None, None)
        {
            let interval = interval.unwrap_or(self.checks.interval());
            let timeout = timeout.unwrap_or(self.checks.timeout());
            let set = self.checks.with_times(interval, timeout);
            self.checks = set.map_err(|error| ("health_check.", error.to_string()))?;
        }
        Ok(())
    }

    /// What a balancer of these settings would complain of.
    fn findings(self) -> Vec<ConfigFinding> {
        let config = self
            .config
            .with_watch(self.watch)
            .with_outlier(self.outlier)
            .with_retry_budget(self.retry_budget)
            .with_concurrency(self.concurrency)
            .with_slow_start(self.slow_start);
        let builder = Balancer::builder(StaticDiscovery::new(), "lint").with_config(config);
        match self.has_checks {
            // Which probe it is does not matter: nothing is built.
            true => builder.with_health_check(TcpProbe, self.checks).findings(),
            false => builder.findings(),
        }
    }
}

/// All settings with their values by default.
pub(super) fn list(out: &mut dyn Write) -> Result<(), Failure> {
    let mut table = Table::new(["setting", "default"]).with_left(2);
    let draft = Draft::default();
    for setting in SETTINGS {
        table.row([setting.name.to_owned(), (setting.get)(&draft)]);
    }
    let algorithms = RingAlgorithm::NAMES.join(", ");
    table.row([
        "ring.algorithm".to_owned(),
        format!("ring; there are {algorithms}"),
    ]);
    table.row([
        "ring.NAME".to_owned(),
        "as in the section `ring` of a policy".to_owned(),
    ]);
    table.write(out)?;
    Ok(())
}
