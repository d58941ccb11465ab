use std::sync::Arc;

use ringfence_core::{Absence, EjectionTerm, Evenness, Instance, View};

use super::{InstanceState, RingShares};
use crate::node::Seat;

/// What is known of an instance now.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InstanceStatus {
    /// The instance.
    pub instance: Arc<Instance>,
    /// Whether it takes traffic, is healthy and is kept out by nothing.
    pub usable: bool,
    /// Why it is kept out although the registry says nothing against it.
    pub absence: Option<Absence>,
    /// Whether outlier detection keeps it out.
    pub ejected: bool,
    /// Why it does and until when.
    pub ejection: Option<EjectionTerm>,
    /// Whether it came back from an ejection and has to prove itself.
    pub on_trial: bool,
    /// Whether it has not yet all of its weight on the ring, see
    /// [`with_slow_start`](crate::BalancerConfig::with_slow_start).
    pub starting_slowly: bool,
    /// Attempts that are running.
    pub in_flight: u64,
    /// Attempts that were begun since it came.
    pub requests: u64,
    /// Those of them that failed.
    pub failures: u64,
    /// Its part of the attempts of the last while, from 0 to 1; an attempt counts half after half a minute. `None` without any.
    pub load_share: Option<f64>,
    /// Its part of the key space on the ring of all instances, see [`RingShares::owned`].
    pub ring_share: Option<f64>,
    /// What its weight asks for, from 0 to 1.
    pub weight_share: f64,
}

impl InstanceStatus {
    /// What it is good for: one state, though several things may be the matter with it.
    #[must_use]
    pub fn state(&self) -> InstanceState {
        InstanceState::of(&self.instance, self.absence)
    }
}

/// One for each seat, in their order, which is that of the view's snapshot.
pub(crate) fn statuses(
    seats: &[Arc<Seat>],
    view: &View,
    shares: &RingShares,
) -> Vec<InstanceStatus> {
    let total: f64 = seats.iter().map(|seat| seat.node.recent_load()).sum();
    let status = |(index, seat): (usize, &Arc<Seat>)| {
        let node = &seat.node;
        let absence = node.absence();
        let owned = shares.owned.as_ref();
        let weight = seat.instance.weight().get();
        let ring_weight = u32::try_from(index).map(|place| view.snapshot().ring_weight(place));
        InstanceStatus {
            usable: seat.instance.is_usable() && absence.is_none(),
            absence,
            ejected: node.is_ejected(),
            ejection: node.term(),
            on_trial: node.is_on_trial(),
            // The ring has nothing of one that is switched off, whatever its weight.
            starting_slowly: seat.instance.is_enabled()
                && ring_weight.is_ok_and(|on_ring| on_ring < weight),
            in_flight: node.in_flight(),
            requests: node.requests(),
            failures: node.failures(),
            load_share: (total > 0.0).then(|| node.recent_load() / total),
            ring_share: owned.and_then(|owned| owned.get(index).copied()),
            weight_share: shares.asked.get(index).copied().unwrap_or_default(),
            instance: Arc::clone(&seat.instance),
        }
    };
    seats.iter().enumerate().map(status).collect()
}

/// The largest part of the recent load, compared with what the weight of its instance asks for among those that are usable; `None`
/// with too few requests to tell.
pub(crate) fn skew(instances: &[InstanceStatus], seats: &[Arc<Seat>]) -> Option<f64> {
    const ENOUGH_EACH: f64 = 10.0;
    let usable = instances
        .iter()
        .zip(seats)
        .filter(|(status, _)| status.usable);
    let pairs: Vec<(f64, f64)> = usable
        .map(|(status, seat)| (seat.node.recent_load(), status.weight_share))
        .collect();
    let (load, asked) = pairs.iter().fold((0.0, 0.0), |(load, asked), pair| {
        (load + pair.0, asked + pair.1)
    });
    let count = f64::from(u32::try_from(pairs.len()).unwrap_or(u32::MAX));
    if load < ENOUGH_EACH * count.max(1.0) || asked <= 0.0 {
        return None;
    }
    let pairs = pairs
        .iter()
        .map(|(part, share)| (part / load, share / asked));
    Evenness::of(pairs).map(|evenness| evenness.max_over_mean)
}
