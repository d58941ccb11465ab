use std::sync::{Arc, OnceLock};

use super::meter::SharedMeter;

/// Where calls find their meter without comparing names: policies hand out the same copy of a rule's name.
///
/// A hash table with linear probing, at most half full. It only grows, so that it can be read while it is written.
#[derive(Default)]
pub(super) struct Places {
    slots: Box<[OnceLock<Place>]>,
}

struct Place {
    rule: Option<Arc<str>>,
    stage: usize,
    meter: SharedMeter,
}

impl Place {
    fn is(&self, rule: Option<&Arc<str>>, stage: usize) -> bool {
        self.stage == stage
            && match (&self.rule, rule) {
                (Some(known), Some(rule)) => Arc::ptr_eq(known, rule),
                (None, None) => true,
                _ => false,
            }
    }
}

impl Places {
    /// The most places; a policy that is replaced again and again brings new ones.
    pub(super) const MOST: usize = 1 << 14;
    const FIRST_SLOTS: usize = 16;

    #[inline]
    pub(super) fn get(&self, rule: Option<&Arc<str>>, stage: usize) -> Option<&SharedMeter> {
        let mut at = self.first_slot(rule, stage);
        loop {
            // Half of them are free, so this ends.
            let place = self.slots.get(at)?.get()?;
            if place.is(rule, stage) {
                return Some(&place.meter);
            }
            at = self.next_slot(at);
        }
    }

    #[inline]
    fn first_slot(&self, rule: Option<&Arc<str>>, stage: usize) -> usize {
        // As long as a place has the name, nothing else lies there.
        let address = rule.map_or(0, |rule| Arc::as_ptr(rule).addr());
        let mixed = (address.wrapping_add(stage) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        usize::try_from(mixed).unwrap_or(0) & self.slots.len().saturating_sub(1)
    }

    #[inline]
    fn next_slot(&self, at: usize) -> usize {
        (at + 1) & self.slots.len().saturating_sub(1)
    }

    /// Adds one that is not there, `len` being how many are. Gives a table of its own back where this one is too small. Only one
    /// thread at a time may call this.
    pub(super) fn add(
        &self,
        len: usize,
        rule: Option<&Arc<str>>,
        stage: usize,
        meter: &SharedMeter,
    ) -> Option<Self> {
        if 2 * (len + 1) <= self.slots.len() {
            self.set(rule.cloned(), stage, Arc::clone(meter));
            return None;
        }
        let slots = (2 * self.slots.len()).max(Self::FIRST_SLOTS);
        let larger = Self {
            slots: (0..slots).map(|_| OnceLock::new()).collect(),
        };
        for place in self.slots.iter().filter_map(OnceLock::get) {
            larger.set(place.rule.clone(), place.stage, Arc::clone(&place.meter));
        }
        larger.set(rule.cloned(), stage, Arc::clone(meter));
        Some(larger)
    }

    fn set(&self, rule: Option<Arc<str>>, stage: usize, meter: SharedMeter) {
        let mut at = self.first_slot(rule.as_ref(), stage);
        while self.slots.get(at).is_some_and(|slot| slot.get().is_some()) {
            at = self.next_slot(at);
        }
        if let Some(free) = self.slots.get(at) {
            let _ = free.set(Place { rule, stage, meter });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PoolLabel, striped::StripedArc, telemetry::meter::PoolMeter};

    fn meter(name: &str, stage: usize) -> SharedMeter {
        Arc::new(StripedArc::new(PoolMeter::new(
            &"order".into(),
            None,
            PoolLabel::new(name, stage),
        )))
    }

    #[test]
    fn each_place_is_found_and_no_other_one() {
        let mut places = Places::default();
        assert!(places.get(None, 0).is_none());
        let rules: Vec<Arc<str>> = (0..500).map(|n| format!("r{n}").into()).collect();
        let keys = rules.iter().map(Some).chain([None]);
        let keys: Vec<_> = keys.flat_map(|rule| [(rule, 0), (rule, 1)]).collect();
        for (len, (rule, stage)) in keys.iter().enumerate() {
            let name = rule.map_or("none", |rule| rule);
            let larger = places.add(len, *rule, *stage, &meter(name, *stage));
            places = larger.unwrap_or(places);
        }
        assert!((2_000..=4_096).contains(&places.slots.len()));
        for (rule, stage) in keys {
            let name = rule.map_or("none", |rule| rule);
            let found = places.get(rule, stage).expect("it is there");
            assert_eq!(found.label, PoolLabel::new(name, stage));
        }
        // Another copy of the name is another place.
        assert!(places.get(Some(&"r7".into()), 0).is_none());
        assert!(places.get(Some(&rules[7]), 2).is_none());
    }

    /// What a call pays must not grow with the rules.
    #[test]
    fn few_places_are_looked_at() {
        let mut places = Places::default();
        let rules: Vec<Arc<str>> = (0..256).map(|n| format!("rule-{n}").into()).collect();
        for (len, rule) in rules.iter().enumerate() {
            places = places
                .add(len, Some(rule), 0, &meter(rule, 0))
                .unwrap_or(places);
        }
        let looks = |rule: &Arc<str>| {
            let first = places.first_slot(Some(rule), 0);
            let slots = std::iter::successors(Some(first), |at| Some(places.next_slot(*at)));
            let taken = slots.map_while(|at| places.slots[at].get());
            1 + taken.take_while(|place| !place.is(Some(rule), 0)).count()
        };
        let all: usize = rules.iter().map(looks).sum();
        assert!(all < 4 * rules.len(), "{all}");
    }
}
