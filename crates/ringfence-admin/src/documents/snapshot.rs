//! The instances of a service, and what is known of it as a whole.

use ringfence_balancer::{Balancer, BalancerCounters, Status};
use serde::Serialize;

use super::{MAX_INSTANCES, instance::InstanceRow, policy::Policy};

/// The instances with their state, and what is told of the service.
#[derive(Debug, Serialize)]
pub(crate) struct SnapshotDocument {
    /// Number of the view; 0 before the first.
    epoch: u64,
    /// Digest of the ring of all instances.
    fingerprint: Option<String>,
    algorithm: Option<&'static str>,
    /// Part of the key space that the last change of the ring moved.
    moved_share: Option<f64>,
    registry: Registry,
    policy: Policy,
    counts: Counts,
    counters: Counters,
    instances: Vec<InstanceRow>,
    /// There are more instances than are told.
    truncated: bool,
}

/// The source of the instances.
#[derive(Debug, Serialize)]
struct Registry {
    /// Whether it knows the service.
    knows_service: bool,
    /// How long it has been out of contact, once that is too long.
    stale_seconds: Option<u64>,
    /// A list that lost so many instances that it has to be confirmed first.
    holding: bool,
    revision: Option<String>,
    error: Option<String>,
    /// Records that could not be read.
    rejected: usize,
}

#[derive(Debug, Serialize)]
struct Counts {
    instances: usize,
    usable: usize,
    ejected: usize,
    on_trial: usize,
    failing_checks: usize,
    damped: usize,
    warming: usize,
    starting_slowly: usize,
    pools: usize,
    pools_in_panic: usize,
    admitted: usize,
    queued: usize,
}

/// Since the start.
#[derive(Debug, Serialize)]
struct Counters {
    picks: u64,
    picks_without_key: u64,
    fallbacks: u64,
    spilled: u64,
    overflows: u64,
    in_panic: u64,
    no_instances: u64,
    overloaded: u64,
    hops_granted: u64,
    hops_denied: u64,
    ejections: u64,
    ejections_refused: u64,
    views_published: u64,
}

pub(crate) fn snapshot(balancer: &Balancer, show_tags: bool) -> SnapshotDocument {
    let status = balancer.status();
    let now = tokio::time::Instant::now().into_std();
    let view = balancer.view();
    let all = balancer.instances();
    let rows = all.iter().take(MAX_INSTANCES);
    SnapshotDocument {
        epoch: status.epoch,
        fingerprint: status
            .fingerprint
            .map(|fingerprint| fingerprint.to_string()),
        algorithm: view.map(|view| view.config().ring().algorithm().as_str()),
        moved_share: status.moved_share.map(ringfence_core::KeyShare::as_f64),
        registry: Registry::of(&status),
        policy: Policy::of(balancer, status.policy_source.as_ref(), show_tags),
        counts: Counts::of(&status),
        counters: Counters::of(&status.counters),
        truncated: all.len() > MAX_INSTANCES,
        instances: rows
            .map(|status| InstanceRow::of(status, show_tags, now))
            .collect(),
    }
}

impl Registry {
    fn of(status: &Status) -> Self {
        let watch = &status.watch;
        let error = watch.watch_error.as_ref().or(watch.fetch_error.as_ref());
        Self {
            knows_service: status.service_exists,
            stale_seconds: status.stale_for.map(|stale| stale.as_secs()),
            holding: watch.held.is_some(),
            revision: watch.revision.as_ref().map(ToString::to_string),
            error: error.map(ToString::to_string),
            rejected: watch.rejected.len(),
        }
    }
}

impl Counts {
    fn of(status: &Status) -> Self {
        Self {
            instances: status.instances,
            usable: status.usable,
            ejected: status.ejected,
            on_trial: status.on_trial,
            failing_checks: status.failing_checks,
            damped: status.damped,
            warming: status.warming,
            starting_slowly: status.starting_slowly,
            pools: status.pools,
            pools_in_panic: status.pools_in_panic,
            admitted: status.admitted,
            queued: status.queued,
        }
    }
}

impl Counters {
    fn of(counters: &BalancerCounters) -> Self {
        Self {
            picks: counters.picks,
            picks_without_key: counters.picks_without_key,
            fallbacks: counters.picks_fallback,
            spilled: counters.picks_spilled,
            overflows: counters.picks_overflow,
            in_panic: counters.picks_in_panic,
            no_instances: counters.picks_no_instances,
            overloaded: counters.picks_overloaded,
            hops_granted: counters.hops_granted,
            hops_denied: counters.hops_denied,
            ejections: counters.ejections,
            ejections_refused: counters.ejections_refused,
            views_published: counters.views_published,
        }
    }
}
