//! The consistent-hash ring of a pool.

mod algorithm;
mod arcs;
mod build;
mod config;
mod fingerprint;
mod key;
mod lookup;
mod native;
mod others;
mod seen;
mod walk;

use std::{fmt, sync::OnceLock};

pub(crate) use self::arcs::NOBODY;
pub use self::{
    algorithm::{
        EnvoyRing, HashAlgorithm, HostOrder, Jump, Ketama, KetamaVariant, Maglev, Nginx, PointHash,
        SlotMove, SlotTable, Slots,
    },
    config::RingConfig,
    fingerprint::Fingerprint,
    key::{HashedKey, KeyHash},
    walk::Walk,
};
use self::{native::NativeRing, others::Other};
use crate::instance::InstanceId;

/// The consistent-hash ring of one [`Pool`](crate::Pool), in ring layout v1; or what another [algorithm](HashAlgorithm) has in place of a ring.
///
/// It depends on the ids and weights of the members and on the [`RingConfig`], and on nothing else: not on health, order,
/// history or process. A *member* is a place in [`Pool::members`](crate::Pool::members). Drained and disabled members have no points.
///
/// Consistent hashing: Karger et al., "Consistent Hashing and Random Trees", STOC 1997.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use ringfence_core::{Instance, Pool, Ring, RingConfig, Selector, Snapshot};
///
/// let instances = (1..=3).map(|i| Instance::builder(format!("order-svc-{i}"), format!("10.0.0.{i}:80")).build());
/// let snapshot = Arc::new(instances.collect::<Result<Snapshot, _>>()?);
/// let pool = Pool::select(&snapshot, &Selector::any());
/// let config = RingConfig::default();
/// let ring = Ring::build(&pool, &config);
///
/// let key = config.hash_key(b"user-1");
/// let walk: Vec<_> = ring.walk(key).filter_map(|member| pool.instance(member)).map(|i| i.id().as_str()).collect();
/// assert_eq!(walk, ["order-svc-3", "order-svc-2", "order-svc-1"]);
/// # Ok::<(), ringfence_core::InstanceError>(())
/// ```
///
/// A ring cannot be made of anything but a pool, so filtering after hashing does not compile:
/// ```compile_fail,E0308
/// # use ringfence_core::{Ring, RingConfig, Snapshot};
/// let ring = Ring::build(&Snapshot::empty(), &RingConfig::default());
/// ```
pub struct Ring {
    config: RingConfig,
    members: Box<[RingMember]>,
    engine: Engine,
    capped: bool,
    /// Made when it is first asked for: it reads all ids, which readers of a changed ring need not wait for.
    fingerprint: OnceLock<Fingerprint>,
}

/// What finds the members of a key.
enum Engine {
    Native(NativeRing),
    Other(Box<Other>),
}

#[derive(Clone, PartialEq, Eq)]
struct RingMember {
    id: InstanceId,
    points: u32,
}

impl Ring {
    /// Digest of what decides the mapping.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        *self.fingerprint.get_or_init(|| {
            let members = self.members.iter();
            let members = members.map(|member| (member.id.as_str(), member.points));
            Fingerprint::of(self.config.seed(), self.config.probes(), members)
        })
    }

    /// The settings it was made with.
    #[must_use]
    pub fn config(&self) -> &RingConfig {
        &self.config
    }

    /// Number of [`points`](Self::points).
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.engine {
            Engine::Native(ring) => ring.len(),
            Engine::Other(other) => other.len(),
        }
    }

    /// Whether no key has an owner.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.engine {
            Engine::Native(ring) => ring.len() == 0,
            Engine::Other(other) => other.is_empty(),
        }
    }

    /// Number of points of a member; 0 for one that does not exist.
    #[must_use]
    pub fn points_of(&self, member: u32) -> u32 {
        self.members
            .get(member as usize)
            .map_or(0, |member| member.points)
    }

    /// Whether a limit on all points makes those of the members fewer: `max_ring_points`, or Envoy's `max_ring_size`.
    #[must_use]
    pub fn is_capped(&self) -> bool {
        self.capped
    }

    /// Position and member of every point, in order. Of algorithms without a circle it is what they have instead: Maglev's slots; the
    /// buckets of jump and the slots of the slot table whose instances take keys; for rendezvous the seed of each instance that takes keys.
    #[must_use]
    pub fn points(&self) -> impl ExactSizeIterator<Item = (u64, u32)> + '_ {
        let points: Box<dyn ExactSizeIterator<Item = (u64, u32)> + '_> = match &self.engine {
            Engine::Native(ring) => Box::new(ring.iter()),
            Engine::Other(other) => other.points(),
        };
        points
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("members", &self.members.len())
            .field("points", &self.len())
            .field("fingerprint", &self.fingerprint())
            .finish_non_exhaustive()
    }
}
