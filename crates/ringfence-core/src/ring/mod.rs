//! The consistent-hash ring of a pool.

mod algorithm;
mod arcs;
mod config;
mod fingerprint;
mod key;
mod native;
mod others;
mod seen;
mod walk;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

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
use self::{
    native::{NativeRing, PointCounts},
    others::{Other, OtherHosts},
};
use crate::{instance::InstanceId, pool::Pool};

/// The consistent-hash ring of one [`Pool`], in ring layout v1; or what another [algorithm](HashAlgorithm) has in place of a ring.
///
/// It depends on the ids and weights of the members and on the [`RingConfig`], and on nothing else: not on health, order,
/// history or process. A *member* is a place in [`Pool::members`]. Drained and disabled members have no points.
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
    /// Makes the ring of a pool: `O(points * log points)`, which takes milliseconds and has no place on the path of a request. The
    /// balancer's task does it, and above 100,000 points or so beside the runtime.
    ///
    /// [The own ring](HashAlgorithm::Ring) of a million points and more is made by as many threads as the machine has cores, at most
    /// four. They end before this returns, and the ring does not depend on how many they are. One ring of a process is made so at
    /// a time, further ones by the caller alone.
    #[must_use]
    pub fn build(pool: &Pool, config: &RingConfig) -> Self {
        if *config.algorithm() != HashAlgorithm::Ring {
            return Self::of_hosts(OtherHosts::of(pool, config), config);
        }
        let counts = PointCounts::new(pool.snapshot(), config);
        let members = members_of(pool, counts);
        let engine = Engine::Native(NativeRing::build(&members, config.seed(), config.probes()));
        Self::assemble(config.clone(), members, engine, counts.is_capped())
    }

    /// The ring of a changed pool: equal to [`Ring::build`] with the same settings, but instances that did not change are
    /// not hashed again, and the same ring is returned where nothing that decides it changed. Other algorithms are made anew.
    #[must_use]
    pub fn update(self: &Arc<Self>, pool: &Pool) -> Arc<Self> {
        let ring = match &self.engine {
            Engine::Native(ring) => ring,
            Engine::Other(other) => {
                let hosts = OtherHosts::of(pool, &self.config);
                if other.is_of(&hosts) {
                    return Arc::clone(self);
                }
                return Arc::new(Self::of_hosts(hosts, &self.config));
            }
        };
        let counts = PointCounts::new(pool.snapshot(), &self.config);
        if self.capped == counts.is_capped() && self.has_members(pool, counts) {
            return Arc::clone(self);
        }
        let members = members_of(pool, counts);
        let seed = self.config.seed();
        let engine = Engine::Native(ring.update(&self.members, &members, seed));
        Arc::new(Self::assemble(
            self.config.clone(),
            members,
            engine,
            counts.is_capped(),
        ))
    }

    /// Whether a pool has the ring's own members with the same points.
    fn has_members(&self, pool: &Pool, counts: PointCounts) -> bool {
        let mut places = pool.iter().zip(pool.members());
        self.members.len() == pool.len()
            && self.members.iter().all(|member| {
                places.next().is_some_and(|(instance, &place)| {
                    member.id.is_same(instance.id())
                        && member.points == counts.of(pool.snapshot().ring_weight(place))
                })
            })
    }

    fn of_hosts(hosts: OtherHosts, config: &RingConfig) -> Self {
        let fingerprint = Fingerprint::of_other(config, &hosts);
        let (other, members) = Other::build(hosts, config);
        Self {
            fingerprint: fingerprint.into(),
            config: config.clone(),
            members,
            capped: other.is_capped(),
            engine: Engine::Other(Box::new(other)),
        }
    }

    fn assemble(
        config: RingConfig,
        members: Box<[RingMember]>,
        engine: Engine,
        capped: bool,
    ) -> Self {
        Self {
            fingerprint: OnceLock::new(),
            config,
            members,
            engine,
            capped,
        }
    }

    /// The member that owns a key; `None` when no member has points.
    #[inline]
    #[must_use]
    pub fn owner<'a>(&'a self, key: impl Into<HashedKey<'a>>) -> Option<u32> {
        match &self.engine {
            Engine::Native(ring) => ring.owner(key.into().hash()),
            Engine::Other(other) => other.owner(key.into()),
        }
    }

    /// The distinct members clockwise from a key, the owner first.
    #[inline]
    pub fn walk<'a>(&'a self, key: impl Into<HashedKey<'a>>) -> Walk<'a, fn(u32) -> bool> {
        self.walk_where(key, |_| true)
    }

    /// The distinct members clockwise from a key that pass `usable`, which is asked anew at each point, and must not change its mind.
    ///
    /// Skipping members this way gives exactly the order of a ring made without them with [the own ring](HashAlgorithm::Ring), nginx's
    /// and rendezvous. With the other [algorithms](HashAlgorithm) it is the walk without those skipped, which a ring made without
    /// them may differ from.
    #[inline]
    pub fn walk_where<'a, P: FnMut(u32) -> bool>(
        &'a self,
        key: impl Into<HashedKey<'a>>,
        usable: P,
    ) -> Walk<'a, P> {
        self.walk_at_most(usize::MAX, key, usable)
    }

    /// A walk that ends after `members`, for those who know how many pass `usable`.
    #[inline]
    pub(crate) fn walk_at_most<'a, P: FnMut(u32) -> bool>(
        &'a self,
        members: usize,
        key: impl Into<HashedKey<'a>>,
        usable: P,
    ) -> Walk<'a, P> {
        match &self.engine {
            Engine::Native(ring) => {
                Walk::native(ring.walk_where(members, key.into().hash(), usable))
            }
            Engine::Other(other) => Walk::other(other.walk_where(members, key.into(), usable)),
        }
    }

    /// The members of [`walk_at_most`](Self::walk_at_most), one after the other.
    #[inline]
    pub(crate) fn visit<'a>(
        &'a self,
        members: usize,
        key: impl Into<HashedKey<'a>>,
        usable: impl FnMut(u32) -> bool,
        visit: impl FnMut(u32),
    ) {
        match &self.engine {
            Engine::Native(ring) => ring.visit(members, key.into().hash(), usable, visit),
            Engine::Other(other) => other
                .walk_where(members, key.into(), usable)
                .for_each(visit),
        }
    }

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

fn members_of(pool: &Pool, counts: PointCounts) -> Box<[RingMember]> {
    pool.iter()
        .zip(pool.members())
        .map(|(instance, &place)| RingMember {
            id: instance.id().clone(),
            points: counts.of(pool.snapshot().ring_weight(place)),
        })
        .collect()
}
