use std::sync::{Arc, OnceLock};

use super::{
    Engine, Fingerprint, HashAlgorithm, Ring, RingConfig, RingMember,
    native::{NativeRing, PointCounts},
    others::{Other, OtherHosts},
};
use crate::pool::Pool;

impl Ring {
    /// Makes the ring of a pool: `O(points * log points)`, which takes milliseconds and has no place on the path of a request. The
    /// balancer's task does it, beside the runtime where it takes long.
    ///
    /// [The own ring](HashAlgorithm::Ring) of 1.5 million points and more is made by as many threads as the machine has cores, at most
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
