use std::ptr;

use ringfence_core::{PlanId, StepVerdict, TagValues, View};

use super::{Refusal, StageExplanation, StepExplanation};
use crate::{MissingKey, place::route_of};

/// Most instances of a walk that are told.
const MAX_STEPS: usize = 256;

/// What is said of a candidate that is not in the chosen pool.
const BEYOND: &str = "candidate of a later pool";

/// What is asked of the view.
pub(super) struct Wish<'a> {
    pub(super) plan: PlanId,
    pub(super) key: Option<&'a [u8]>,
    pub(super) salt: u64,
    pub(super) missing_key: MissingKey,
    pub(super) attempts: usize,
    pub(super) draw: u64,
}

/// From the pools to the instances that are tried.
pub(super) struct Walk {
    pub(super) stages: Vec<StageExplanation>,
    pub(super) chosen: Option<usize>,
    pub(super) is_spilled: bool,
    pub(super) hash: Option<String>,
    pub(super) steps: Vec<StepExplanation>,
    pub(super) candidates: Vec<String>,
    pub(super) refused: Option<Refusal>,
}

impl Walk {
    pub(super) fn of(view: &View, tags: &impl TagValues, wish: &Wish<'_>) -> Self {
        let route = route_of(view, wish.plan, tags);
        let stages = route.stages().iter().map(|outcome| StageExplanation {
            pool: outcome.stage.to_string(),
            members: outcome.members,
            usable: outcome.usable,
            spilled: outcome.spilled,
        });
        let chosen = route.choose(wish.key, || wish.draw);
        let (mut hash, mut steps, mut candidates) = (None, Vec::new(), Vec::new());
        if let (Some(chosen), Some(key)) = (&chosen, wish.key) {
            let place = chosen.pool.hash_key(key, wish.salt);
            hash = Some(format!("{:016x}", place.get()));
            let tried: Vec<_> = chosen.walk(key, wish.salt, wish.attempts).collect();
            let (own, beyond): (Vec<_>, Vec<_>) = tried
                .iter()
                .filter_map(|(pool, member)| {
                    let id = pool.pool().instance(*member)?.id().to_string();
                    Some((ptr::eq(*pool, chosen.pool), id))
                })
                .partition(|(is_own, _)| *is_own);
            let walked = view.steps(chosen.pool, place, own.len()).take(MAX_STEPS);
            for step in walked.take_while(|step| step.verdict != StepVerdict::BeyondAttempts) {
                if let Some(instance) = view.snapshot().instances().get(step.place) {
                    steps.push(StepExplanation {
                        instance: instance.id().to_string(),
                        verdict: step.verdict.as_str(),
                    });
                }
            }
            steps.extend(beyond.iter().map(|(_, instance)| StepExplanation {
                instance: instance.clone(),
                verdict: BEYOND,
            }));
            candidates.extend(own.into_iter().chain(beyond).map(|(_, id)| id));
        }
        let refused = match (&chosen, wish.key) {
            (None, _) => Some(Refusal::NoInstances),
            (Some(_), Some(_)) => candidates.is_empty().then_some(Refusal::NoInstances),
            (Some(_), None) if wish.missing_key == MissingKey::Reject => Some(Refusal::KeyRequired),
            (Some(chosen), None) => chosen
                .pool
                .eligible()
                .is_empty()
                .then_some(Refusal::NoInstances),
        };
        Self {
            stages: stages.collect(),
            chosen: chosen.as_ref().map(|chosen| chosen.stage),
            is_spilled: chosen.is_some_and(|chosen| chosen.is_spilled),
            hash,
            steps,
            candidates,
            refused,
        }
    }
}
