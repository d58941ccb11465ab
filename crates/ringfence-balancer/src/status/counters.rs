use std::sync::atomic::Ordering;

use crate::{
    FailureKind,
    shared::{Shared, TaskReport},
};

/// Counters of a balancer since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BalancerCounters {
    /// Picks, failed ones included.
    pub picks: u64,
    /// Picks for which [`MissingKey`](crate::MissingKey) decided.
    pub picks_without_key: u64,
    /// Keys that were too long and counted as absent.
    pub keys_too_long: u64,
    /// Picks that an earlier stage of their route could not serve.
    pub picks_fallback: u64,
    /// Picks that an earlier stage of their route passed on, although it could have served them.
    pub picks_spilled: u64,
    /// Picks that went past the owner of their key, because it had [too much](crate::BalancerConfig::with_hash_balance_factor) in flight, or
    /// [all that it may have](crate::ConcurrencyLimits::with_max_in_flight_per_instance).
    pub picks_overflow: u64,
    /// Picks that ignored health and ejection.
    pub picks_in_panic: u64,
    /// Picks that found no instance.
    pub picks_no_instances: u64,
    /// Picks that found every usable instance with as many requests in flight as it may have.
    pub picks_overloaded: u64,
    /// Calls that were not let in, because too many waited already.
    pub admissions_refused: u64,
    /// Calls that waited to be let in until `queue_timeout`.
    pub admissions_timed_out: u64,
    /// Picks whose pools were not prepared yet.
    pub picks_unprepared: u64,
    /// Hops that the retry budget granted.
    pub hops_granted: u64,
    /// Hops that it denied.
    pub hops_denied: u64,
    /// Hops of requests that no instance had seen yet, which need no budget.
    pub hops_free: u64,
    /// Views published.
    pub views_published: u64,
    /// Views that were finished too late and dropped.
    pub views_discarded: u64,
    /// Views that could not be built; the one before stayed.
    pub views_failed: u64,
    /// Snapshots that the merge window folded into a later one.
    pub snapshots_merged: u64,
    /// Policies that were set and replaced the one before.
    pub policies_applied: u64,
    /// Policies that were set and could not be applied; the one before stayed.
    pub policies_failed: u64,
    /// Audit events that were lost, because their sink was too slow or panicked.
    pub audit_lost: u64,
    /// Routes of tagged requests that were prepared.
    pub routes_prepared: u64,
    /// Routes of tagged requests that were dropped, because others were used more recently.
    pub routes_evicted: u64,
    /// Attempts reported as [`FailureKind::Connect`](crate::FailureKind::Connect).
    pub failures_connect: u64,
    /// Attempts reported as [`FailureKind::Timeout`](crate::FailureKind::Timeout).
    pub failures_timeout: u64,
    /// Attempts reported as [`FailureKind::Reset`](crate::FailureKind::Reset).
    pub failures_reset: u64,
    /// Attempts reported as [`FailureKind::Status`](crate::FailureKind::Status).
    pub failures_status: u64,
    /// Instances that came, those of the first snapshot left out.
    pub instances_added: u64,
    /// Instances that went.
    pub instances_removed: u64,
    /// Times the registry said of an instance that it is not healthy any more.
    pub health_lost: u64,
    /// Times it said that one is healthy again.
    pub health_regained: u64,
    /// Health checks that were passed.
    pub checks_passed: u64,
    /// Health checks that failed, other than by time.
    pub checks_failed: u64,
    /// Health checks that got no answer in time.
    pub checks_timed_out: u64,
    /// Times that checks took an instance out.
    pub checks_lost: u64,
    /// Times that checks brought an instance back, or let a new one in.
    pub checks_regained: u64,
    /// Flaps that damping counted: an instance that served went, or stopped to be healthy or to pass its checks. Zero without
    /// damping.
    pub flaps: u64,
    /// Times that damping began to keep an instance out.
    pub damped: u64,
    /// Ejections, for all causes.
    pub ejections: u64,
    /// Ejections for failures in a row.
    pub ejections_by_failures: u64,
    /// Ejections for failed connections in a row.
    pub ejections_by_connect_failures: u64,
    /// Ejections for a success rate far below that of the others.
    pub ejections_by_success_rate: u64,
    /// Ejections for a large share of failures.
    pub ejections_by_failure_percentage: u64,
    /// Ejections for a failure on trial.
    pub ejections_by_trial: u64,
    /// Instances that got requests although they were not warm, because that took too long or failed.
    pub warm_ups_failed: u64,
    /// Ejections that the limits forbade.
    pub ejections_refused: u64,
    /// Ejections that the enforcement percentage spared.
    pub ejections_not_enforced: u64,
    /// Ejections that ended early, because a probe passed.
    pub returns_by_probe: u64,
}

impl BalancerCounters {
    pub(super) fn of(shared: &Shared, report: &TaskReport) -> Self {
        let counters = &shared.counters;
        Self {
            audit_lost: shared.audit.lost(),
            picks: counters.picks.total(),
            picks_without_key: counters.keyless.total(),
            keys_too_long: counters.long_keys.total(),
            picks_fallback: counters.fallbacks.total(),
            picks_spilled: counters.spilled.total(),
            picks_overflow: counters.overflowed.total(),
            picks_in_panic: counters.panic_picks.total(),
            picks_no_instances: counters.no_instances.total(),
            picks_overloaded: counters.overloaded.total(),
            admissions_refused: shared.admission.refused(),
            admissions_timed_out: shared.admission.timed_out(),
            picks_unprepared: counters.unprepared.total(),
            hops_granted: counters.hops_granted.load(Ordering::Relaxed),
            hops_denied: counters.hops_denied.load(Ordering::Relaxed),
            hops_free: counters.hops_free.load(Ordering::Relaxed),
            views_published: shared.cell.published(),
            views_discarded: shared.cell.discarded(),
            views_failed: report.failed_builds,
            snapshots_merged: report.merged,
            policies_applied: report.policies_applied,
            policies_failed: report.policies_failed,
            routes_prepared: report.routes_prepared,
            routes_evicted: report.routes_evicted,
            failures_connect: shared.nodes.failures(FailureKind::Connect),
            failures_timeout: shared.nodes.failures(FailureKind::Timeout),
            failures_reset: shared.nodes.failures(FailureKind::Reset),
            failures_status: shared.nodes.failures(FailureKind::Status),
            instances_added: report.instances_added,
            instances_removed: report.instances_removed,
            health_lost: report.health_lost,
            health_regained: report.health_regained,
            checks_passed: report.checks_passed,
            checks_failed: report.checks_failed,
            checks_timed_out: report.checks_timed_out,
            checks_lost: report.checks_lost,
            checks_regained: report.checks_regained,
            flaps: report.flaps,
            damped: report.damped,
            ejections: report.outliers.ejections(),
            ejections_by_failures: report.outliers.failures,
            ejections_by_connect_failures: report.outliers.connect_failures,
            ejections_by_success_rate: report.outliers.success_rate,
            ejections_by_failure_percentage: report.outliers.failure_percentage,
            ejections_by_trial: report.outliers.trial,
            ejections_refused: report.outliers.refused,
            ejections_not_enforced: report.outliers.not_enforced,
            returns_by_probe: report.outliers.returned_by_probe,
            warm_ups_failed: report.warm_ups_failed,
        }
    }
}
