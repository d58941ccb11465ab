use std::{collections::BTreeMap, path::Path};

use ringfence_core::{Instance, Weight};

use crate::{failure::Failure, input::Fleet};

/// A change of the instances, as `--change` says it.
pub(super) enum Change {
    /// These come, or take the place of those with their ids.
    Add(Fleet),
    Remove(String),
    Weight(String, u32),
}

impl Change {
    pub(super) fn parse(text: &str, service: Option<&str>) -> Result<Self, Failure> {
        let fault = |fault: &str| Failure::new(format_args!("--change {text}: {fault}"));
        match text.split_once(':') {
            Some(("add", file)) => Fleet::read(Path::new(file), service).map(Self::Add),
            Some(("remove", id)) => Ok(Self::Remove(id.to_owned())),
            Some(("weight", change)) => {
                // An id may have an equals sign, a number has none.
                let parts = change.rsplit_once('=');
                let (id, weight) = parts.ok_or_else(|| fault("expected weight:ID=N"))?;
                let number = weight.parse().ok().map(Weight::try_new);
                match number {
                    Some(Ok(weight)) => Ok(Self::Weight(id.to_owned(), weight.get())),
                    _ => {
                        let most = Weight::MAX;
                        let told = format!("`{weight}` is no whole number from 0 to {most}");
                        Err(fault(&told))
                    }
                }
            }
            _ => Err(fault("expected add:FILE, remove:ID or weight:ID=N")),
        }
    }

    pub(super) fn apply(self, before: &Fleet, text: &str) -> Result<Fleet, Failure> {
        let fault =
            |fault: &dyn std::fmt::Display| Failure::new(format_args!("--change {text}: {fault}"));
        let mut instances = before.instances.clone();
        match self {
            Self::Add(new) => {
                let ids = before.instances.iter().map(Instance::id);
                let places: BTreeMap<_, _> = ids.zip(0..).collect();
                for instance in new.instances {
                    let place = places.get(instance.id());
                    match place.and_then(|&place: &usize| instances.get_mut(place)) {
                        Some(old) => *old = instance,
                        None => instances.push(instance),
                    }
                }
            }
            Self::Remove(id) => {
                instances.retain(|instance| instance.id().as_str() != id);
                if instances.len() == before.instances.len() {
                    return Err(fault(&format_args!("there is no instance `{id}`")));
                }
            }
            Self::Weight(id, weight) => {
                let found = instances.iter_mut().find(|i| i.id().as_str() == id);
                let missing = || fault(&format_args!("there is no instance `{id}`"));
                let found = found.ok_or_else(missing)?;
                let changed = found.to_builder().weight(weight).build();
                *found = changed.map_err(|error| fault(&error))?;
            }
        }
        Ok(Fleet {
            service: before.service.clone(),
            instances,
        })
    }
}
