//! The algorithms that keys can be mapped by, and their settings.

mod envoy;
mod jump;
mod ketama;
mod maglev;
mod nginx;
mod slots;

use std::fmt;

pub use self::{
    envoy::{EnvoyRing, HostOrder, PointHash},
    jump::Jump,
    ketama::{Ketama, KetamaVariant},
    maglev::Maglev,
    nginx::Nginx,
    slots::{SlotMove, SlotTable, Slots},
};

/// How keys are mapped to the instances of a pool; default [`Ring`](Self::Ring), Ringfence's own.
///
/// | algorithm | use it | shares of 10 and of 50 equal instances differ by | on a leave, of the others' keys | memory | lookup |
/// |---|---|---|---|---|---|
/// | [`Ring`](Self::Ring) | unless something below applies | 5 and 7 % | none move | 8 to 12 bytes a point | index, then a few points |
/// | [`EnvoyRing`] | beside Envoy or gRPC `ring_hash` | 7 and 22 %, with 1024 points for all | 8 and 0 % move, up to 14 % | 14 to 16 bytes a point | the same |
/// | [`Maglev`] | beside Envoy's Maglev, or for even shares | 0.5 and 1.3 % | 0.3 and 0.5 % move | 4 bytes a slot: 256 KiB a pool | one read |
/// | [`Nginx`] | beside nginx `hash … consistent` or pingora | 8 % | none move | 10 to 12 bytes a point | as a ring |
/// | [`Ketama`] | beside libketama, twemproxy or Dubbo | 4 and 7 % | some move, by rounding | 10 to 12 bytes a point | as a ring |
/// | [`Jump`] | numbered instances that only grow at the end | chance alone | none move, if the list stays | 8 bytes a bucket, 16 an instance | `ln(n)` steps |
/// | [`Rendezvous`](Self::Rendezvous) | up to some dozens of instances | chance alone | none move | 16 bytes an instance | one hash for each instance |
/// | [`Slots`] | where an operator says which keys lie where | as the table says | none move | 8 bytes a range, 16 an instance | binary search over the ranges |
///
/// All follow an instance's weight, and one of weight 0 or that is switched off owns nothing. All clients of a service, and the
/// proxies beside them, must have the same algorithm with the same settings. The foreign ones (Envoy's, nginx's and ketama's) hash
/// the *host key* of an instance: its tag `hash_key` where it has one, else its address as `IP:port`, an IPv6 address in brackets.
///
/// Skipping unhealthy instances moves none of the others' keys with any of them, since it is a walk over the full mapping, as in gRPC and nginx.
/// Envoy itself builds its tables again without unhealthy hosts, which moves some of the others' keys as a leave does; and
/// keys of an unhealthy host go to other hosts there than here.
///
/// # Examples
/// ```
/// use ringfence_core::{EnvoyRing, HashAlgorithm, HostOrder, RingConfig};
///
/// let envoy = EnvoyRing::default().with_ring_sizes(2_048, 65_536)?.with_host_order(HostOrder::Sorted);
/// let config = RingConfig::default().with_algorithm(envoy);
/// assert_eq!(config.algorithm().as_str(), "envoy-ring");
/// assert_eq!(RingConfig::default().algorithm(), &HashAlgorithm::Ring);
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HashAlgorithm {
    /// Ringfence's own ring: layout v1, which the points, the seed and the probes of [`RingConfig`](crate::RingConfig) belong to.
    #[default]
    Ring,
    /// Envoy's `RING_HASH` and gRPC's `ring_hash`.
    EnvoyRing(EnvoyRing),
    /// Envoy's `MAGLEV`.
    Maglev(Maglev),
    /// nginx's `hash $key consistent`.
    Nginx(Nginx),
    /// The rings of libketama and its kin.
    Ketama(Ketama),
    /// Jump consistent hash over a list of instances.
    Jump(Jump),
    /// Weighted rendezvous: each instance's score for a key is `-weight / ln(u)`, `u` from xxh64 of the key with the xxh64 of the
    /// instance's id (with the ring's seed) as its seed; the highest score owns, of equal ones that of the smaller id.
    ///
    /// Every lookup hashes the key once for each instance, so it is for pools of up to some dozens. A join or a
    /// leave moves nothing but what the instance gets or had; a change of its weight the same.
    ///
    /// Thaler, Ravishankar, "Using Name-Based Mappings to Increase Hit Rates", IEEE/ACM ToN 1998; the weights: Schindelhauer,
    /// Schomaker, "Weighted Distributed Hash Tables", SPAA 2005.
    Rendezvous,
    /// The 16,384 hash slots of Redis Cluster, with a table that says whose they are.
    Slots(Slots),
}

impl HashAlgorithm {
    /// The names of all algorithms, as [`as_str`](Self::as_str) gives them.
    pub const NAMES: [&'static str; 8] = [
        "ring",
        "envoy-ring",
        "maglev",
        "nginx",
        "ketama",
        "jump",
        "rendezvous",
        "slots",
    ];

    /// Whether instances are hashed by their *host key*, not by their id alone.
    ///
    /// ```
    /// use ringfence_core::{HashAlgorithm, Maglev};
    ///
    /// assert!(HashAlgorithm::from(Maglev::default()).has_host_keys());
    /// assert!(!HashAlgorithm::Ring.has_host_keys());
    /// ```
    #[must_use]
    pub fn has_host_keys(&self) -> bool {
        match self {
            Self::EnvoyRing(_) | Self::Maglev(_) | Self::Nginx(_) | Self::Ketama(_) => true,
            Self::Ring | Self::Jump(_) | Self::Rendezvous | Self::Slots(_) => false,
        }
    }

    /// Whether the order in which instances are listed decides about owners.
    #[must_use]
    pub fn depends_on_order(&self) -> bool {
        match self {
            Self::EnvoyRing(ring) => ring.host_order() == HostOrder::AsGiven,
            Self::Jump(jump) => jump.buckets().is_none(),
            Self::Slots(slots) => slots.table().is_none(),
            Self::Ring | Self::Maglev(_) | Self::Nginx(_) | Self::Ketama(_) | Self::Rendezvous => {
                false
            }
        }
    }

    /// Its name in documents and on the command line.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::EnvoyRing(_) => "envoy-ring",
            Self::Maglev(_) => "maglev",
            Self::Nginx(_) => "nginx",
            Self::Ketama(_) => "ketama",
            Self::Jump(_) => "jump",
            Self::Rendezvous => "rendezvous",
            Self::Slots(_) => "slots",
        }
    }

    /// Whether walking the mapping of all instances past those outside of a pool is the mapping of the pool: so where an
    /// instance's points or scores depend on nothing but itself.
    pub(crate) fn is_filterable(&self) -> bool {
        matches!(self, Self::Ring | Self::Nginx(_) | Self::Rendezvous)
    }

    /// Whether walks ask about instances in the order of a search for the best score, and not in that of the walk.
    pub(crate) fn is_scored(&self) -> bool {
        matches!(self, Self::Jump(_) | Self::Rendezvous | Self::Slots(_))
    }
}

impl fmt::Display for HashAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
