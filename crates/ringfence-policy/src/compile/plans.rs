use std::collections::HashMap;

use ringfence_core::{PlanId, RoutePlan, RoutePlans};

use crate::PolicyError;

/// Most combinations of a rule, a release that it names and a kind of tenant: each is worked out, even if it then shares the plan
/// of another.
const MAX_COMBINATIONS: usize = 100_000;
/// Most plans. Each has at least one prepared route in every view.
const MAX_PLANS: usize = 10_000;
/// Most plans with rings of their own: as many as a balancer keeps pools by default.
const MAX_OWN_RINGS: usize = 1_024;

/// The plans so far. Rules that route alike share one.
#[derive(Debug, Default)]
pub(super) struct PlanTable {
    plans: Vec<RoutePlan>,
    /// By what they look like, because plans have no hash.
    known: HashMap<String, PlanId>,
    combinations: usize,
    own_rings: usize,
}

impl PlanTable {
    /// Makes sure that the combinations of a rule are not too many before they are worked out.
    pub(super) fn announce(&mut self, path: &str, combinations: usize) -> Result<(), PolicyError> {
        self.combinations = self.combinations.saturating_add(combinations);
        if self.combinations > MAX_COMBINATIONS {
            let reason = format!(
                "the rules up to here have more than {MAX_COMBINATIONS} combinations with the releases that they name and the kinds of tenants"
            );
            return Err(PolicyError::new(path, reason));
        }
        Ok(())
    }

    pub(super) fn place(
        &mut self,
        plan: RoutePlan,
        has_own_ring: bool,
    ) -> Result<PlanId, PolicyError> {
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
        self.own_rings += usize::from(has_own_ring);
        if self.own_rings > MAX_OWN_RINGS {
            let reason = format!(
                "tenants with `own_ring`, rules and releases make more than {MAX_OWN_RINGS} rings; `salted` needs none"
            );
            return Err(PolicyError::new("tenants", reason));
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
