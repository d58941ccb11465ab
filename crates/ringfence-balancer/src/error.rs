use std::{sync::Arc, time::Duration};

use ringfence_core::{ConfigError, ConfigFinding, StageOutcome};
use ringfence_discovery::{DiscoveryError, RejectedRecord, ServiceKey};
use thiserror::Error;

/// A balancer could not be started.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no tokio runtime around the caller, so there is nothing to run the task on.
    #[error("a balancer must be built inside of a tokio runtime")]
    NoRuntime,
    /// Settings do not go together: see [`BalancerConfig::findings`](crate::BalancerConfig::findings).
    #[error("{}", findings_text(.0))]
    Config(Vec<ConfigFinding>),
    /// [`StartPolicy::UseDiskSnapshot`](crate::StartPolicy::UseDiskSnapshot) where no copies are kept on disk.
    #[error(
        "the start policy wants a copy on disk, and none is kept: see `WatchConfig::with_disk_snapshots`"
    )]
    NoCopies(#[source] ConfigError),
}

/// A balancer could not be started, or has no instances to start with.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum StartError {
    /// It could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The registry did not answer in time, or does not know the service.
    #[error(transparent)]
    NotReady(#[from] PickError),
}

fn findings_text(findings: &[ConfigFinding]) -> String {
    let texts: Vec<_> = findings.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// No instance could be chosen.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum PickError {
    /// The registry has not answered yet. Only before the first view; later the last good view
    /// is used however long the registry is away.
    #[error(
        "service {service} is not ready{}{}",
        waited_text(*waited),
        last_error_text(last_error.as_deref())
    )]
    NotReady {
        /// The service that was asked for.
        service: ServiceKey,
        /// How long this caller waited; zero for a pick, which never waits.
        waited: Duration,
        /// What the registry's watch ran into most recently.
        #[source]
        last_error: Option<Arc<DiscoveryError>>,
    },
    /// The registry answered that it does not know the service, which is not the same as a service
    /// without instances. It is used as soon as the registry knows it.
    #[error("the registry knows no service {service}")]
    NoSuchService {
        /// The service that was asked for.
        service: ServiceKey,
    },
    /// No pool that the request may use has an instance that may take traffic.
    #[error(
        "service {service} has no instance for the request{}{}",
        tried_text(*registered, tried),
        rejected_text(rejected)
    )]
    NoInstances {
        /// The service that was asked for.
        service: ServiceKey,
        /// The pools tried, in this order.
        tried: Vec<StageOutcome>,
        /// Instances that the service has, whoever may use them.
        registered: usize,
        /// Records that the source left out because they are no instances.
        rejected: Arc<[RejectedRecord]>,
    },
    /// The request has no key and [`MissingKey::Reject`](crate::MissingKey::Reject) is set.
    #[error("service {service} takes only requests with a key")]
    KeyRequired {
        /// The service that was asked for.
        service: ServiceKey,
    },
    /// A limit of [`ConcurrencyLimits`](crate::ConcurrencyLimits) is reached. No instance was asked.
    #[error("service {service} is overloaded here: {overload}")]
    Overloaded {
        /// The service that was asked for.
        service: ServiceKey,
        /// Which limit it is.
        overload: Overload,
    },
    /// The balancer's task has ended without a shutdown, as with its runtime: there is no view, or
    /// nothing renews it any more.
    #[error("the task of the balancer of service {service} is gone, as its runtime may be")]
    TaskGone {
        /// The service that was asked for.
        service: ServiceKey,
    },
    /// [`Balancer::shutdown`](crate::Balancer::shutdown) was called.
    #[error("the balancer of service {service} was shut down")]
    ShutDown {
        /// The service that was asked for.
        service: ServiceKey,
    },
}

impl PickError {
    /// Whether the same request may succeed later without a change by the caller.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::NotReady { .. }
            | Self::NoSuchService { .. }
            | Self::NoInstances { .. }
            | Self::Overloaded { .. } => true,
            Self::KeyRequired { .. } | Self::TaskGone { .. } | Self::ShutDown { .. } => false,
        }
    }
}

/// Which limit of [`ConcurrencyLimits`](crate::ConcurrencyLimits) a request ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum Overload {
    /// Every usable instance of the pool has `max_in_flight_per_instance` requests in flight.
    #[error("every usable instance has max_in_flight_per_instance requests in flight")]
    Instances,
    /// `max_in_flight` requests are in flight, and `max_queued` wait already.
    #[error("max_in_flight requests are in flight and max_queued wait")]
    QueueFull,
    /// No place came free within `queue_timeout`.
    #[error("no place came free within {0:?}")]
    QueueTimeout(Duration),
}

fn waited_text(waited: Duration) -> String {
    if waited.is_zero() {
        return " yet (await `ready()` first)".to_owned();
    }
    format!(" after {waited:?}")
}

fn rejected_text(rejected: &[RejectedRecord]) -> String {
    match rejected {
        [] => String::new(),
        [only] => format!("; a record was rejected: {only}"),
        [first, ..] => format!("; {} records rejected, first: {first}", rejected.len()),
    }
}

fn last_error_text(error: Option<&DiscoveryError>) -> String {
    error.map_or_else(String::new, |error| {
        format!("; discovery last failed with: {error}")
    })
}

fn tried_text(registered: usize, tried: &[StageOutcome]) -> String {
    // Whatever pools were tried: they cannot be but empty.
    if registered == 0 {
        return ": none are registered".to_owned();
    }
    if tried.is_empty() {
        return format!(
            ", of {registered} registered; every pool asks for what is not known, the client's zone or region or a tag that the request has not"
        );
    }
    let stages: Vec<String> = tried.iter().map(ToString::to_string).collect();
    format!(", of {registered} registered; tried {}", stages.join(", "))
}
