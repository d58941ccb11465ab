//! How keys are mapped to instances, as a document says it.

mod convert;
mod set;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::is_default;

/// The algorithm that maps keys to instances, with those of its settings that are not as usual.
///
/// All clients of a service must have the same, and so must the proxies beside them. In a policy it takes the place of the
/// [`RingConfig`](ringfence_core::RingConfig) that a program was built with, from the moment that the policy is in force; a policy without it leaves that as it
/// is. A change of it moves keys, most of them where the algorithm changes.
///
/// Every setting belongs to some algorithms and is refused with others.
///
/// | setting | of | see |
/// |---|---|---|
/// | `points_per_instance`, `probes` | `ring` | [`RingConfig`](ringfence_core::RingConfig) |
/// | `seed` | all; with another than 0 the algorithms of others map keys as no other program does | [`RingConfig`](ringfence_core::RingConfig) |
/// | `max_ring_points` | `ring`, `nginx`, `ketama` | [`RingConfig`](ringfence_core::RingConfig) |
/// | `min_ring_size`, `max_ring_size`, `host_order`, `hash` | `envoy-ring` | [`EnvoyRing`](ringfence_core::EnvoyRing) |
/// | `table_size` | `maglev` | [`Maglev`](ringfence_core::Maglev) |
/// | `weight_unit` | `nginx` | [`Nginx`](ringfence_core::Nginx) |
/// | `variant` | `ketama` | [`Ketama`](ringfence_core::Ketama) |
/// | `buckets` | `jump` | [`Jump`](ringfence_core::Jump) |
/// | `slots` | `slots` | [`Slots`](ringfence_core::Slots) |
///
/// # Examples
/// ```
/// use ringfence_core::RingConfig;
/// use ringfence_policy::{PolicyDocument, RingAlgorithm, RingSettings};
///
/// let document = PolicyDocument::parse("{ ringfence: 1, ring: { algorithm: maglev, table_size: 65537 } }")?;
/// let mut settings = RingSettings::of(RingAlgorithm::Maglev);
/// settings.set("table_size", "65537")?;
/// assert_eq!(document.ring, Some(settings.clone()));
/// assert_eq!(RingConfig::try_from(&settings)?.algorithm().as_str(), "maglev");
/// assert!(settings.set("min_ring_size", "1024").is_err(), "no setting of Maglev");
/// # Ok::<(), ringfence_policy::PolicyError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RingSettings {
    /// Which; default [`RingAlgorithm::Ring`].
    pub algorithm: RingAlgorithm,
    /// Points of an instance of weight 100; default 160, range 1..=65,536.
    #[serde(skip_serializing_if = "is_default")]
    pub points_per_instance: Option<u32>,
    /// Positions that a key is looked up at; default 1, range 1..=21.
    #[serde(skip_serializing_if = "is_default")]
    pub probes: Option<u32>,
    /// Seed of the hashes; default 0, any value. Envoy, nginx and the like have none: with another than 0 their algorithms map keys as
    /// no other program does.
    #[serde(skip_serializing_if = "is_default")]
    pub seed: Option<u64>,
    /// Most points of a snapshot; default 4,194,304, range 1..=67,108,864.
    #[serde(skip_serializing_if = "is_default")]
    pub max_ring_points: Option<u32>,
    /// Fewest points of all instances; default 1,024, range 1..=8,388,608.
    #[serde(skip_serializing_if = "is_default")]
    pub min_ring_size: Option<u32>,
    /// Most points of all instances; default 8,388,608, range 1..=8,388,608.
    #[serde(skip_serializing_if = "is_default")]
    pub max_ring_size: Option<u32>,
    /// The order in which instances are given points; default as given.
    #[serde(skip_serializing_if = "is_default")]
    pub host_order: Option<RingHostOrder>,
    /// The hash of the points; default xxh64.
    #[serde(skip_serializing_if = "is_default")]
    pub hash: Option<RingHash>,
    /// Slots of the table; default 65,537, a prime number in 2..=5,000,011.
    #[serde(skip_serializing_if = "is_default")]
    pub table_size: Option<u32>,
    /// The weight that stands for nginx's 1; default found out, range 1..=1,000,000.
    #[serde(skip_serializing_if = "is_default")]
    pub weight_unit: Option<u32>,
    /// Whose ring of MD5 points; default libketama's.
    #[serde(skip_serializing_if = "is_default")]
    pub variant: Option<RingVariant>,
    /// Ids of the instances in the order of their buckets; default the order given.
    #[serde(skip_serializing_if = "is_default")]
    pub buckets: Option<Vec<String>>,
    /// Whose each slot is; default by weights.
    #[serde(skip_serializing_if = "is_default")]
    pub slots: Option<RingSlots>,
}

/// The name of an algorithm, see [`HashAlgorithm`](ringfence_core::HashAlgorithm).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RingAlgorithm {
    /// Ringfence's own ring (default).
    #[default]
    Ring,
    /// Envoy's and gRPC's ring.
    EnvoyRing,
    /// Envoy's Maglev.
    Maglev,
    /// nginx's consistent hash.
    Nginx,
    /// libketama and its kin.
    Ketama,
    /// Jump consistent hash.
    Jump,
    /// Weighted rendezvous.
    Rendezvous,
    /// Redis Cluster's hash slots.
    Slots,
}

/// See [`HostOrder`](ringfence_core::HostOrder).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RingHostOrder {
    /// As the registry or file lists the instances.
    AsGiven,
    /// By host key.
    Sorted,
}

/// See [`PointHash`](ringfence_core::PointHash).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum RingHash {
    /// xxh64.
    #[serde(rename = "xx_hash")]
    XxHash,
    /// MurmurHash2 of 64 bits.
    #[serde(rename = "murmur_hash_2")]
    MurmurHash2,
}

/// See [`KetamaVariant`](ringfence_core::KetamaVariant).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RingVariant {
    /// libketama's.
    Libketama,
    /// twemproxy's.
    Twemproxy,
    /// Dubbo's.
    Dubbo,
}

/// Whose each slot is, see [`SlotTable`](ringfence_core::SlotTable).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingSlots {
    /// What tells the table from others; default 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub epoch: u64,
    /// Slots by the id of the instance whose they are, such as `0-8191` or `0-99, 200`.
    pub owners: BTreeMap<String, String>,
}

impl RingSettings {
    /// The usual settings of an algorithm.
    #[must_use]
    pub fn of(algorithm: RingAlgorithm) -> Self {
        Self {
            algorithm,
            ..Self::default()
        }
    }
}
