use ringfence_core::{PlanId, RoutePlan, RoutePlans};

use crate::PolicyError;

/// Most plans. Each has at least one prepared route in every view.
const MAX_PLANS: usize = 20_000;

/// The plans so far. Rules that route alike share one.
#[derive(Debug, Default)]
pub(super) struct PlanTable {
    plans: Vec<RoutePlan>,
    /// By a hash of what they look like, because plans have none of their own.
    known: std::collections::HashMap<String, PlanId>,
}

impl PlanTable {
    pub(super) fn place(&mut self, plan: RoutePlan) -> Result<PlanId, PolicyError> {
        let shown = format!("{plan:?}");
        if let Some(id) = self.known.get(&shown) {
            return Ok(*id);
        }
        if self.plans.len() == MAX_PLANS {
            let reason = format!(
                "rules, releases and tenants with rings of their own make more than {MAX_PLANS} different plans"
            );
            return Err(PolicyError::new("", reason));
        }
        let id = PlanId::nth(self.plans.len());
        self.plans.push(plan);
        self.known.insert(shown, id);
        Ok(id)
    }

    pub(super) fn into_plans(self) -> RoutePlans {
        RoutePlans::new(self.plans)
    }
}
