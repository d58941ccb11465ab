//! From a policy that was set to the one in force.

use std::{mem, sync::Arc};

use tracing::{error, info};

use super::Task;
use crate::CompiledPolicy;

impl Task {
    /// Sets the policy that the source gave, as anyone may.
    pub(super) fn policy_read(&mut self, policy: Option<Arc<CompiledPolicy>>) {
        if let Some(policy) = policy {
            self.shared.policies.send_replace(Some(policy));
        }
    }

    /// Takes the policy that was set last.
    pub(super) async fn policy_set(&mut self) {
        let newest = self.policies.borrow_and_update().clone();
        let before = mem::replace(&mut self.policy, newest);
        if same(before.as_ref(), self.policy.as_ref()) {
            return;
        }
        let routes = self.routes.plans_changed();
        if self.shared.cell.load().is_none() {
            // The first view takes it.
            return;
        }
        if self.republish().await {
            self.report.policies_applied += 1;
            let epoch = self.shared.cell.load().as_ref().map(|s| s.view.epoch());
            let plans = self.policy.as_ref().map_or(0, |p| p.plans().len());
            info!(service = %self.shared.service, epoch, plans, "policy applied");
        } else {
            // Else no later snapshot would come through either.
            error!(service = %self.shared.service, "the policy cannot be applied, the last one stays");
            self.report.policies_failed += 1;
            self.policy = before;
            self.routes.restore(routes);
        }
    }
}

pub(super) fn same(one: Option<&Arc<CompiledPolicy>>, other: Option<&Arc<CompiledPolicy>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}
