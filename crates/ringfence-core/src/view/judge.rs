//! Which stages of a plan serve, given what is known of the instances.

use std::sync::Arc;

use super::StageOutcome;
use crate::{pool::Pool, routing::Stage};

/// What is known of the members of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// Members that take traffic, are healthy and not ejected.
    pub(super) usable: usize,
    /// Members that take traffic, whatever their health.
    pub(super) takers: usize,
    /// Weight of the usable ones.
    pub(super) usable_weight: u64,
    /// Weight of those that take traffic.
    pub(super) weight: u64,
    /// Members that warm up, and are not there yet.
    pub(super) warming: usize,
}

impl Standing {
    /// Whether too few of the members that take traffic are usable to trust what is known of their health.
    pub(super) fn is_panic(&self, threshold: u8) -> bool {
        self.usable * 100 < self.takers * usize::from(threshold)
    }
}

/// Goes through stages up to the one that serves whatever keys are left.
#[derive(Debug)]
pub(super) struct Judge {
    panic_threshold: u8,
    /// A stage ended the search for what lies behind it, too.
    is_stopped: bool,
    /// The last stage with usable instances that is not in panic: none before it needs its unusable ones.
    last_well: Option<usize>,
    outcomes: Vec<StageOutcome>,
    choices: Vec<Choice<Pool>>,
    /// Stages looked at behind the end.
    looked: usize,
    /// The first stage behind the end that could serve, too.
    reserve: Option<Choice<Pool>>,
    /// Serves where no stage has enough: the first with any usable instance, else the first that may serve in panic.
    last_resort: Option<(bool, Choice<Pool>)>,
}

/// A stage that serves, at least some keys.
#[derive(Clone, Debug)]
pub(super) struct Choice<P> {
    /// Its place.
    pub(super) stage: usize,
    pub(super) pool: Arc<P>,
    /// Share of the keys that leave it, in permille; 0 for the last one.
    pub(super) spilled: u16,
    /// Health counts whatever the panic threshold, because a later stage has usable instances.
    pub(super) is_calm: bool,
}

/// What became of the stages of a plan.
#[derive(Debug)]
pub(super) struct Judgement<P> {
    /// Those up to the one that serves whatever keys are left.
    pub(super) outcomes: Vec<StageOutcome>,
    /// Those that serve.
    pub(super) choices: Vec<Choice<P>>,
    /// The one behind them that could.
    pub(super) reserve: Option<Choice<P>>,
}

impl<P> Judgement<P> {
    /// The same with the views of the pools, for which whether to heed health whatever the threshold counts.
    pub(super) fn map<Q>(self, mut view: impl FnMut(Arc<P>, bool) -> Arc<Q>) -> Judgement<Q> {
        let mut map = |choice: Choice<P>| {
            let is_calm = choice.is_calm;
            choice.map(|pool| view(pool, is_calm))
        };
        Judgement {
            outcomes: self.outcomes,
            choices: self.choices.into_iter().map(&mut map).collect(),
            reserve: self.reserve.map(map),
        }
    }
}

impl<P> Choice<P> {
    fn map<Q>(self, pool: impl FnOnce(Arc<P>) -> Arc<Q>) -> Choice<Q> {
        Choice {
            stage: self.stage,
            pool: pool(self.pool),
            spilled: self.spilled,
            is_calm: self.is_calm,
        }
    }
}

impl Judge {
    pub(super) fn new(panic_threshold: u8) -> Self {
        Self {
            panic_threshold,
            is_stopped: false,
            last_well: None,
            outcomes: Vec::new(),
            choices: Vec::new(),
            looked: 0,
            reserve: None,
            last_resort: None,
        }
    }

    /// Judges the next stage; true if it is the last that matters.
    pub(super) fn is_end(&mut self, stage: Stage, pool: Arc<Pool>, standing: Standing) -> bool {
        let (place, members) = (self.outcomes.len(), pool.len());
        self.note_well(place, &stage, standing);
        let serves = stage.is_served_by(standing.usable, members.saturating_sub(standing.warming));
        let mut spilled = 0;
        let is_end = match &stage {
            Stage::StopIfRegistered(_) => {
                self.is_stopped = members > 0;
                self.is_stopped
            }
            Stage::Try { spill, .. } if serves => {
                spilled = spill.map_or(0, |spill| {
                    spill.share(standing.usable_weight, standing.weight)
                });
                self.choices.push(Choice {
                    stage: place,
                    pool,
                    spilled,
                    is_calm: !standing.is_panic(self.panic_threshold),
                });
                spilled == 0
            }
            Stage::Try { .. } => {
                self.note_last_resort(place, pool, standing);
                false
            }
        };
        self.outcomes.push(StageOutcome {
            stage,
            members,
            usable: standing.usable,
            spilled,
        });
        is_end
    }

    fn note_last_resort(&mut self, stage: usize, pool: Arc<Pool>, standing: Standing) {
        let has_usable = standing.usable > 0;
        let serves = has_usable || self.panic_threshold > 0 && standing.takers > 0;
        let is_better = match self.last_resort {
            None => true,
            Some((had_usable, _)) => has_usable && !had_usable,
        };
        if serves && is_better {
            let choice = Choice {
                stage,
                pool,
                spilled: 0,
                is_calm: !standing.is_panic(self.panic_threshold),
            };
            self.last_resort = Some((has_usable, choice));
        }
    }

    fn note_well(&mut self, place: usize, stage: &Stage, standing: Standing) {
        let is_pool = matches!(stage, Stage::Try { .. });
        if is_pool && standing.usable > 0 && !standing.is_panic(self.panic_threshold) {
            self.last_well = Some(place);
        }
    }

    /// Whether stages behind the end still matter: the first that could serve, and, while a pool would be in panic, those that
    /// have usable instances.
    pub(super) fn looks_on(&self) -> bool {
        let is_in_panic = |choice: &Choice<Pool>| {
            !choice.is_calm && self.last_well.is_none_or(|well| well < choice.stage)
        };
        let wants = self.reserve.is_none() || self.choices.iter().any(is_in_panic);
        !self.is_stopped && !self.choices.is_empty() && wants
    }

    /// Looks at a stage behind the end.
    pub(super) fn look_on(&mut self, stage: &Stage, pool: Arc<Pool>, standing: Standing) {
        let (place, members) = (self.outcomes.len() + self.looked, pool.len());
        self.looked += 1;
        if let Stage::StopIfRegistered(_) = stage {
            self.is_stopped = members > 0;
            return;
        }
        self.note_well(place, stage, standing);
        let serves = stage.is_served_by(standing.usable, members.saturating_sub(standing.warming));
        if serves && self.last_well == Some(place) && self.reserve.is_none() {
            self.reserve = Some(Choice {
                stage: place,
                pool,
                spilled: 0,
                is_calm: true,
            });
        }
    }

    pub(super) fn done(mut self) -> Judgement<Pool> {
        // Nobody is left whom the last one could pass anything on to.
        if let Some(last) = self.choices.last_mut() {
            last.spilled = 0;
            if let Some(outcome) = self.outcomes.get_mut(last.stage) {
                outcome.spilled = 0;
            }
        }
        if self.choices.is_empty() {
            self.choices
                .extend(self.last_resort.map(|(_, choice)| choice));
        }
        for choice in &mut self.choices {
            choice.is_calm |= self.last_well.is_some_and(|well| well > choice.stage);
        }
        Judgement {
            outcomes: self.outcomes,
            choices: self.choices,
            reserve: self.reserve,
        }
    }
}
