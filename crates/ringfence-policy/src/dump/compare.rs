//! Where two rings differ.

use std::collections::BTreeMap;

use ringfence_core::RingConfig;
use serde_json::Value;

use super::{Disagreement, DumpedInstance, RingDump};
use crate::RingSettings;

impl RingDump {
    /// The first reason why the owners of keys may differ; `None` where they cannot. Addresses are no reason where only ids are
    /// hashed, and neither are tags. A setting that differs is a reason even where these instances are mapped alike, as with another
    /// `max_ring_points` that none of the rings reaches: others may not be.
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
        // Of several at one address the first.
        let at_address = there.iter().rev().map(|i| (i.address.as_str(), *i));
        let at_address: BTreeMap<_, _> = at_address.collect();
        let renamed = here.iter().find_map(|i| {
            let other = at_address.get(i.address.as_str())?;
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
        if !config.algorithm().depends_on_order() {
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
    let mut all = all.unwrap_or_else(|_| settings.clone());
    all.seed.get_or_insert_default();
    serde_json::to_value(all).unwrap_or_default()
}
