//! What is done about instances that come and go.

use std::{collections::HashSet, sync::Arc, time::Instant};

use ringfence_core::{Absence, Snapshot};
use tracing::{debug, info};

use super::{Task, now, warm_ups::Ended};
use crate::node::{NodeIdentity, Seat};

impl Task {
    /// Finds those that are new, before their first view.
    pub(super) fn welcome(&mut self, seats: &[Arc<Seat>]) {
        let is_slow = !self.shared.config.slow_start().window().is_zero();
        if !is_slow && !self.warm_ups.is_on() {
            return;
        }
        let provenance = self.supervisor.status().provenance.as_ref();
        if provenance.is_some_and(|provenance| !provenance.is_live()) {
            // Those of the first live list are not new, however old the copy before it is.
            return;
        }
        let takers = seats.iter().filter(|seat| seat.instance.takes_traffic());
        let identities = takers.clone().map(|seat| NodeIdentity::of(&seat.instance));
        let new: HashSet<_> = self
            .newcomers
            .resize(identities, now())
            .into_iter()
            .collect();
        for seat in takers {
            let identity = NodeIdentity::of(&seat.instance);
            if self.warm_ups.is_on()
                && (new.contains(&identity) || self.warm_ups.was_cut(&identity))
            {
                seat.node.withhold(Absence::Warming, true);
                self.warm_ups.add(Arc::clone(seat), &self.shared.service);
            }
        }
        for identity in new {
            self.slow_start.begin(identity, now());
        }
        let newcomers = &self.newcomers;
        self.slow_start
            .retain(|identity| newcomers.is_known(identity));
        self.warm_ups.cut_off(newcomers);
    }

    /// Lets requests go to instances that are warm, all at once that are.
    pub(super) async fn warmed(&mut self, first: Ended) {
        let mut next = Some(first);
        let mut is_change = false;
        while let Some(Ended { identity, error }) = next {
            let instance = identity.id();
            match error {
                None => debug!(service = %self.shared.service, %instance, "instance is warm"),
                Some(error) => {
                    info!(service = %self.shared.service, %instance, error, "instance is not warm and gets requests all the same");
                    self.report.warm_ups_failed += 1;
                }
            }
            if let Some(node) = self.table.get(&identity) {
                is_change |= node.withhold(Absence::Warming, false);
            }
            self.slow_start.begin(identity, now());
            next = self.warm_ups.try_next();
        }
        if is_change {
            self.republish().await;
        }
    }

    /// Those that get no requests yet have not begun to start.
    pub(super) fn hold_slow_starts(&mut self, now: Instant) {
        let state = self.shared.cell.load();
        let seats = state.as_ref().map_or(&[][..], |state| &state.seats);
        for seat in seats.iter() {
            if !seat.instance.is_healthy() || seat.node.absence().is_some() {
                let identity = NodeIdentity::of(&seat.instance);
                if self.slow_start.weight(&identity, 1).is_some() {
                    self.slow_start.begin(identity, now);
                }
            }
        }
    }

    /// The weights of those that start slowly.
    pub(super) fn with_ring_weights(&self, snapshot: &Arc<Snapshot>) -> Arc<Snapshot> {
        snapshot.with_ring_weights(|instance| {
            if self.slow_start.is_empty() {
                return None;
            }
            let weight = instance.weight().get();
            self.slow_start.weight(&NodeIdentity::of(instance), weight)
        })
    }
}

/// Tells those that follow an instance whether it is in the list.
pub(super) fn mark_presence(previous: &[Arc<Seat>], seats: &[Arc<Seat>]) {
    let is_there = |seat: &Arc<Seat>| {
        let found = seats.binary_search_by(|other| other.instance.id().cmp(seat.instance.id()));
        let found = found.ok().and_then(|place| seats.get(place));
        found.is_some_and(|found| Arc::ptr_eq(&found.node, &seat.node))
    };
    for seat in previous.iter().filter(|seat| !is_there(seat)) {
        seat.node.set_present(false);
    }
    for seat in seats {
        seat.node.set_present(true);
    }
}
