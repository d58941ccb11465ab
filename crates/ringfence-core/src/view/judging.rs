//! Puts the stages of a plan before the judge.

use std::sync::Arc;

use super::{
    builder::Builder,
    judge::{Judge, Judgement},
};
use crate::{
    pool::Pool,
    routing::{RequestTags, RoutePlan, Stage},
};

impl Builder<'_> {
    /// The outcomes of the stages that matter, and those that serve.
    pub(super) fn judge(&mut self, plan: &RoutePlan, tags: &RequestTags) -> Judgement<Pool> {
        let mut judge = Judge::new(self.panic_threshold());
        let mut stages = plan.stages(tags).into_iter();
        for stage in stages.by_ref() {
            let pool = self.select_for(&stage);
            let standing = self.standing(&pool);
            if judge.is_end(stage, pool, standing) {
                break;
            }
        }
        for stage in stages {
            if !judge.looks_on() {
                break;
            }
            let pool = self.select_for(&stage);
            let standing = self.standing(&pool);
            judge.look_on(&stage, pool, standing);
        }
        judge.done()
    }

    fn select_for(&mut self, stage: &Stage) -> Arc<Pool> {
        match stage {
            Stage::Try { pool, .. } => self.select(pool),
            Stage::StopIfRegistered(selector) => self.select(&selector.clone().into()),
        }
    }
}
