//! From what a request asks for to the pools that it may use.

mod key;
mod plan;
mod rules;
mod spill;
mod stage;
mod tags;
mod template;
#[cfg(test)]
mod tests;
mod values;

pub use self::{
    key::RouteKey,
    plan::{PlanId, RoutePlan, RoutePlans},
    rules::{Fallback, TagRouting, TagRule},
    spill::Spill,
    stage::Stage,
    tags::RequestTags,
    template::{ShardSeed, StageTemplate},
    values::TagValues,
};
