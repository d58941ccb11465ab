//! What outlier detection decides, for logs, counters and tests.

use std::{fmt, time::Duration};

/// Why an instance is ejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EjectionCause {
    /// Too many failures in a row.
    ConsecutiveFailures,
    /// Too many failed connections in a row.
    ConsecutiveConnectFailures,
    /// Its success rate is far below that of the others.
    SuccessRate,
    /// Too large a share of its requests failed.
    FailurePercentage,
    /// It had just come back, and failed again.
    TrialFailed,
}

impl EjectionCause {
    /// A few words for it, such as `success rate`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConsecutiveFailures => "consecutive failures",
            Self::ConsecutiveConnectFailures => "consecutive connect failures",
            Self::SuccessRate => "success rate",
            Self::FailurePercentage => "failure percentage",
            Self::TrialFailed => "failed on trial",
        }
    }

    /// One word for it, such as `success_rate`: a label of metrics, and in documents.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::ConsecutiveFailures => "consecutive_failures",
            Self::ConsecutiveConnectFailures => "consecutive_connect_failures",
            Self::SuccessRate => "success_rate",
            Self::FailurePercentage => "failure_percentage",
            Self::TrialFailed => "trial_failed",
        }
    }
}

impl fmt::Display for EjectionCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What speaks against a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspicion {
    /// What it did.
    pub cause: EjectionCause,
    /// Whether the registry says that it is healthy.
    pub healthy: bool,
    /// Whether it failed by refused and broken connections alone: then a probe can tell when it is back.
    pub unreachable: bool,
}

/// Why an instance stays that would have been ejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The share of ejected instances, or the rule that the last usable one stays.
    AtLimit,
    /// The enforcement percentage spared it.
    NotEnforced,
}

/// Why an ejection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReturnCause {
    /// Its time was over.
    TimeOver,
    /// A probe found that it serves again.
    ProbePassed,
    /// There are fewer instances than before, so fewer may be out.
    Limits,
    /// It left so long ago, or so many left after it, that nothing is remembered of it.
    Forgotten,
}

/// What was decided of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutlierDecision {
    /// It is left out from now on.
    Ejected {
        /// Why.
        cause: EjectionCause,
        /// For how long.
        length: Duration,
        /// Ejections in a row, this one included.
        times: u32,
    },
    /// It stays although it fails.
    Refused {
        /// What spoke against it.
        cause: EjectionCause,
        /// What kept it in.
        why: Refusal,
    },
    /// Its ejection is over.
    Returned {
        /// Why.
        why: ReturnCause,
        /// Whether it has to prove itself before it gets its full traffic.
        on_trial: bool,
    },
    /// It passed its trial, or the time of it, and gets its full traffic.
    TrialOver {
        /// Whether it had as many successes as the trial asks for.
        proven: bool,
    },
    /// It did well for a while: its next ejection is shorter.
    Forgiven {
        /// Ejections in a row that are left; at 0 nothing is remembered of it.
        times: u32,
    },
}

/// A decision, and on which instance.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutlierEvent<K> {
    /// The instance.
    pub key: K,
    /// What was decided.
    pub decision: OutlierDecision,
}

impl<K> OutlierEvent<K> {
    pub(super) fn new(key: K, decision: OutlierDecision) -> Self {
        Self { key, decision }
    }

    pub(super) fn returned(key: K, why: ReturnCause, on_trial: bool) -> Self {
        Self::new(key, OutlierDecision::Returned { why, on_trial })
    }
}
