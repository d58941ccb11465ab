//! What the foreign algorithms are made of.

use crate::{
    instance::{Instance, InstanceId},
    pool::Pool,
    ring::{HashAlgorithm, RingConfig},
    snapshot::Snapshot,
};

/// Tag that takes the place of an instance's address where foreign algorithms hash it, as Envoy's metadata of that name does.
const HASH_KEY_TAG: &str = "hash_key";

/// The members of a pool with all of them that decides their mapping: equal ones give equal mappings.
#[derive(PartialEq, Eq)]
pub(in crate::ring) struct Hosts {
    /// By member.
    pub(super) list: Box<[Host]>,
    /// The members in the order in which they are told to the algorithm; empty where it does not matter.
    pub(super) order: Box<[u32]>,
    pub(super) is_capped: bool,
}

#[derive(PartialEq, Eq)]
pub(super) struct Host {
    pub(super) id: InstanceId,
    /// The host key; empty where ids are hashed.
    pub(super) key: Box<str>,
    pub(super) weight: u32,
    /// The weight that the registry gives it, where that decides how much a weight is worth; a new instance in a slow start has a
    /// lower one on the ring.
    pub(super) own_weight: u32,
    /// Points that the algorithm gives it by itself; 0 where they follow from the weights of all.
    pub(super) points: u32,
}

impl Hosts {
    pub(in crate::ring) fn of(pool: &Pool, config: &RingConfig) -> Self {
        let counts = match config.algorithm() {
            HashAlgorithm::Nginx(nginx) => Some(NginxCounts::new(
                pool.snapshot(),
                nginx.weight_unit(),
                config.max_ring_points(),
            )),
            _ => None,
        };
        let has_host_keys = config.algorithm().has_host_keys();
        let is_envoys = matches!(config.algorithm(), HashAlgorithm::EnvoyRing(_));
        let host = |(instance, &place): (&_, &u32)| {
            let instance: &Instance = instance;
            let weight = pool.snapshot().ring_weight(place);
            Host {
                id: instance.id().clone(),
                key: if has_host_keys {
                    host_key(instance)
                } else {
                    Box::default()
                },
                weight,
                own_weight: if is_envoys {
                    instance.effective_weight()
                } else {
                    0
                },
                points: counts.as_ref().map_or(0, |counts| counts.of(weight)),
            }
        };
        let members = pool.iter().map(|instance| &**instance).zip(pool.members());
        Self {
            list: members.map(host).collect(),
            order: if config.algorithm().depends_on_order() {
                order_given(pool)
            } else {
                Box::default()
            },
            is_capped: counts.is_some_and(|counts| counts.is_capped()),
        }
    }

    /// Members that own anything at all, with their hosts.
    pub(super) fn weighted(&self) -> impl Iterator<Item = (u32, &Host)> {
        (0..).zip(&self.list).filter(|(_, host)| host.weight > 0)
    }

    /// All members in the order given, with their hosts.
    pub(super) fn ordered(&self) -> impl Iterator<Item = (u32, &Host)> {
        let host = |&member| Some((member, self.list.get(member as usize)?));
        self.order.iter().filter_map(host)
    }

    /// The weighted members, by host key and then by id.
    pub(super) fn by_key(&self) -> Vec<(u32, &Host)> {
        let mut hosts: Vec<_> = self.weighted().collect();
        hosts.sort_by(|(_, a), (_, b)| a.key.cmp(&b.key));
        hosts
    }
}

fn host_key(instance: &Instance) -> Box<str> {
    match instance.tag(HASH_KEY_TAG) {
        Some(key) => key.into(),
        None => instance.address().to_string().into(),
    }
}

fn order_given(pool: &Pool) -> Box<[u32]> {
    let member = |place: u32| pool.members().binary_search(&place).ok();
    let members = pool.snapshot().given_order().filter_map(member);
    members
        .filter_map(|member| u32::try_from(member).ok())
        .collect()
}

/// About how many entries the ring of all instances has.
pub(in crate::ring) fn expected_entries(config: &RingConfig, snapshot: &Snapshot) -> usize {
    let instances = snapshot.len();
    match config.algorithm() {
        HashAlgorithm::Nginx(nginx) => {
            let max_points = config.max_ring_points();
            NginxCounts::new(snapshot, nginx.weight_unit(), max_points).expected()
        }
        HashAlgorithm::Ketama(_) => instances.saturating_mul(super::ketama::POINTS as usize),
        HashAlgorithm::EnvoyRing(ring) => {
            let weights = snapshot.instances().iter().map(|i| i.effective_weight());
            super::envoy::expected(weights.filter(|weight| *weight > 0), ring)
        }
        // Slots are looked for several times each, more often the fuller the table is.
        HashAlgorithm::Maglev(maglev) => (maglev.table_size() as usize).saturating_mul(8),
        HashAlgorithm::Ring
        | HashAlgorithm::Jump(_)
        | HashAlgorithm::Rendezvous
        | HashAlgorithm::Slots(_) => instances,
    }
}

/// How many points instances of a snapshot have on nginx's ring. The unit and the cap go by the instances' own weights in the whole
/// snapshot, so that nobody else's points change while a new one grows, and a pool's ring is that of all without the others.
struct NginxCounts {
    unit: u64,
    max_points: u64,
    /// Sum before the cap.
    total: u64,
}

impl NginxCounts {
    /// Of a server of weight 1.
    const POINTS: u64 = 160;

    fn new(snapshot: &Snapshot, unit: Option<u32>, max_points: u32) -> Self {
        let weights = || {
            let own = |instance: &std::sync::Arc<Instance>| instance.effective_weight();
            snapshot.instances().iter().map(own)
        };
        let unit = unit.unwrap_or_else(|| {
            let is_of_registries = weights().all(|weight| weight.is_multiple_of(100));
            if is_of_registries { 100 } else { 1 }
        });
        let mut counts = Self {
            unit: unit.into(),
            max_points: max_points.into(),
            total: 0,
        };
        counts.total = weights().map(|weight| counts.uncapped(weight)).sum();
        counts
    }

    fn uncapped(&self, weight: u32) -> u64 {
        match u64::from(weight) {
            0 => 0,
            weight => ((Self::POINTS * weight + self.unit / 2) / self.unit).max(1),
        }
    }

    fn is_capped(&self) -> bool {
        self.total > self.max_points
    }

    /// About how many all have together.
    fn expected(&self) -> usize {
        usize::try_from(self.total.min(self.max_points)).unwrap_or(usize::MAX)
    }

    fn of(&self, weight: u32) -> u32 {
        let count = self.uncapped(weight);
        let count = if count > 0 && self.is_capped() {
            // Both factors are below 2^28.
            (count * self.max_points / self.total).max(1)
        } else {
            count
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}
