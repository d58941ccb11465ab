//! Flap damping: who is withheld because it came and went.

use std::sync::Arc;

use ringfence_core::{Absence, FlapDamper, FlapMember};
use tracing::info;

use super::{Task, now};
use crate::node::{NodeIdentity, Seat};

impl Task {
    /// Judges the instances anew. Returns whether that changed who is withheld.
    pub(super) fn damp(&mut self, seats: &[Arc<Seat>]) -> bool {
        let Some(damper) = &mut self.damper else {
            return false;
        };
        let identities: Vec<_> = seats
            .iter()
            .map(|seat| NodeIdentity::of(&seat.instance))
            .collect();
        let members: Vec<_> = seats
            .iter()
            .zip(&identities)
            .map(|(seat, key)| {
                let fails = seat.node.is_withheld(Absence::FailsChecks);
                let serves = seat.instance.is_healthy() && !fails;
                let is_out = seat.node.is_ejected() || seat.node.is_withheld(Absence::Warming);
                FlapMember {
                    key,
                    serves,
                    takes_traffic: seat.instance.takes_traffic(),
                    usable: serves && seat.instance.is_usable() && !is_out,
                }
            })
            .collect();
        let floor = self.shared.config.panic_threshold();
        let withheld = damper.update(&members, floor, now());
        let mut places = withheld.into_iter().collect::<Vec<_>>();
        places.sort_unstable();
        let mut changed = false;
        for (place, seat) in seats.iter().enumerate() {
            let damp = places.binary_search(&place).is_ok();
            if !seat.node.withhold(Absence::Damped, damp) {
                continue;
            }
            changed = true;
            let (instance, address) = (seat.node.id(), seat.node.address());
            if damp {
                self.report.damped += 1;
                info!(service = %self.shared.service, %instance, %address, "instance is back and not used yet");
            } else {
                info!(service = %self.shared.service, %instance, %address, "instance is used again");
            }
        }
        self.report.flaps = damper.flaps();
        self.report.suppressed = damper.suppressed();
        changed
    }

    /// Lets those in whose time is over.
    pub(super) async fn damping_due(&mut self) {
        let Some(state) = self.shared.cell.load_full() else {
            return;
        };
        if self.damp(&state.seats) {
            self.republish().await;
        }
    }
}

/// When [`Task::damping_due`] is to be called.
pub(super) fn deadline(damper: Option<&FlapDamper<NodeIdentity>>) -> Option<std::time::Instant> {
    damper.and_then(FlapDamper::deadline)
}
