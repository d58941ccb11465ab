//! Settings of the layer that do not go together.

#[cfg(feature = "tonic")]
use std::time::Duration;

use std::sync::atomic::Ordering;

#[cfg(feature = "tonic")]
use ringfence_core::HealthCheckConfig;
use ringfence_core::{ConfigFinding, FindingRule, Severity};

use crate::layer::RingfenceLayer;
use crate::settings::Settings;
#[cfg(feature = "tonic")]
use crate::transport::TonicConnector;

const MEBIBYTE: usize = 1_024 * 1_024;

const RULES: &[FindingRule<Settings>] = &[
    FindingRule {
        code: "RF-C120",
        severity: Severity::Warning,
        check: |settings| {
            let (hedging, limit) = (settings.retry.hedging()?, settings.retry.per_try_timeout()?);
            (hedging >= limit).then(|| {
                format!("hedging ({hedging:?}) begins only when per_try_timeout ({limit:?}) has ended the attempt: it never does")
            })
        },
    },
    FindingRule {
        code: "RF-C121",
        severity: Severity::Warning,
        check: |settings| {
            let hedging = settings.retry.hedging()?;
            let max = settings.balancer.config().max_attempts();
            let why = if !settings.retry.may_repeat() {
                "the retry policy repeats nothing that an instance may have got".to_owned()
            } else if max < 2 {
                format!("max_attempts is {max}")
            } else {
                return None;
            };
            Some(format!("hedging ({hedging:?}) has no effect: {why}"))
        },
    },
    FindingRule {
        code: "RF-C122",
        severity: Severity::Warning,
        check: |settings| {
            let (base, max) = settings.retry.backoff();
            (base > max).then(|| {
                format!("the backoff begins above its maximum: {base:?} is more than {max:?}")
            })
        },
    },
    FindingRule {
        code: "RF-C123",
        severity: Severity::Warning,
        check: |settings| {
            let limit = settings.replay_limit;
            (limit > 16 * MEBIBYTE).then(|| {
                format!("replay_limit ({limit} bytes) is kept for each request under way: a hundred of them hold more than 1.6 GB")
            })
        },
    },
    FindingRule {
        code: "RF-C124",
        severity: Severity::Warning,
        check: |settings| {
            let hedging = settings.retry.hedging()?;
            let is_checked = settings.balancer.health_check().is_some();
            (!is_checked).then(|| {
                format!(
                    "hedging ({hedging:?}) hides instances that hang: their attempts are given up before they count as failures, \
                     and there are no health checks that would find them"
                )
            })
        },
    },
];

/// What a connector and the layer around it have to agree on.
#[cfg(feature = "tonic")]
struct Setup {
    /// Until a connection that went dead is given up.
    gives_up_after: Option<Duration>,
    check_interval: Option<Duration>,
}

#[cfg(feature = "tonic")]
const CONNECTOR_RULES: &[FindingRule<Setup>] = &[FindingRule {
    code: "RF-C101",
    severity: Severity::Warning,
    check: |setup| {
        let (dead, checks) = (setup.gives_up_after?, setup.check_interval?);
        (dead < checks).then(|| {
            format!(
                "keepalive gives a connection up after {dead:?}, before the next health check ({checks:?}): a pause of that \
                 length closes connections over and over, and no check ever fails"
            )
        })
    },
}];

impl Settings {
    /// Logs what does not go together, once. The balancer has told of its own.
    pub(crate) fn tell_of_findings(&self) {
        if self.findings_told.swap(true, Ordering::Relaxed) {
            return;
        }
        for finding in FindingRule::findings(RULES, self) {
            tracing::warn!(
                service = &*self.service,
                code = finding.code(),
                "{}",
                finding.message()
            );
        }
    }
}

impl RingfenceLayer {
    /// Settings of the layer and of its balancer that are legal each by itself and do not go together, by code.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use ringfence_tower::{RetryPolicy, RingfenceLayer};
    ///
    /// # fn layer(balancer: ringfence_balancer::Balancer) {
    /// let retry = RetryPolicy::never().with_hedging(Duration::from_millis(50));
    /// let layer = RingfenceLayer::new(balancer).with_retry(retry);
    /// for finding in layer.findings() {
    ///     println!("{finding}"); // RF-C121 (warning): hedging (50ms) has no effect: ...
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn findings(&self) -> Vec<ConfigFinding> {
        let settings = self.settings();
        let mut findings = settings.balancer.findings().to_vec();
        findings.extend(FindingRule::findings(RULES, settings));
        findings
    }

    /// [`findings`](Self::findings), and those of this connector inside of the layer.
    #[cfg(feature = "tonic")]
    #[must_use]
    pub fn findings_with(&self, connector: &TonicConnector) -> Vec<ConfigFinding> {
        let mut findings = self.findings();
        let setup = Setup {
            gives_up_after: connector.gives_up_after(),
            check_interval: self
                .settings()
                .balancer
                .health_check()
                .map(HealthCheckConfig::interval),
        };
        findings.extend(FindingRule::findings(CONNECTOR_RULES, &setup));
        findings
    }

    /// The codes of all findings of a layer that there can be, without those of its balancer.
    #[must_use]
    pub fn finding_codes() -> Vec<&'static str> {
        let codes = RULES.iter().map(|rule| rule.code);
        #[cfg(feature = "tonic")]
        let codes = codes.chain(CONNECTOR_RULES.iter().map(|rule| rule.code));
        codes.collect()
    }
}
