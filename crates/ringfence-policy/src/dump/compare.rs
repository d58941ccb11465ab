//! Why two rings differ.

use std::{collections::BTreeMap, fmt};

use ringfence_core::RingConfig;
use serde_json::Value;

use super::{DumpedInstance, RingDump, depends_on_order};
use crate::RingSettings;

/// The first thing in which two dumps differ, in the order in which one decides about the others. Each has what is here and
/// what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Disagreement {
    /// The rings are laid out by different versions.
    Layout(Option<u32>, Option<u32>),
    /// The algorithms differ.
    Algorithm(String, String),
    /// A setting of the algorithm differs.
    Setting {
        /// Its name.
        name: String,
        /// Its value here, as JSON.
        here: String,
        /// Its value there.
        there: String,
    },
    /// The same addresses have other ids, as where one client takes them from another field of the registry.
    Id {
        /// Of which address.
        address: String,
        /// The id here.
        here: String,
        /// The id there.
        there: String,
    },
    /// Instances that only one of them has.
    Instances {
        /// Ids that are only here.
        here: Vec<String>,
        /// Ids that are only there.
        there: Vec<String>,
    },
    /// The weight of an instance differs, as the registry has it or on the ring.
    Weight {
        /// Of which instance.
        id: String,
        /// Its weight on the ring here.
        here: u32,
        /// Its weight on the ring there.
        there: u32,
    },
    /// What an instance is hashed by differs: its address or its tag `hash_key`. With Ringfence's own ring that is the id alone.
    HostKey {
        /// Of which instance.
        id: String,
        /// What it is hashed by here.
        here: String,
        /// What it is hashed by there.
        there: String,
    },
    /// The order in which the instances are listed differs, and the algorithm depends on it: the first two that do.
    Order(String, String),
    /// The points of an instance differ for none of these reasons: the dumps are of different programs.
    Points {
        /// Of which instance.
        id: String,
        /// How many here.
        here: u32,
        /// How many there.
        there: u32,
    },
    /// The fingerprints differ for none of these reasons: the dumps are of different programs.
    Fingerprint(String, String),
}

impl RingDump {
    /// The first reason why the owners of keys may differ; `None` where they cannot. Addresses are no reason where only ids are
    /// hashed, and neither are tags.
    #[must_use]
    pub fn first_disagreement(&self, there: &Self) -> Option<Disagreement> {
        if self.layout != there.layout && self.settings.algorithm == there.settings.algorithm {
            return Some(Disagreement::Layout(self.layout, there.layout));
        }
        settings(&self.settings, &there.settings)
            .or_else(|| self.instances_with(there))
            .or_else(|| self.pairs(there).find_map(weight))
            .or_else(|| self.host_keys_with(there))
            .or_else(|| self.order_with(there))
            .or_else(|| self.pairs(there).find_map(points))
            .or_else(|| {
                let (here, there) = (&self.fingerprint, &there.fingerprint);
                (here != there).then(|| Disagreement::Fingerprint(here.clone(), there.clone()))
            })
    }

    fn by_id(&self) -> BTreeMap<&str, &DumpedInstance> {
        let instances = self.instances.iter();
        instances.map(|i| (i.id.as_str(), i)).collect()
    }

    /// The instances that both have.
    fn pairs<'a>(
        &'a self,
        there: &'a Self,
    ) -> impl Iterator<Item = (&'a DumpedInstance, &'a DumpedInstance)> {
        let others = there.by_id();
        let pair = move |here: &'a DumpedInstance| Some((here, *others.get(here.id.as_str())?));
        self.instances.iter().filter_map(pair)
    }

    fn only_here(&self, there: &Self) -> Vec<&DumpedInstance> {
        let others = there.by_id();
        let alone = |i: &&DumpedInstance| !others.contains_key(i.id.as_str());
        self.instances.iter().filter(alone).collect()
    }

    fn instances_with(&self, there: &Self) -> Option<Disagreement> {
        let (here, there) = (self.only_here(there), there.only_here(self));
        let renamed = here.iter().find_map(|i| {
            let other = there.iter().find(|other| other.address == i.address)?;
            Some(Disagreement::Id {
                address: i.address.clone(),
                here: i.id.clone(),
                there: other.id.clone(),
            })
        });
        let ids = |alone: &[&DumpedInstance]| alone.iter().map(|i| i.id.clone()).collect();
        renamed.or_else(|| {
            (!here.is_empty() || !there.is_empty()).then(|| Disagreement::Instances {
                here: ids(&here),
                there: ids(&there),
            })
        })
    }

    fn host_keys_with(&self, there: &Self) -> Option<Disagreement> {
        // Ringfence's own ring, jump, rendezvous and slots hash ids.
        let hashes_hosts = matches!(
            self.settings.algorithm.as_str(),
            "envoy-ring" | "maglev" | "nginx" | "ketama"
        );
        if !hashes_hosts {
            return None;
        }
        self.pairs(there).find_map(|(a, b)| {
            let (here, there) = (a.hashed_by(), b.hashed_by());
            (here != there).then(|| Disagreement::HostKey {
                id: a.id.clone(),
                here: here.to_owned(),
                there: there.to_owned(),
            })
        })
    }

    fn order_with(&self, there: &Self) -> Option<Disagreement> {
        let config = RingConfig::try_from(&self.settings).ok()?;
        if !depends_on_order(config.algorithm()) {
            return None;
        }
        let (here, there) = (self.order.as_ref()?, there.order.as_ref()?);
        let mut pairs = here.iter().zip(there);
        let (a, b) = pairs.find(|(a, b)| a != b)?;
        Some(Disagreement::Order(a.clone(), b.clone()))
    }
}

impl DumpedInstance {
    fn hashed_by(&self) -> &str {
        self.host_key.as_deref().unwrap_or(&self.address)
    }

    fn on_ring(&self) -> u32 {
        self.ring_weight.unwrap_or(self.weight)
    }
}

fn weight((a, b): (&DumpedInstance, &DumpedInstance)) -> Option<Disagreement> {
    let (here, there) = (a.on_ring(), b.on_ring());
    let id = a.id.clone();
    (here != there).then_some(Disagreement::Weight { id, here, there })
}

fn points((a, b): (&DumpedInstance, &DumpedInstance)) -> Option<Disagreement> {
    let (here, there) = (a.points, b.points);
    let id = a.id.clone();
    (here != there).then_some(Disagreement::Points { id, here, there })
}

fn settings(here: &RingSettings, there: &RingSettings) -> Option<Disagreement> {
    if here.algorithm != there.algorithm {
        let name = |settings: &RingSettings| settings.algorithm.as_str().to_owned();
        return Some(Disagreement::Algorithm(name(here), name(there)));
    }
    // Settings that are left out have their defaults.
    let (here, there) = (written_out(here), written_out(there));
    let fields = |value: Value| match value {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    };
    let (here, there) = (fields(here), fields(there));
    let names = here.keys().chain(there.keys());
    let value = |fields: &serde_json::Map<String, Value>, name: &str| {
        fields
            .get(name)
            .map_or_else(|| "none".to_owned(), ToString::to_string)
    };
    let differs = |name: &&String| here.get(*name) != there.get(*name);
    names
        .into_iter()
        .find(differs)
        .map(|name| Disagreement::Setting {
            name: name.clone(),
            here: value(&here, name),
            there: value(&there, name),
        })
}

fn written_out(settings: &RingSettings) -> Value {
    let all = RingConfig::try_from(settings).map(|config| RingSettings::from(&config));
    let all = all.unwrap_or_else(|_| settings.clone());
    serde_json::to_value(all).unwrap_or_default()
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = |version: &Option<u32>| version.map_or("none".to_owned(), |v| v.to_string());
        match self {
            Self::Layout(here, there) => {
                let (here, there) = (layout(here), layout(there));
                write!(f, "the layout of the ring differs: {here} and {there}")
            }
            Self::Algorithm(here, there) => {
                write!(f, "the algorithm differs: `{here}` and `{there}`")
            }
            Self::Setting { name, here, there } => {
                write!(f, "the setting `{name}` differs: {here} and {there}")
            }
            Self::Id {
                address,
                here,
                there,
            } => write!(
                f,
                "the instance at {address} has the id `{here}` here and `{there}` there"
            ),
            Self::Instances { here, there } => {
                f.write_str("the instances differ:")?;
                if !here.is_empty() {
                    write!(f, " only the first has {}", Few(here))?;
                }
                if !here.is_empty() && !there.is_empty() {
                    f.write_str(";")?;
                }
                if !there.is_empty() {
                    write!(f, " only the second has {}", Few(there))?;
                }
                Ok(())
            }
            Self::Weight { id, here, there } => {
                write!(
                    f,
                    "the weight of instance `{id}` differs: {here} and {there}"
                )
            }
            Self::HostKey { id, here, there } => {
                write!(
                    f,
                    "instance `{id}` is hashed by `{here}` here and by `{there}` there"
                )
            }
            Self::Order(here, there) => write!(
                f,
                "the instances are listed in another order: `{here}` here where `{there}` is there"
            ),
            Self::Points { id, here, there } => {
                write!(
                    f,
                    "the points of instance `{id}` differ: {here} and {there}"
                )
            }
            Self::Fingerprint(here, there) => {
                write!(f, "the fingerprints differ: {here} and {there}")
            }
        }
    }
}

/// The first ids of a list, and how many more there are.
struct Few<'a>(&'a [String]);

impl fmt::Display for Few<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const TOLD: usize = 8;
        for (place, id) in self.0.iter().take(TOLD).enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}`{id}`")?;
        }
        match self.0.len().saturating_sub(TOLD) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
