//! From the core's settings to those of documents.

use std::collections::BTreeMap;

use ringfence_core::{
    EnvoyRing, HashAlgorithm, HostOrder, KetamaVariant, PointHash, RingConfig, SlotTable,
};

use crate::{RingAlgorithm, RingHash, RingHostOrder, RingSettings, RingSlots, RingVariant};

impl From<&RingConfig> for RingSettings {
    /// With every setting of the algorithm written out, so that they can be compared; the seed of an algorithm of others only where
    /// it is not 0, since theirs have none.
    fn from(config: &RingConfig) -> Self {
        let seed = Some(config.seed());
        let seed_of_others = seed.filter(|seed| *seed != 0);
        let max_ring_points = Some(config.max_ring_points());
        match config.algorithm() {
            HashAlgorithm::EnvoyRing(ring) => Self {
                seed: seed_of_others,
                ..envoy_ring(ring)
            },
            HashAlgorithm::Maglev(maglev) => Self {
                table_size: Some(maglev.table_size()),
                seed: seed_of_others,
                ..Self::of(RingAlgorithm::Maglev)
            },
            HashAlgorithm::Nginx(nginx) => Self {
                weight_unit: nginx.weight_unit(),
                seed: seed_of_others,
                max_ring_points,
                ..Self::of(RingAlgorithm::Nginx)
            },
            HashAlgorithm::Ketama(ketama) => Self {
                variant: Some(match ketama.variant() {
                    KetamaVariant::Twemproxy => RingVariant::Twemproxy,
                    KetamaVariant::Dubbo => RingVariant::Dubbo,
                    _ => RingVariant::Libketama,
                }),
                seed: seed_of_others,
                max_ring_points,
                ..Self::of(RingAlgorithm::Ketama)
            },
            HashAlgorithm::Jump(jump) => Self {
                buckets: jump
                    .buckets()
                    .map(|ids| ids.iter().map(ToString::to_string).collect()),
                seed,
                ..Self::of(RingAlgorithm::Jump)
            },
            HashAlgorithm::Rendezvous => Self {
                seed,
                ..Self::of(RingAlgorithm::Rendezvous)
            },
            HashAlgorithm::Slots(slots) => Self {
                slots: slots.table().map(table),
                seed,
                ..Self::of(RingAlgorithm::Slots)
            },
            // `Ring`, and no other: with a further algorithm `RingAlgorithm::NAMES` does not compile.
            _ => Self {
                points_per_instance: Some(config.points_per_instance()),
                probes: Some(config.probes()),
                seed,
                max_ring_points,
                ..Self::of(RingAlgorithm::Ring)
            },
        }
    }
}

fn envoy_ring(ring: &EnvoyRing) -> RingSettings {
    RingSettings {
        min_ring_size: Some(ring.min_ring_size()),
        max_ring_size: Some(ring.max_ring_size()),
        host_order: Some(match ring.host_order() {
            HostOrder::Sorted => RingHostOrder::Sorted,
            _ => RingHostOrder::AsGiven,
        }),
        hash: Some(match ring.hash() {
            PointHash::MurmurHash2 => RingHash::MurmurHash2,
            _ => RingHash::XxHash,
        }),
        ..RingSettings::of(RingAlgorithm::EnvoyRing)
    }
}

fn table(table: &SlotTable) -> RingSlots {
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    for (slots, owner) in table.ranges() {
        let (first, last) = (slots.start(), slots.end());
        let text = owners.entry(owner.to_string()).or_default();
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&format!("{first}-{last}"));
    }
    RingSlots {
        epoch: table.epoch(),
        owners,
    }
}
