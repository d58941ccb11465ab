use std::fmt;

use super::{PlanId, RequestTags};

/// What tells a route from others: the plan, and what of the request's tags decides its stages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteKey {
    plan: PlanId,
    tags: RequestTags,
}

impl RouteKey {
    /// The route of a plan for a request with these tags.
    #[must_use]
    pub fn new(plan: PlanId, tags: RequestTags) -> Self {
        Self { plan, tags }
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> PlanId {
        self.plan
    }

    /// What is asked for.
    pub fn tags(&self) -> &RequestTags {
        &self.tags
    }
}

impl From<RequestTags> for RouteKey {
    /// Of [`PlanId::ROUTING`].
    fn from(tags: RequestTags) -> Self {
        Self::new(PlanId::ROUTING, tags)
    }
}

impl fmt::Display for RouteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {}", self.plan, self.tags)
    }
}
