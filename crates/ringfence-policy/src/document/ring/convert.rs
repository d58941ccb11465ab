//! From settings to the core's.

use std::ops::RangeInclusive;

use ringfence_core::{
    EnvoyRing, HashAlgorithm, HostOrder, InstanceId, Jump, Ketama, KetamaVariant, Maglev, Nginx,
    PointHash, RingConfig, SlotTable, Slots, did_you_mean,
};

use super::{RingAlgorithm, RingHash, RingHostOrder, RingSettings, RingSlots, RingVariant};
use crate::PolicyError;

impl RingAlgorithm {
    /// The names of all, as they are written.
    pub const NAMES: [&'static str; 8] = HashAlgorithm::NAMES;

    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::EnvoyRing => "envoy-ring",
            Self::Maglev => "maglev",
            Self::Nginx => "nginx",
            Self::Ketama => "ketama",
            Self::Jump => "jump",
            Self::Rendezvous => "rendezvous",
            Self::Slots => "slots",
        }
    }

    /// The settings that belong to it.
    pub(in crate::document) fn settings(self) -> &'static [&'static str] {
        match self {
            Self::Ring => &["points_per_instance", "probes", "seed", "max_ring_points"],
            Self::EnvoyRing => &[
                "min_ring_size",
                "max_ring_size",
                "host_order",
                "hash",
                "seed",
            ],
            Self::Maglev => &["table_size", "seed"],
            Self::Nginx => &["weight_unit", "seed", "max_ring_points"],
            Self::Ketama => &["variant", "seed", "max_ring_points"],
            Self::Jump => &["buckets", "seed"],
            Self::Rendezvous => &["seed"],
            Self::Slots => &["slots", "seed"],
        }
    }

    pub(super) fn check(self, setting: &str) -> Result<(), PolicyError> {
        match self.settings().contains(&setting) {
            true => Ok(()),
            false => Err(self.without(setting)),
        }
    }

    /// That it has no such setting.
    pub(super) fn without(self, setting: &str) -> PolicyError {
        let (name, own) = (self.as_str(), self.settings().join("`, `"));
        let hint = did_you_mean(setting, self.settings().iter().copied());
        let hint = match hint.starts_with(", did you mean") {
            true => hint,
            false => format!(", which has: `{own}`"),
        };
        let reason = format!("`{setting}` is no setting of `{name}`{hint}");
        PolicyError::new(setting, reason)
    }
}

impl RingSettings {
    /// Names of the settings that are given, besides the algorithm.
    pub(in crate::document) fn given(&self) -> impl Iterator<Item = &'static str> {
        let Self {
            algorithm: _,
            points_per_instance,
            probes,
            seed,
            max_ring_points,
            min_ring_size,
            max_ring_size,
            host_order,
            hash,
            table_size,
            weight_unit,
            variant,
            buckets,
            slots,
        } = self;
        let all = [
            ("points_per_instance", points_per_instance.is_some()),
            ("probes", probes.is_some()),
            ("seed", seed.is_some()),
            ("max_ring_points", max_ring_points.is_some()),
            ("min_ring_size", min_ring_size.is_some()),
            ("max_ring_size", max_ring_size.is_some()),
            ("host_order", host_order.is_some()),
            ("hash", hash.is_some()),
            ("table_size", table_size.is_some()),
            ("weight_unit", weight_unit.is_some()),
            ("variant", variant.is_some()),
            ("buckets", buckets.is_some()),
            ("slots", slots.is_some()),
        ];
        all.into_iter()
            .filter_map(|(name, is_given)| is_given.then_some(name))
    }

    fn hash_algorithm(&self) -> Result<HashAlgorithm, PolicyError> {
        Ok(match self.algorithm {
            RingAlgorithm::Ring => HashAlgorithm::Ring,
            RingAlgorithm::EnvoyRing => self.envoy_ring()?.into(),
            RingAlgorithm::Maglev => {
                let maglev = Maglev::default();
                let size = self.table_size.unwrap_or(maglev.table_size());
                maglev.with_table_size(size).map_err(refused)?.into()
            }
            RingAlgorithm::Nginx => match self.weight_unit {
                Some(unit) => Nginx::default().with_weight_unit(unit).map_err(refused)?,
                None => Nginx::default(),
            }
            .into(),
            RingAlgorithm::Ketama => match self.variant {
                Some(RingVariant::Twemproxy) => Ketama::new(KetamaVariant::Twemproxy),
                Some(RingVariant::Dubbo) => Ketama::new(KetamaVariant::Dubbo),
                Some(RingVariant::Libketama) | None => Ketama::default(),
            }
            .into(),
            RingAlgorithm::Jump => match &self.buckets {
                Some(ids) => {
                    let ids = (0..)
                        .zip(ids)
                        .map(|(i, id)| instance(id, || format!("buckets[{i}]")));
                    let ids = ids.collect::<Result<Vec<_>, _>>()?;
                    Jump::default().with_buckets(ids).map_err(refused)?
                }
                None => Jump::default(),
            }
            .into(),
            RingAlgorithm::Rendezvous => HashAlgorithm::Rendezvous,
            RingAlgorithm::Slots => match &self.slots {
                Some(slots) => Slots::default().with_table(slots.table()?),
                None => Slots::default(),
            }
            .into(),
        })
    }

    fn envoy_ring(&self) -> Result<EnvoyRing, PolicyError> {
        let usual = EnvoyRing::default();
        let min = self.min_ring_size.unwrap_or(usual.min_ring_size());
        let max = self.max_ring_size.unwrap_or(usual.max_ring_size());
        let ring = usual.with_ring_sizes(min, max).map_err(refused)?;
        let ring = ring.with_host_order(match self.host_order {
            Some(RingHostOrder::Sorted) => HostOrder::Sorted,
            Some(RingHostOrder::AsGiven) | None => HostOrder::AsGiven,
        });
        Ok(ring.with_hash(match self.hash {
            Some(RingHash::MurmurHash2) => PointHash::MurmurHash2,
            Some(RingHash::XxHash) | None => PointHash::XxHash,
        }))
    }
}

impl TryFrom<&RingSettings> for RingConfig {
    type Error = PolicyError;

    /// # Errors
    /// [`PolicyError`] of a setting that does not belong to the algorithm or is out of its range; its path is the setting's name.
    fn try_from(settings: &RingSettings) -> Result<Self, PolicyError> {
        for name in settings.given() {
            settings.algorithm.check(name)?;
        }
        let mut config = Self::default().with_algorithm(settings.hash_algorithm()?);
        if let Some(points) = settings.points_per_instance {
            config = config.with_points_per_instance(points).map_err(refused)?;
        }
        if let Some(probes) = settings.probes {
            config = config.with_probes(probes).map_err(refused)?;
        }
        if let Some(seed) = settings.seed {
            config = config.with_seed(seed);
        }
        if let Some(points) = settings.max_ring_points {
            config = config.with_max_ring_points(points).map_err(refused)?;
        }
        Ok(config)
    }
}

impl RingSlots {
    fn table(&self) -> Result<SlotTable, PolicyError> {
        let mut ranges = Vec::new();
        for (id, slots) in &self.owners {
            let path = || format!("slots.owners.{id}");
            let owner = instance(id, path)?;
            for range in slots.split(',') {
                let range = range_of(range).ok_or_else(|| {
                    let reason = format!("`{range}` is no range of slots, such as `0-8191` or `7`");
                    PolicyError::new(path(), reason)
                })?;
                ranges.push((range, owner.clone()));
            }
        }
        SlotTable::new(self.epoch, ranges).map_err(refused)
    }
}

fn range_of(text: &str) -> Option<RangeInclusive<u16>> {
    let number = |text: &str| text.trim().parse::<u16>().ok();
    Some(match text.split_once('-') {
        Some((first, last)) => number(first)?..=number(last)?,
        None => number(text)?..=number(text)?,
    })
}

fn instance(id: &str, path: impl FnOnce() -> String) -> Result<InstanceId, PolicyError> {
    InstanceId::try_new(id).map_err(|error| PolicyError::new(path(), error.to_string()))
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` hands it")]
fn refused(error: ringfence_core::ConfigError) -> PolicyError {
    PolicyError::new(error.field(), error.to_string())
}
