use std::{collections::BTreeSet, fmt, sync::Arc};

use super::{RequestTags, Stage, StageTemplate, TagRouting, TagValues};
use crate::{ConfigError, pool::Attribute};

/// How the requests of one kind find their pool: by [`TagRouting`], or by a list of [`StageTemplate`]s.
///
/// # Examples
/// See [`StageTemplate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutePlan(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Tags(TagRouting),
    Stages {
        templates: Box<[StageTemplate]>,
        asks: Box<[Attribute]>,
    },
}

impl From<TagRouting> for RoutePlan {
    fn from(routing: TagRouting) -> Self {
        Self(Kind::Tags(routing))
    }
}

impl RoutePlan {
    /// These stages, in this order; the first one with enough usable instances serves.
    ///
    /// # Errors
    /// [`ConfigError`] where one of them has a [ring of its own](StageTemplate::with_ring_seed) and any depends on what the
    /// request asks for: then there were requests whose ring is not made yet.
    pub fn of_stages(
        templates: impl IntoIterator<Item = StageTemplate>,
    ) -> Result<Self, ConfigError> {
        let templates: Box<[_]> = templates.into_iter().collect();
        let asks: BTreeSet<&Attribute> = templates.iter().flat_map(StageTemplate::asks).collect();
        let asks: Box<[_]> = asks.into_iter().cloned().collect();
        if let Some(asked) = asks.first()
            && templates.iter().any(StageTemplate::has_own_ring)
        {
            return Err(ConfigError::refused(
                "ring_seed",
                format!("set in a plan that depends on the {asked} of the request"),
                "only where nothing depends on the request",
            ));
        }
        Ok(Self(Kind::Stages { templates, asks }))
    }

    /// The stages for a request with these tags, in the order in which they are tried.
    #[must_use]
    pub fn stages(&self, tags: &RequestTags) -> Vec<Stage> {
        match &self.0 {
            Kind::Tags(routing) => routing.stages(tags),
            Kind::Stages { templates, .. } => {
                let mut stages = Vec::with_capacity(templates.len());
                for template in templates {
                    template.expand(tags, &mut stages);
                }
                stages
            }
        }
    }

    /// The attributes whose requested value decides the stages, in their order; `None`: all may.
    #[must_use]
    pub fn asks(&self) -> Option<&[Attribute]> {
        match &self.0 {
            Kind::Tags(_) => None,
            Kind::Stages { asks, .. } => Some(asks),
        }
    }

    /// What of a request's tags decides the stages.
    pub fn relevant<T: TagValues + ?Sized>(&self, tags: &T) -> RequestTags {
        let mut relevant = RequestTags::new();
        match self.asks() {
            Some(asks) => {
                for attribute in asks {
                    if let Some(value) = tags.value(attribute) {
                        relevant.put(attribute.clone(), value);
                    }
                }
            }
            None => tags.each(&mut |attribute, value| relevant.put(attribute.clone(), value)),
        }
        relevant
    }
}

/// Which [`RoutePlan`] a request takes.
///
/// # Examples
/// ```
/// use ringfence_core::PlanId;
///
/// assert_eq!(PlanId::default(), PlanId::ROUTING);
/// assert_eq!(PlanId::nth(0).to_string(), "plan 0 of the policy");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlanId(u32);

impl PlanId {
    /// The plan of a view without policy: that of its [`TagRouting`]. It is there beside all others.
    pub const ROUTING: Self = Self(0);

    /// The plan at a place in [`RoutePlans`], from 0. A place that no list can have stands for no plan.
    #[must_use]
    pub fn nth(place: usize) -> Self {
        Self(u32::try_from(place).map_or(u32::MAX, |place| place.saturating_add(1)))
    }

    /// The place in [`RoutePlans`]; `None` for [`ROUTING`](Self::ROUTING).
    #[must_use]
    pub fn place(self) -> Option<usize> {
        self.0.checked_sub(1).map(|place| place as usize)
    }

    /// Number of the plan among all, [`ROUTING`](Self::ROUTING) being the first.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place() {
            None => f.write_str("routing"),
            Some(place) => write!(f, "plan {place} of the policy"),
        }
    }
}

/// The plans of a policy, besides the [`TagRouting`] of the view. Clones share one list.
///
/// A plan on which no request's tags have an influence has one route, and one with an influence has one without tags: these are
/// always prepared and never dropped. So keep to as many plans as there are rules and named tenants.
#[derive(Clone, Debug, Default)]
pub struct RoutePlans(Arc<[RoutePlan]>);

impl RoutePlans {
    /// These plans, in this order.
    pub fn new(plans: impl IntoIterator<Item = RoutePlan>) -> Self {
        Self(plans.into_iter().collect())
    }

    /// The plan at a place; `None` for [`PlanId::ROUTING`], which is the view's own, and where there is none.
    #[must_use]
    pub fn get(&self, plan: PlanId) -> Option<&RoutePlan> {
        self.0.get(plan.place()?)
    }

    /// The plans with their ids, in their order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (PlanId, &RoutePlan)> {
        self.0
            .iter()
            .enumerate()
            .map(|(place, plan)| (PlanId::nth(place), plan))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both are one list, or equal ones: then a [`PlanId`] means the same in both.
    pub(crate) fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl FromIterator<RoutePlan> for RoutePlans {
    fn from_iter<I: IntoIterator<Item = RoutePlan>>(plans: I) -> Self {
        Self::new(plans)
    }
}
