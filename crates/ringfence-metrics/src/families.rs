//! What is measured: names, meanings and labels.

/// One metric, with all of its series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What it tells, with its unit.
    pub help: &'static str,
    /// How it behaves over time.
    pub kind: Kind,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// Whether it is there only where it was asked for.
    pub optional: bool,
}

impl Family {
    /// Whether the values of several balancers of one service add up.
    pub(crate) fn adds_up(&self) -> bool {
        let things = [
            IN_FLIGHT.name,
            IN_FLIGHT_DEPARTED.name,
            QUEUED.name,
            INSTANCE_IN_FLIGHT.name,
        ];
        self.kind == Kind::Counter || things.contains(&self.name)
    }
}

/// How a metric behaves over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Only rises.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Counts values by their size.
    Histogram,
}

/// All metrics, optional ones included, in the order of their names.
///
/// ```
/// let names: Vec<_> = ringfence_metrics::families().map(|family| family.name).collect();
/// assert!(names.contains(&"ringfence_requests_total") && names.is_sorted());
/// ```
pub fn families() -> impl Iterator<Item = &'static Family> {
    let mut all: Vec<&'static Family> = ALL.iter().chain(INSTANCES).chain(ALIASES).collect();
    all.sort_by_key(|family| family.name);
    all.into_iter()
}

const SERVICE: &[&str] = &["service"];

const INSTANCE: &[&str] = &["service", "instance"];

/// Groups of families: a constant for each family, and one for the group.
macro_rules! families {
    ($(
        $(#[$about:meta])*
        $group:ident, optional: $optional:literal {
            $($constant:ident = $name:literal, $kind:ident, $labels:expr, $help:literal;)*
        }
    )*) => {$(
        $(pub(crate) const $constant: Family = Family {
            name: $name,
            help: $help,
            kind: Kind::$kind,
            labels: $labels,
            optional: $optional,
        };)*

        $(#[$about])*
        pub(crate) const $group: &[Family] = &[$($constant),*];
    )*};
}

families! {
    /// Those that are always there.
    ALL, optional: false {
        REQUESTS = "ringfence_requests_total", Counter, &["service", "pool", "outcome"],
            "Calls that are over, by the pool they went to (rule and stage) and by how they ended.";
        DURATION = "ringfence_request_duration_seconds", Histogram, &["service", "pool"],
            "Time of calls, from their begin to the end of the answer.";
        IN_FLIGHT = "ringfence_in_flight", Gauge, SERVICE, "Attempts that are running, those at instances that left the list included.";
        IN_FLIGHT_DEPARTED = "ringfence_in_flight_departed", Gauge, SERVICE,
            "Those of the attempts that are running that are at instances that left the list.";
        PICKS = "ringfence_picks_total", Counter, SERVICE, "Choices of instances, failed ones included.";
        PICKS_WITHOUT_KEY = "ringfence_picks_without_key_total", Counter, SERVICE,
            "Choices without a key, or with one that is too long.";
        PICKS_FAILED = "ringfence_picks_failed_total", Counter, &["service", "reason"],
            "Choices that found nobody: no_instances, overloaded.";
        PICKS_UNPREPARED = "ringfence_picks_unprepared_total", Counter, SERVICE,
            "Choices whose pool had to be worked out for the request, as for the first one with new tags.";
        FALLBACKS = "ringfence_fallbacks_total", Counter, &["service", "reason"],
            "Choices that did not go where they would on a good day: stage (an earlier stage could not serve), spill (an earlier stage \
             passed them on), overflow (the owner had too much in flight), panic (health was ignored).";
        HOPS = "ringfence_hops_total", Counter, &["service", "outcome"],
            "Further attempts that calls asked for: granted and denied by the retry budget, or free because no instance had seen the request.";
        FAILURES = "ringfence_attempt_failures_total", Counter, &["service", "kind"],
            "Attempts that failed: connect, timeout, reset, status.";
        EJECTIONS = "ringfence_ejections_total", Counter, &["service", "cause"],
            "Instances that outlier detection took out.";
        EJECTIONS_REFUSED = "ringfence_ejections_refused_total", Counter, SERVICE,
            "Instances that stayed although they failed, because of the limits of ejection.";
        RING_POINTS = "ringfence_ring_points", Gauge, SERVICE, "Points of the ring of all instances, or entries of its table.";
        RING_INSTANCES = "ringfence_ring_instances", Gauge, &["service", "state"],
            "Instances of the service, each in one state: usable, or the first of disabled, drained, unhealthy, ejected, fails_checks, \
             unchecked, damped, warming, absent that fits.";
        RING_INSTANCES_REDUCED = "ringfence_ring_instances_reduced", Gauge, &["service", "reason"],
            "Usable instances that get fewer requests than their weight asks for: on_trial after an ejection, or else starting_slowly.";
        POOLS = "ringfence_pools", Gauge, &["service", "state"], "Pools that have a ring: all (prepared), and those that ignore health (panic).";
        FINGERPRINT = "ringfence_ring_fingerprint_info", Gauge, &["service", "fingerprint"],
            "Always 1; clients with the same fingerprint send equal keys to the same instances.";
        ARC_SKEW = "ringfence_arc_skew_ratio", Gauge, SERVICE,
            "The largest part of the key space that an instance owns, to what its weight asks for; 1 is even.";
        SKEW = "ringfence_skew_ratio", Gauge, SERVICE,
            "The largest part of the requests of the last while that a usable instance had, to what its weight asks for; 1 is even.";
        MOVED = "ringfence_ring_moved_ratio", Gauge, SERVICE,
            "Part of the key space that has another owner since the last change of the ring.";
        MOVED_TOTAL = "ringfence_ring_moved_ratio_total", Counter, SERVICE,
            "Sum of the parts of the key space that changes of the ring moved.";
        CHANGES = "ringfence_instance_changes_total", Counter, &["service", "change"],
            "Instances that came (added), went (removed), fell ill (health_lost) and recovered (health_regained), by the registry.";
        BUILD = "ringfence_view_build_seconds", Histogram, SERVICE, "Time that it took to make a view.";
        DELAY = "ringfence_update_delay_seconds", Histogram, SERVICE,
            "Time from the registry's word of a change until requests follow it; waiting for further changes is part of it.";
        EPOCH = "ringfence_view_epoch", Gauge, SERVICE, "Number of the view that requests read; 0 before the first.";
        VIEWS = "ringfence_views_total", Counter, &["service", "outcome"],
            "Views: published, discarded (finished too late), failed (the one before stays).";
        AGE = "ringfence_snapshot_age_seconds", Gauge, SERVICE, "Time since the registry was last heard.";
        STALE = "ringfence_stale", Gauge, SERVICE,
            "1 while the registry has been out of contact for too long, or a copy from disk is in use; requests go on by what was known last.";
        REGISTRY_ERRORS = "ringfence_registry_errors_total", Counter, &["service", "kind"], "Errors of the registry, of watches and of reads.";
        RECORDS_REJECTED = "ringfence_registry_records_rejected_total", Counter, SERVICE,
            "Records of the registry that are no instances and were left out.";
        HELD = "ringfence_snapshots_held_total", Counter, &["service", "reason"],
            "Lists of the registry that were held back until they were confirmed: empty, no_such_service, mass_loss.";
        HOLDING = "ringfence_holding", Gauge, SERVICE, "1 while a list is held back.";
        HOT_KEYS = "ringfence_hot_keys", Gauge, SERVICE, "Keys with a large part of the requests.";
        HOTTEST_KEY = "ringfence_hottest_key_ratio", Gauge, SERVICE, "Part of the requests with a key that are of the most frequent one.";
        AUDIT_LOST = "ringfence_audit_lost_total", Counter, SERVICE, "Audit events that were lost, because their sink was too slow.";
        POLICIES = "ringfence_policies_total", Counter, &["service", "outcome"],
            "Policies that were applied, and that failed: documents that are no policy, and policies that could not be applied.";
        POLICY_FAULT = "ringfence_policy_source_fault", Gauge, SERVICE,
            "1 while the newest document of the policy is none, so that the policy before it stays; 0 too where no document is read.";
        QUEUED = "ringfence_queued", Gauge, SERVICE, "Calls that wait for a place among those in flight.";
        UP = "ringfence_up", Gauge, SERVICE, "1 while the balancer's task runs and there is a view.";
    }

    /// Those of single instances.
    INSTANCES, optional: true {
        INSTANCE_ATTEMPTS = "ringfence_instance_attempts_total", Counter, INSTANCE,
            "Attempts at the instance since it came.";
        INSTANCE_FAILURES = "ringfence_instance_attempt_failures_total", Counter, INSTANCE,
            "Attempts at the instance that failed.";
        INSTANCE_IN_FLIGHT = "ringfence_instance_in_flight", Gauge, INSTANCE,
            "Attempts that are running at the instance.";
        INSTANCE_USABLE = "ringfence_instance_usable", Gauge, INSTANCE,
            "1 while requests may go to the instance.";
        INSTANCE_SHARE = "ringfence_instance_ring_share_ratio", Gauge, INSTANCE,
            "Part of the key space that the instance owns.";
        INSTANCE_LOAD = "ringfence_instance_load_ratio", Gauge, INSTANCE,
            "Part of the requests of the last while that the instance had.";
        INSTANCES_OMITTED = "ringfence_instances_omitted", Gauge, SERVICE,
            "Instances that have no series of their own, because there are too many.";
    }

    /// Other names for some, as dashboards of before may have them.
    ALIASES, optional: true {
        RING_SIZE = "ring_size", Gauge, SERVICE,
            "As ringfence_ring_points.";
        SKEW_RATIO = "skew_ratio", Gauge, SERVICE,
            "As ringfence_skew_ratio.";
        MIGRATION_DURATION = "migration_duration", Histogram, &["service", "status"],
            "Seconds from the registry's word of a change that moves keys until requests follow it. Its status is always ok: what failed has no duration, see ringfence_views_total.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The conventions of Prometheus, as far as a name shows them.
    #[test]
    fn names_follow_the_conventions() {
        let mut seen = std::collections::BTreeSet::new();
        for family in families() {
            let Family {
                name,
                help,
                kind,
                labels,
                ..
            } = family;
            assert!(seen.insert(name), "{name} is there twice");
            assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
            assert!(
                help.ends_with('.') && !labels.is_empty() && labels[0] == "service",
                "{name}"
            );
            let is_alias = ALIASES.contains(family);
            let is_time = *kind == Kind::Histogram && !is_alias;
            assert!(!is_time || name.ends_with("_seconds"), "{name}");
            assert_eq!(name.starts_with("ringfence_"), !is_alias, "{name}");
        }
    }
}
