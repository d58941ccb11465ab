//! From the state of a balancer to values.

use ringfence_balancer::{Balancer, BalancerCounters, InstanceState, InstanceStatus, Status};
use ringfence_core::EjectionCause as Cause;
use ringfence_discovery::ErrorKind;

use crate::{
    families::{self as f, Family},
    samples::Samples,
};

/// What is read of a balancer besides what is always read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    /// The most instances that have series of their own.
    pub(crate) instances: usize,
    pub(crate) aliases: bool,
}

pub(crate) fn read(balancer: &Balancer, extent: Extent, samples: &mut Samples) {
    let status = balancer.status();
    let service = status.service.to_string();
    let mut reading = Reading {
        service: &service,
        samples,
    };
    reading.counters(&status.counters);
    reading.policies(&status);
    reading.watch(&status);
    reading.membership(&status);
    let instances = balancer.instances();
    reading.states(&instances);
    reading.ring(balancer, extent);
    if extent.instances > 0 {
        reading.each(&instances, extent.instances);
    }
}

struct Reading<'a> {
    service: &'a str,
    samples: &'a mut Samples,
}

impl Reading<'_> {
    fn set(&mut self, family: Family, value: f64) {
        self.samples.set(family, &[self.service], value);
    }

    fn flag(&mut self, family: Family, is_set: bool) {
        self.set(family, f64::from(u8::from(is_set)));
    }

    fn count(&mut self, family: Family, value: u64) {
        self.samples.count(family, &[self.service], value);
    }

    fn count_by(&mut self, family: Family, counts: &[(&str, u64)]) {
        for (label, value) in counts {
            self.samples.count(family, &[self.service, label], *value);
        }
    }

    fn counters(&mut self, c: &BalancerCounters) {
        self.count(f::PICKS, c.picks);
        self.count(f::PICKS_WITHOUT_KEY, c.picks_without_key);
        self.count(f::PICKS_UNPREPARED, c.picks_unprepared);
        self.count(f::EJECTIONS_REFUSED, c.ejections_refused);
        self.count(f::AUDIT_LOST, c.audit_lost);
        self.count_by(
            f::PICKS_FAILED,
            &[
                ("no_instances", c.picks_no_instances),
                ("overloaded", c.picks_overloaded),
            ],
        );
        self.count_by(
            f::FALLBACKS,
            &[
                ("stage", c.picks_fallback),
                ("spill", c.picks_spilled),
                ("overflow", c.picks_overflow),
                ("panic", c.picks_in_panic),
            ],
        );
        self.count_by(
            f::HOPS,
            &[
                ("granted", c.hops_granted),
                ("denied", c.hops_denied),
                ("free", c.hops_free),
            ],
        );
        self.count_by(
            f::FAILURES,
            &[
                ("connect", c.failures_connect),
                ("timeout", c.failures_timeout),
                ("reset", c.failures_reset),
                ("status", c.failures_status),
            ],
        );
        self.count_by(
            f::EJECTIONS,
            &[
                (Cause::ConsecutiveFailures.label(), c.ejections_by_failures),
                (
                    Cause::ConsecutiveConnectFailures.label(),
                    c.ejections_by_connect_failures,
                ),
                (Cause::SuccessRate.label(), c.ejections_by_success_rate),
                (
                    Cause::FailurePercentage.label(),
                    c.ejections_by_failure_percentage,
                ),
                (Cause::TrialFailed.label(), c.ejections_by_trial),
            ],
        );
        self.count_by(
            f::CHANGES,
            &[
                ("added", c.instances_added),
                ("removed", c.instances_removed),
                ("health_lost", c.health_lost),
                ("health_regained", c.health_regained),
            ],
        );
        self.count_by(
            f::VIEWS,
            &[
                ("published", c.views_published),
                ("discarded", c.views_discarded),
                ("failed", c.views_failed),
            ],
        );
    }

    fn policies(&mut self, status: &Status) {
        let source = status.policy_source.as_ref();
        let rejected = source.map_or(0, |source| source.rejected);
        self.flag(
            f::POLICY_FAULT,
            source.is_some_and(|source| source.fault.is_some()),
        );
        let counters = &status.counters;
        self.count_by(
            f::POLICIES,
            &[
                ("applied", counters.policies_applied),
                ("failed", counters.policies_failed.saturating_add(rejected)),
            ],
        );
    }

    fn watch(&mut self, status: &Status) {
        let watch = &status.watch;
        if let Some(age) = status.since_contact {
            self.set(f::AGE, age.as_secs_f64());
        }
        self.flag(f::STALE, status.stale_for.is_some());
        self.flag(f::HOLDING, watch.held.is_some());
        let errors = ErrorKind::ALL.map(|kind| (kind.as_str(), watch.counters.errors.of(kind)));
        self.count_by(f::REGISTRY_ERRORS, &errors);
        self.count(f::RECORDS_REJECTED, watch.counters.rejected_records);
        self.count_by(
            f::HELD,
            &[
                ("empty", watch.counters.held_empty),
                ("no_such_service", watch.counters.held_no_such_service),
                ("mass_loss", watch.counters.held_mass_loss),
            ],
        );
        self.flag(f::UP, !status.task_gone && status.epoch > 0);
    }

    fn number_by(&mut self, family: Family, numbers: &[(&str, usize)]) {
        for (label, number) in numbers {
            let number = u32::try_from(*number).unwrap_or(u32::MAX);
            self.samples
                .set(family, &[self.service, label], number.into());
        }
    }

    fn membership(&mut self, status: &Status) {
        self.number_by(
            f::POOLS,
            &[("prepared", status.pools), ("panic", status.pools_in_panic)],
        );
        self.count(f::QUEUED, status.queued as u64);
        self.count(f::IN_FLIGHT, status.in_flight);
        self.count(f::IN_FLIGHT_DEPARTED, status.in_flight_departed);
        #[expect(
            clippy::cast_precision_loss,
            reason = "Prometheus has no other numbers"
        )]
        self.set(f::EPOCH, status.epoch as f64);
        if let Some(fingerprint) = status.fingerprint {
            let labels = [self.service, &fingerprint.to_string()];
            self.samples.set(f::FINGERPRINT, &labels, 1.0);
        }
    }

    fn states(&mut self, instances: &[InstanceStatus]) {
        let count = |which: &dyn Fn(&InstanceStatus) -> bool| {
            instances.iter().filter(|status| which(status)).count()
        };
        let states = InstanceState::ALL.map(|state| {
            let number = count(&|status| status.state() == state);
            (state.as_str(), number)
        });
        self.number_by(f::RING_INSTANCES, &states);
        let starting = |status: &InstanceStatus| status.starting_slowly && !status.on_trial;
        self.number_by(
            f::RING_INSTANCES_REDUCED,
            &[
                (
                    "on_trial",
                    count(&|status| status.usable && status.on_trial),
                ),
                (
                    "starting_slowly",
                    count(&|status| status.usable && starting(status)),
                ),
            ],
        );
    }

    fn ring(&mut self, balancer: &Balancer, extent: Extent) {
        if let Some(view) = balancer.view() {
            #[expect(
                clippy::cast_precision_loss,
                reason = "Prometheus has no other numbers"
            )]
            let points = view.whole_ring().len() as f64;
            self.set(f::RING_POINTS, points);
            if extent.aliases {
                self.set(f::RING_SIZE, points);
            }
        }
        if let Some(skew) = balancer.ring_shares().and_then(|shares| shares.skew) {
            self.set(f::ARC_SKEW, skew);
        }
        if let Some(skew) = balancer.observed_skew() {
            self.set(f::SKEW, skew);
            if extent.aliases {
                self.set(f::SKEW_RATIO, skew);
            }
        }
        if balancer.config().hot_keys().is_some() {
            let hot = balancer.hot_keys(1);
            let keys = u32::try_from(hot.hot).unwrap_or(u32::MAX);
            self.set(f::HOT_KEYS, keys.into());
            if let Some(hottest) = hot.hottest.first() {
                self.set(f::HOTTEST_KEY, hottest.share);
            }
        }
    }

    fn each(&mut self, instances: &[InstanceStatus], most: usize) {
        let omitted = instances.len().saturating_sub(most);
        self.set(
            f::INSTANCES_OMITTED,
            f64::from(u32::try_from(omitted).unwrap_or(u32::MAX)),
        );
        for status in instances.iter().take(most) {
            let labels = [self.service, status.instance.id().as_str()];
            let samples = &mut *self.samples;
            samples.count(f::INSTANCE_ATTEMPTS, &labels, status.requests);
            samples.count(f::INSTANCE_FAILURES, &labels, status.failures);
            samples.count(f::INSTANCE_IN_FLIGHT, &labels, status.in_flight);
            samples.set(
                f::INSTANCE_USABLE,
                &labels,
                f64::from(u8::from(status.usable)),
            );
            if let Some(share) = status.ring_share {
                samples.set(f::INSTANCE_SHARE, &labels, share);
            }
            if let Some(load) = status.load_share {
                samples.set(f::INSTANCE_LOAD, &labels, load);
            }
        }
    }
}
