use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::PoolView;
use crate::routing::Stage;

/// The stages of one set of request tags, judged against one view.
#[derive(Clone, Debug)]
pub struct Route {
    stages: Box<[StageOutcome]>,
    chosen: Option<(usize, Arc<PoolView>)>,
    used: Arc<AtomicBool>,
}

/// What a stage found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StageOutcome {
    /// The stage.
    pub stage: Stage,
    /// Instances that match.
    pub members: usize,
    /// Those of them that take traffic, are healthy and are not ejected.
    pub usable: usize,
}

impl Route {
    pub(super) fn new(
        stages: Vec<StageOutcome>,
        chosen: Option<(usize, Arc<PoolView>)>,
        used: Arc<AtomicBool>,
    ) -> Self {
        Self {
            stages: stages.into(),
            chosen,
            used,
        }
    }

    /// The pool that serves: that of the first stage with enough usable instances, else that of the first whose pool is in
    /// panic; `None` when there is none. The number is the stage's place, so 0 means that nothing was fallen back from.
    #[must_use]
    pub fn chosen(&self) -> Option<(usize, &PoolView)> {
        self.chosen.as_ref().map(|(stage, pool)| (*stage, &**pool))
    }

    /// What was tried, in order.
    #[must_use]
    pub fn stages(&self) -> &[StageOutcome] {
        &self.stages
    }

    /// Notes that a request took this route; the note is shared by all views that keep the route.
    pub fn mark_used(&self) {
        // A store on every request would make all cores fight for the line.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a request took this route since the last call.
    #[must_use]
    pub fn take_used(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }

    pub(super) fn used(&self) -> &Arc<AtomicBool> {
        &self.used
    }
}

impl fmt::Display for StageOutcome {
    /// `[version=gray: 1 usable of 2]`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strict = if matches!(self.stage, Stage::StopIfRegistered(_)) {
            "strict "
        } else {
            ""
        };
        write!(
            f,
            "[{strict}{}: {} usable of {}]",
            self.stage.selector(),
            self.usable,
            self.members
        )
    }
}
