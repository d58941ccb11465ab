use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Attribute, Selector};
use crate::{instance::Instance, snapshot::Snapshot};

/// Which instances of a snapshot have which value of which attribute, so that a selection that asks for a value looks at these
/// instances only, and at none where nobody has it.
#[derive(Debug)]
pub(crate) struct TagIndex(BTreeMap<Attribute, BTreeMap<Arc<str>, Vec<u32>>>);

impl TagIndex {
    pub(crate) fn new(snapshot: &Snapshot) -> Self {
        let mut index = BTreeMap::new();
        for (place, instance) in (0u32..).zip(snapshot.instances()) {
            let fields = [Attribute::Version, Attribute::Zone, Attribute::Region];
            let tags = instance
                .tags()
                .iter()
                .map(|(name, _)| Attribute::Tag(name.into()));
            for attribute in fields.into_iter().chain(tags) {
                note(&mut index, attribute, instance, place);
            }
        }
        Self(index)
    }

    /// Places, rising, among which all instances are that match; `None` where the selector asks for no value.
    pub(super) fn narrow(&self, selector: &Selector) -> Option<Vec<u32>> {
        let lists = selector
            .asked()
            .map(|(attribute, values)| self.with_any(attribute, values));
        lists.min_by_key(Vec::len)
    }

    fn with_any(&self, attribute: &Attribute, values: &[Arc<str>]) -> Vec<u32> {
        let Some(by_value) = self.0.get(attribute) else {
            return Vec::new();
        };
        let lists = values.iter().filter_map(|value| by_value.get(value));
        match values.len() {
            1 => lists.flatten().copied().collect(),
            _ => lists
                .flatten()
                .copied()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
        }
    }
}

fn note(
    index: &mut BTreeMap<Attribute, BTreeMap<Arc<str>, Vec<u32>>>,
    attribute: Attribute,
    instance: &Instance,
    place: u32,
) {
    let Some(value) = attribute.of(instance) else {
        return;
    };
    let by_value = index.entry(attribute).or_default();
    match by_value.get_mut(value) {
        Some(places) => places.push(place),
        None => {
            by_value.insert(value.into(), vec![place]);
        }
    }
}
