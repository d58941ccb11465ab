//! Settings of a balancer that do not go together.

use std::time::Duration;

use ringfence_core::{ConfigFinding, FindingRule, HashAlgorithm, RingConfig, Severity};

use crate::{BalancerBuilder, BalancerConfig, HealthCheckConfig};

/// What is looked for; each has a section in the guide.
pub(crate) const RULES: &[FindingRule<BalancerConfig>] = &[
    FindingRule {
        code: "RF-C104",
        severity: Severity::Warning,
        check: |config| {
            let (delay, base) = (
                config.max_merge_delay(),
                config.outlier().base_ejection_time(),
            );
            let ejects = config.outlier().ejects();
            (ejects && delay > base).then(|| {
                format!(
                    "max_merge_delay ({delay:?}) is longer than outlier.base_ejection_time ({base:?}): an instance that was \
                     ejected is back before one that was added in its place is used"
                )
            })
        },
    },
    FindingRule {
        code: "RF-C106",
        severity: Severity::Error,
        check: |config| {
            let (base, max) = (
                config.outlier().base_ejection_time(),
                config.outlier().max_ejection_time(),
            );
            (base > max).then(|| {
                format!(
                    "outlier.base_ejection_time ({base:?}) is longer than outlier.max_ejection_time ({max:?})"
                )
            })
        },
    },
    FindingRule {
        code: "RF-C107",
        severity: Severity::Warning,
        check: |config| {
            let (window, max) = (config.update_merge_window(), config.max_merge_delay());
            (window > max).then(|| {
                format!(
                    "update_merge_window ({window:?}) is longer than max_merge_delay ({max:?}), which ends every wait before it"
                )
            })
        },
    },
    FindingRule {
        code: "RF-C108",
        severity: Severity::Warning,
        check: |config| {
            let budget = config.retry_budget();
            let is_empty = budget.percent() == 0 && budget.min_per_second() == 0;
            (is_empty && config.max_attempts() > 1).then(|| {
                format!(
                    "max_attempts is {}, and retry_budget allows no hop but after a refused connection",
                    config.max_attempts()
                )
            })
        },
    },
    FindingRule {
        code: "RF-C109",
        severity: Severity::Warning,
        check: |config| {
            let outlier = config.outlier();
            let ejects = outlier.ejects();
            (ejects && config.panic_threshold() == 0 && outlier.max_ejection_percent() == 100).then(
                || {
                    "outlier.max_ejection_percent is 100 and panic_threshold is 0: one instance may be left with the load \
                     of all"
                        .to_owned()
                },
            )
        },
    },
    FindingRule {
        code: "RF-C110",
        severity: Severity::Warning,
        check: |config| {
            let (backoff, stale) = (config.watch().backoff_max(), config.watch().stale_after()?);
            (backoff >= stale).then(|| {
                format!(
                    "watch.backoff_max ({backoff:?}) is not shorter than watch.stale_after ({stale:?}): data counts as stale \
                     while a registry that is back is not asked yet"
                )
            })
        },
    },
    FindingRule {
        code: "RF-C111",
        severity: Severity::Warning,
        check: |config| {
            let (fetch, stale) = (
                config.watch().fetch_timeout(),
                config.watch().stale_after()?,
            );
            (fetch >= stale / 4).then(|| {
                format!(
                    "watch.fetch_timeout ({fetch:?}) is not shorter than a quarter of watch.stale_after ({stale:?}), which is \
                     what is left for the read that asks a silent registry"
                )
            })
        },
    },
    FindingRule {
        code: "RF-C112",
        severity: Severity::Warning,
        check: |config| {
            let (interval, fetch) = (
                config.watch().resync_interval()?,
                config.watch().fetch_timeout(),
            );
            (interval <= fetch).then(|| {
                format!(
                    "watch.resync_interval ({interval:?}) is not longer than watch.fetch_timeout ({fetch:?}): one full read \
                     follows the other"
                )
            })
        },
    },
    FindingRule {
        code: "RF-C113",
        severity: Severity::Warning,
        check: |config| {
            let ready = config.ready_timeout();
            let backoff = config.watch().backoff_base();
            (ready > Duration::ZERO && ready < backoff).then(|| {
                format!(
                    "ready_timeout ({ready:?}) is shorter than watch.backoff_base ({backoff:?}): the first callers give up \
                     before a registry that failed once is asked again"
                )
            })
        },
    },
    FindingRule {
        code: "RF-C114",
        severity: Severity::Warning,
        check: |config| {
            let ring = config.ring();
            if *ring.algorithm() != HashAlgorithm::Ring {
                return None;
            }
            let (points, max) = (ring.points_per_instance(), ring.max_ring_points());
            (points > max / 2).then(|| {
                format!(
                    "points_per_instance ({points}) is more than half of max_ring_points ({max}): with two instances the \
                     points are scaled down, and a change of one moves keys of others"
                )
            })
        },
    },
    FindingRule {
        code: "RF-C115",
        severity: Severity::Warning,
        check: |config| {
            let limits = config.concurrency();
            (limits.max_queued() > 0 && limits.max_in_flight() == 0).then(|| {
                format!(
                    "max_queued ({}) has no effect without max_in_flight: nobody ever waits",
                    limits.max_queued()
                )
            })
        },
    },
    FindingRule {
        code: "RF-C116",
        severity: Severity::Warning,
        check: |config| {
            let ring = config.ring();
            let own = RingConfig::default();
            let is_usual = (ring.probes(), ring.points_per_instance())
                == (own.probes(), own.points_per_instance());
            (*ring.algorithm() != HashAlgorithm::Ring && !is_usual).then(|| {
                format!(
                    "probes ({}) and points_per_instance ({}) have no effect with the algorithm {}: they are of the own ring",
                    ring.probes(),
                    ring.points_per_instance(),
                    ring.algorithm()
                )
            })
        },
    },
];

/// What is looked for where instances are checked.
pub(crate) const CHECK_RULES: &[FindingRule<(BalancerConfig, HealthCheckConfig)>] = &[
    FindingRule {
        code: "RF-C103",
        severity: Severity::Warning,
        check: |(config, checks)| {
            let base = config.outlier().base_ejection_time();
            let notices = checks.interval() * checks.fall();
            (config.outlier().ejects() && base < notices).then(|| {
            format!(
                "outlier.base_ejection_time ({base:?}) is shorter than health_check.interval times fall ({notices:?}): an \
                 instance that is down is back before its checks have noticed that it is"
            )
        })
        },
    },
];

impl BalancerConfig {
    /// Settings that are legal each by itself and do not go together, by code. [`BalancerBuilder::build`] refuses those that are
    /// errors and logs the others.
    ///
    /// [`BalancerBuilder::build`]: crate::BalancerBuilder::build
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use ringfence_balancer::BalancerConfig;
    ///
    /// assert_eq!(BalancerConfig::default().findings(), []);
    /// let config = BalancerConfig::default().with_update_merge_window(Duration::from_secs(5))?;
    /// assert_eq!(config.findings()[0].code(), "RF-C107");
    /// # Ok::<(), ringfence_balancer::ConfigError>(())
    /// ```
    #[must_use]
    pub fn findings(&self) -> Vec<ConfigFinding> {
        FindingRule::findings(RULES, self)
    }

    /// The codes of all findings of a balancer that there can be.
    #[must_use]
    pub fn finding_codes() -> Vec<&'static str> {
        let codes = RULES.iter().map(|rule| rule.code);
        codes
            .chain(CHECK_RULES.iter().map(|rule| rule.code))
            .collect()
    }
}

impl BalancerBuilder {
    /// [`BalancerConfig::findings`], and those of the health checks with it.
    #[must_use]
    pub fn findings(&self) -> Vec<ConfigFinding> {
        let mut findings = self.config().findings();
        if let Some(checks) = self.health_check_config() {
            let both = (self.config().clone(), checks);
            findings.extend(FindingRule::findings(CHECK_RULES, &both));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use ringfence_core::RingConfig;
    use ringfence_discovery::{MemoryRegistry, WatchConfig};

    use super::*;
    use crate::{
        Balancer, ConcurrencyLimits, ConfigError, OutlierConfig, RetryBudgetConfig, TcpProbe,
    };

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// One that has the finding of a code, and one that just does not.
    fn examples(code: &str) -> Result<[BalancerConfig; 2], ConfigError> {
        let config = BalancerConfig::default;
        let outlier = OutlierConfig::default;
        let watch = WatchConfig::default;
        Ok(match code {
            "RF-C104" => {
                let config = config();
                [31, 30].map(|delay| {
                    config
                        .clone()
                        .with_max_merge_delay(seconds(delay))
                        .expect("in range")
                })
            }
            "RF-C106" => [
                config().with_outlier(outlier().with_base_ejection_time(seconds(301))?),
                config().with_outlier(outlier().with_base_ejection_time(seconds(300))?),
            ],
            "RF-C107" => [
                config().with_update_merge_window(seconds(3))?,
                config().with_update_merge_window(seconds(2))?,
            ],
            "RF-C108" => {
                let none = RetryBudgetConfig::default()
                    .with_percent(0)?
                    .with_min_per_second(0);
                let config = config().with_retry_budget(none);
                [config.clone(), config.with_max_attempts(1)?]
            }
            "RF-C109" => {
                let all = config().with_outlier(outlier().with_max_ejection_percent(100)?);
                [
                    all.clone().with_panic_threshold(0)?,
                    all.with_panic_threshold(1)?,
                ]
            }
            "RF-C110" => [
                config().with_watch(watch().with_backoff(seconds(1), seconds(30))?),
                config().with_watch(watch().with_backoff(seconds(1), seconds(29))?),
            ],
            "RF-C111" => [
                config().with_watch(watch().with_fetch_timeout(seconds(8))?),
                config().with_watch(watch().with_fetch_timeout(seconds(7))?),
            ],
            "RF-C112" => [
                config().with_watch(watch().with_resync(seconds(5), 0)?),
                config().with_watch(watch().with_resync(seconds(6), 0)?),
            ],
            "RF-C113" => [
                config().with_ready_timeout(Duration::from_millis(99))?,
                config().with_ready_timeout(Duration::from_millis(100))?,
            ],
            "RF-C114" => {
                let most = RingConfig::default().with_max_ring_points(1_000)?;
                [
                    config().with_ring(most.clone().with_points_per_instance(501)?),
                    config().with_ring(most.with_points_per_instance(500)?),
                ]
            }
            "RF-C115" => {
                let queue = ConcurrencyLimits::default().with_max_queued(1)?;
                [
                    config().with_concurrency(queue),
                    config().with_concurrency(queue.with_max_in_flight(1)?),
                ]
            }
            "RF-C116" => {
                let rendezvous = RingConfig::default().with_algorithm(HashAlgorithm::Rendezvous);
                [
                    config().with_ring(rendezvous.clone().with_probes(5)?),
                    config().with_ring(rendezvous),
                ]
            }
            // Of 30 s and 3 checks.
            "RF-C103" => [29, 30].map(|base| {
                let outlier = outlier().with_base_ejection_time(seconds(base));
                config().with_outlier(outlier.expect("in range"))
            }),
            unknown => panic!("{unknown} has no examples"),
        })
    }

    #[test]
    fn each_code_has_an_example_with_it_and_one_without() -> Result<(), ConfigError> {
        for code in BalancerConfig::finding_codes() {
            let [bad, good] = examples(code)?;
            let codes = |config: &BalancerConfig| {
                let builder = Balancer::builder(MemoryRegistry::new(), "order")
                    .with_config(config.clone())
                    .with_health_check(TcpProbe, HealthCheckConfig::default());
                let findings = builder.findings();
                findings.iter().map(ConfigFinding::code).collect::<Vec<_>>()
            };
            assert_eq!(codes(&bad), [code]);
            assert_eq!(codes(&good), [""; 0], "beside {code}");
        }
        Ok(())
    }
}
