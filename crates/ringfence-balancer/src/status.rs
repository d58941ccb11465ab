use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use ringfence_core::{Absence, Fingerprint, KeyShare};
use ringfence_discovery::{ServiceKey, WatchStatus};
use ringfence_policy::KeyFinding;
use tokio::time::Instant;

use crate::{FailureKind, PolicySourceStatus, node::Seat, shared::Shared};

/// What a balancer is doing, for logs, metrics and tests.
///
/// # Examples
/// ```
/// use ringfence_balancer::{Balancer, PickRequest};
/// use ringfence_core::Instance;
/// use ringfence_discovery::StaticDiscovery;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let instances = [
///     Instance::builder("a", "10.0.0.1:80").build()?,
///     Instance::builder("b", "10.0.0.2:80").weight(0).build()?,
/// ];
/// let source = StaticDiscovery::new().with_service("order", instances);
/// let balancer = Balancer::builder(source, "order").build()?;
/// balancer.ready().await?;
/// balancer.pick(&PickRequest::new())?;
///
/// let status = balancer.status();
/// assert_eq!((status.epoch, status.instances, status.usable), (1, 2, 1));
/// assert_eq!((status.counters.picks, status.stale_for), (1, None));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Status {
    /// The service.
    pub service: ServiceKey,
    /// Number of the view that requests read; rises with each one. Zero: none yet.
    pub epoch: u64,
    /// Digest of the ring of all instances; clients with equal ones route alike.
    pub fingerprint: Option<Fingerprint>,
    /// How much of the key space had another owner after the last change of that ring; `None` before the first one, with
    /// several probes, jump and rendezvous, where the algorithm itself changed, and where old and new one together have more than half
    /// a million points (with slots: from 16 instances on).
    pub moved_share: Option<KeyShare>,
    /// Whether the registry knows the service, as far as is known.
    pub service_exists: bool,
    /// Instances in the snapshot.
    pub instances: usize,
    /// Those of them that are enabled, not drained, healthy and not kept out by ejection, checks, damping or warm-up.
    pub usable: usize,
    /// Those of them that outlier detection keeps out.
    pub ejected: usize,
    /// Those of them that came back from an ejection and have to prove themselves.
    pub on_trial: usize,
    /// Instances that are [checked](crate::BalancerBuilder::with_health_check): those that take traffic, if checks are on.
    pub checked: usize,
    /// Those of them that the checks keep out.
    pub failing_checks: usize,
    /// New instances that have to [pass](ringfence_core::HealthCheckConfig::with_require_pass) a check first and did not yet.
    pub awaiting_check: usize,
    /// Instances that [flap damping](crate::BalancerConfig::with_flap_damping) keeps out.
    pub damped: usize,
    /// Instances that serve again and whose penalty for flapping has not fallen far enough yet; some may be used all the same,
    /// because too few would be left.
    pub suppressed: usize,
    /// Pools that have a ring.
    pub pools: usize,
    /// Those of them in which what says that an instance is not well is ignored, because too few members are usable.
    pub pools_in_panic: usize,
    /// Instances that are new and get no requests before they are [warm](crate::BalancerBuilder::with_warm_up).
    pub warming: usize,
    /// Instances that have not yet all of their weight, see
    /// [`with_slow_start`](crate::BalancerConfig::with_slow_start); as of the last event or a few seconds ago.
    pub starting_slowly: usize,
    /// Nodes in memory, those of departed instances with running attempts included.
    pub nodes: usize,
    /// Calls that [`Balancer::admit`](crate::Balancer::admit) let in and that are not over; 0 without a limit.
    pub admitted: usize,
    /// Calls that wait to be let in.
    pub queued: usize,
    /// The balancer's task has ended: by a shutdown, or with its runtime. Nothing renews the view any more.
    pub task_gone: bool,
    /// How long the registry has been out of contact, once that is too long, a copy from disk is in use or the task is gone;
    /// `None` while it is in contact.
    pub stale_for: Option<Duration>,
    /// How long ago the registry was last heard; `None` if it never was.
    pub since_contact: Option<Duration>,
    /// State and counters of the watch, as of the last event or a few seconds ago. Its `provenance` tells whether requests are
    /// served from a live list or from a copy on disk, and how old that was when it came into use.
    pub watch: WatchStatus,
    /// Rules of the policy in force whose keys are no good for affinity, and what is wrong with them. A rule is judged once, by
    /// its first 10,000 requests with a key ([`KeyLint::SAMPLE`](ringfence_policy::KeyLint::SAMPLE)) since the policy came into
    /// force; rules with fewer are not in the list, and of more than eight at a time the further ones wait their turn.
    pub key_findings: Vec<(String, KeyFinding)>,
    /// The source of the policy, where the balancer has one, as of the last event or a few seconds ago.
    pub policy_source: Option<PolicySourceStatus>,
    /// Counters since the start.
    pub counters: BalancerCounters,
}

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

impl Status {
    pub(crate) fn of(shared: &Shared, task_gone: bool) -> Self {
        let state = shared.cell.load_full();
        let report = shared.report();
        let counters = &shared.counters;
        let seats = state.as_ref().map_or(&[][..], |state| &state.seats);
        let is_usable =
            |seat: &&Arc<Seat>| seat.instance.is_usable() && seat.node.absence().is_none();
        let withheld = |why| {
            seats
                .iter()
                .filter(|seat| seat.node.is_withheld(why))
                .count()
        };
        let view = state.as_ref().map(|state| &state.view);
        let count_pools = |in_panic: bool| {
            view.map_or(0, |view| {
                view.pools()
                    .filter(|pool| !in_panic || pool.is_panic())
                    .count()
            })
        };
        let last_contact = report.watch.last_contact.filter(|_| task_gone);
        let out_since = report.watch.stale_since.or(last_contact);
        let now = Instant::now().into_std();
        let past = |since| now.saturating_duration_since(since);
        Self {
            service: shared.service.clone(),
            epoch: view.map_or(0, |view| view.epoch()),
            fingerprint: view.map(|view| view.whole_ring().fingerprint()),
            moved_share: report.moved_share,
            service_exists: state.as_ref().is_some_and(|state| state.service_exists),
            instances: seats.len(),
            usable: seats.iter().filter(is_usable).count(),
            ejected: seats.iter().filter(|seat| seat.node.is_ejected()).count(),
            on_trial: seats.iter().filter(|seat| seat.node.is_on_trial()).count(),
            checked: report.checked,
            failing_checks: withheld(Absence::FailsChecks),
            awaiting_check: withheld(Absence::Unchecked),
            damped: withheld(Absence::Damped),
            suppressed: report.suppressed,
            pools: count_pools(false),
            pools_in_panic: count_pools(true),
            warming: withheld(Absence::Warming),
            starting_slowly: report.starting_slowly,
            nodes: shared.nodes.alive(),
            admitted: shared.admission.admitted(),
            queued: shared.admission.queued(),
            task_gone,
            stale_for: out_since.map(past),
            since_contact: report.watch.last_contact.map(past),
            key_findings: state
                .as_ref()
                .map(|state| state.lints.found())
                .unwrap_or_default(),
            counters: BalancerCounters {
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
            },
            watch: report.watch,
            policy_source: report.policy_source,
        }
    }
}
