use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Weak},
};

use ringfence_policy::CompiledPolicy;

use super::{
    PoolLabel,
    meter::{PoolMeter, SharedMeter},
};
use crate::striped::StripedArc;

/// Who has a label. Rules have theirs as long as a policy names them, and then until the last of their calls has ended.
#[derive(Default)]
pub(super) struct Labels {
    kept: BTreeMap<PoolLabel, SharedMeter>,
    /// Of rules that are gone.
    leaving: BTreeMap<PoolLabel, Weak<PoolMeter>>,
    /// What calls may be counted by; `None` without a policy, where nobody knows.
    rules: Option<BTreeSet<Arc<str>>>,
    /// Places that calls find.
    pub(super) places: usize,
    /// Some rules that there are share the label of what is too much.
    pub(super) is_short: bool,
}

/// What becomes of a label that is asked for.
pub(super) enum Given {
    /// It stays.
    Kept(SharedMeter),
    /// It goes with the call.
    Leaving(Arc<PoolMeter>),
    /// There are too many.
    None,
}

impl Labels {
    /// The most labels of a service, those that are leaving included.
    const MOST: usize = 256;

    pub(super) fn of(&mut self, label: &PoolLabel, make: impl FnOnce() -> PoolMeter) -> Given {
        if let Some(meter) = self.kept.get(label) {
            return Given::Kept(Arc::clone(meter));
        }
        let is_kept = self.names(label.rule());
        let left = self.leaving.get(label).and_then(Weak::upgrade);
        let meter = match left {
            Some(meter) => meter,
            None if self.has_room() => Arc::new(make()),
            None => {
                self.is_short |= is_kept;
                return Given::None;
            }
        };
        if is_kept {
            self.leaving.remove(label);
            meter.stay();
            let meter = Arc::new(StripedArc::of(meter));
            self.kept.insert(label.clone(), Arc::clone(&meter));
            Given::Kept(meter)
        } else {
            meter.leave();
            self.leaving.insert(label.clone(), Arc::downgrade(&meter));
            Given::Leaving(meter)
        }
    }

    /// Whether a rule is there.
    fn names(&self, rule: &str) -> bool {
        let Some(rules) = &self.rules else {
            return true;
        };
        rule == PoolLabel::DEFAULT_RULE || rules.contains(rule)
    }

    /// Whether there may be one more.
    pub(super) fn has_room(&mut self) -> bool {
        self.leaving.retain(|_, meter| meter.strong_count() > 0);
        self.kept.len() + self.leaving.len() < Self::MOST
    }

    /// Rules of this policy may come, beside those that there are.
    pub(super) fn expect(&mut self, policy: &CompiledPolicy) {
        if let Some(rules) = &mut self.rules {
            rules.extend(policy.labels().cloned());
        }
    }

    /// There are no rules but those of this policy. What is given back is to be dropped without a lock.
    pub(super) fn follow(&mut self, policy: &CompiledPolicy) -> Vec<SharedMeter> {
        let rules: BTreeSet<_> = policy.labels().cloned().collect();
        self.rules = (!rules.is_empty()).then_some(rules);
        let (kept, gone): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut self.kept)
            .into_iter()
            .partition(|(label, _)| self.names(label.rule()));
        self.kept = kept;
        let leave = |(label, meter): (PoolLabel, SharedMeter)| {
            meter.leave();
            self.leaving.insert(label, meter.downgrade());
            meter
        };
        gone.into_iter().map(leave).collect()
    }
}
