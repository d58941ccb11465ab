//! Reports of failing nodes, and the ends of their ejections.

use std::time::Instant;

use ringfence_core::EjectionVerdict;
use tracing::{debug, info, warn};

use super::{Task, now};
use crate::node::NodeIdentity;

/// Reports judged before the task looks at the registry again.
const BATCH: usize = 1_024;

impl Task {
    /// Judges all nodes whose reports are there, so that many ejections make one view.
    pub(super) async fn failing(&mut self, first: NodeIdentity) {
        let mut changed = self.judge(first);
        for _ in 0..BATCH {
            let Ok(next) = self.failures.try_recv() else {
                break;
            };
            changed |= self.judge(next);
        }
        if changed {
            self.republish().await;
        }
    }

    /// Decides on a node that keeps failing; true if it is ejected now.
    fn judge(&mut self, identity: NodeIdentity) -> bool {
        let Some(node) = self.table.get(&identity) else {
            return false;
        };
        let state = self.shared.cell.load_full();
        let instance = state
            .as_ref()
            .and_then(|state| state.view.snapshot().get(identity.id().as_str()))
            .filter(|instance| NodeIdentity::of(instance) == identity);
        let Some(instance) = instance.filter(|instance| instance.takes_traffic()) else {
            node.failure_handled();
            return false;
        };
        let healthy = instance.is_healthy();
        match self
            .detector
            .failing(&identity, healthy, fastrand::f64(), now())
        {
            EjectionVerdict::Ejected { length, times } => {
                node.set_ejected(true);
                node.failure_handled();
                self.report.ejections += 1;
                self.limit_told = false;
                let (instance, address) = (identity.id(), node.address());
                info!(%instance, %address, ?length, times, "instance ejected");
                true
            }
            EjectionVerdict::AtLimit => {
                let instance = identity.id();
                if self.limit_told {
                    debug!(%instance, "failing instance stays, the limit is reached");
                } else {
                    self.limit_told = true;
                    let percent = self.shared.config.outlier().max_ejection_percent();
                    warn!(%instance, max_ejection_percent = percent, "failing instance stays, the limit of ejections is reached; more of them are not told of");
                }
                self.report.ejections_refused += 1;
                self.refused.push(identity);
                false
            }
            // Ejected already; or a verdict of a later version, which ejected nobody either.
            _ => {
                node.failure_handled();
                false
            }
        }
    }

    pub(super) async fn outliers_due(&mut self, now: Instant) {
        let recorded: Vec<_> = self.detector.recorded().cloned().collect();
        for identity in recorded {
            if let Some(node) = self.table.get(&identity).filter(|node| !node.is_ejected()) {
                self.detector.succeeded(&identity, node.take_successes());
            }
        }
        let returned = self.detector.due(now);
        if !returned.is_empty() {
            self.mark(&returned, false);
            self.ask_again();
            self.republish().await;
        }
    }

    pub(super) fn mark(&self, identities: &[NodeIdentity], ejected: bool) {
        for identity in identities {
            let node = self.table.get(identity);
            if node.is_some_and(|node| node.set_ejected(ejected)) && !ejected {
                info!(instance = %identity.id(), "ejection is over");
            }
        }
    }

    /// The limits may allow more now.
    pub(super) fn ask_again(&mut self) {
        for identity in self.refused.drain(..) {
            if let Some(node) = self.table.get(&identity) {
                node.failure_handled();
            }
        }
    }
}
