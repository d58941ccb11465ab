mod counters;

use std::{sync::Arc, time::Duration};

use ringfence_core::{Absence, Fingerprint, KeyShare};
use ringfence_discovery::{ServiceKey, WatchStatus};
use ringfence_policy::KeyFinding;
use tokio::time::Instant;

pub use self::counters::BalancerCounters;
use crate::{Node, PolicySourceStatus, node::Seat, shared::Shared};

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
    /// Those of them that the checks keep out: [`Absence::FailsChecks`], whose label in metrics is `fails_checks`. Of an instance that something
    /// stronger keeps out as well, [`InstanceState`](crate::InstanceState) tells that.
    pub failing_checks: usize,
    /// New instances that have to [pass](ringfence_core::HealthCheckConfig::with_require_pass) a check first and did not yet:
    /// [`Absence::Unchecked`], whose label in metrics is `unchecked`.
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
    /// Attempts that are running, those at instances that left the list included.
    pub in_flight: u64,
    /// Those of them that are running at instances that left the list.
    pub in_flight_departed: u64,
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

impl Status {
    pub(crate) fn of(shared: &Shared, task_gone: bool) -> Self {
        let state = shared.cell.load_full();
        let report = shared.report();
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
        let nodes = shared.index.alive();
        let in_flight = |which: fn(&Node) -> bool| {
            let nodes = nodes.iter().filter(|node| which(node));
            nodes.map(|node| node.in_flight()).sum()
        };
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
            in_flight: in_flight(|_| true),
            in_flight_departed: in_flight(|node| !node.is_present()),
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
            counters: BalancerCounters::of(shared, &report),
            watch: report.watch,
            policy_source: report.policy_source,
        }
    }
}
