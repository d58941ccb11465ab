//! What becomes of the results of checks.

use tracing::{debug, info};

use super::{Checks, mark};
use crate::{
    node::NodeIdentity,
    task::{
        Task, now,
        runner::{Ended, ProbeFault},
    },
};

/// Results taken in before the task looks at the registry again.
const BATCH: usize = 1_024;

/// A check that has ended.
pub(in crate::task) struct Checked {
    identity: NodeIdentity,
    result: Result<(), ProbeFault>,
}

impl From<Ended<Result<(), ProbeFault>>> for Checked {
    fn from((identity, result): Ended<Result<(), ProbeFault>>) -> Self {
        let result = result.unwrap_or_else(|panicked| Err(panicked.into()));
        Self { identity, result }
    }
}

impl Checks {
    fn try_next(&mut self) -> Option<Checked> {
        self.runner.try_next().map(Checked::from)
    }

    /// Takes a result in. Returns whether the instance went up or down.
    fn take(&mut self, identity: &NodeIdentity, result: &Result<(), ProbeFault>) -> bool {
        let (now, draw) = (now(), fastrand::f64());
        let Some(row) = self.rows.get_mut(identity) else {
            return false;
        };
        let wait = if row.record.is_checked() {
            self.config.wait(draw)
        } else {
            self.config.second_wait(draw)
        };
        let is_first = !row.record.is_checked();
        let flipped = row.record.record(result.is_ok(), &self.config);
        let up = row.record.is_up();
        if flipped {
            mark(&row.seat, &row.record);
        }
        let (instance, address) = (identity.id(), row.seat.node.address());
        let service = &self.service;
        match (flipped, result) {
            (true, Ok(())) => info!(%service, %instance, %address, "instance passes its checks"),
            (true, Err(fault)) => {
                info!(%service, %instance, %address, %fault, "instance fails its checks")
            }
            (false, Err(fault)) if is_first && !up => {
                info!(%service, %instance, %address, %fault, "new instance is not used yet, it fails its checks");
            }
            (false, Err(fault)) => {
                debug!(%service, %instance, %address, %fault, up, "check failed")
            }
            (false, Ok(())) => {}
        }
        let at = (row.started + wait).max(now);
        let next = self.enqueue(identity.clone(), at);
        if let Some(row) = self.rows.get_mut(identity) {
            row.next = next;
        }
        flipped
    }
}

impl Task {
    /// Takes in all results that are there, so that many of them make one view.
    pub(in crate::task) async fn checked(&mut self, first: Checked) {
        let mut changed = self.take_check(first);
        for _ in 0..BATCH {
            let Some(next) = self.checks.as_mut().and_then(Checks::try_next) else {
                break;
            };
            changed |= self.take_check(next);
        }
        if changed {
            self.republish().await;
        }
    }

    fn take_check(&mut self, checked: Checked) -> bool {
        let Some(checks) = &mut self.checks else {
            return false;
        };
        let Checked { identity, result } = checked;
        let report = &mut self.report;
        let (counter, flips) = match &result {
            Ok(()) => (&mut report.checks_passed, &mut report.checks_regained),
            Err(ProbeFault::Failed(_) | ProbeFault::Panicked) => {
                (&mut report.checks_failed, &mut report.checks_lost)
            }
            Err(ProbeFault::TimedOut) => (&mut report.checks_timed_out, &mut report.checks_lost),
        };
        *counter += 1;
        let flipped = checks.take(&identity, &result);
        *flips += u64::from(flipped);
        flipped
    }
}
