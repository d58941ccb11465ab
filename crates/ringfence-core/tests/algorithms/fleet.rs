//! Pools and rings with short names.

use std::{collections::BTreeMap, sync::Arc};

use ringfence_core::{HashAlgorithm, Instance, Pool, Ring, RingConfig, Selector, Snapshot};

/// A ring with the pool that it is of.
pub(crate) struct Fleet {
    pub(crate) pool: Pool,
    pub(crate) ring: Arc<Ring>,
}

/// Keys that vectors are given for.
pub(crate) const KEYS: [&str; 4] = ["user-1", "user-7", "user-88", "user-1024"];

pub(crate) fn instance(address: &str, weight: u32) -> Instance {
    let builder = Instance::builder(address, address).weight(weight);
    builder.build().expect("legal")
}

/// Instances whose ids are their addresses, in this order.
pub(crate) fn snapshot(hosts: &[(&str, u32)]) -> Arc<Snapshot> {
    let hosts = hosts
        .iter()
        .map(|(address, weight)| instance(address, *weight));
    Arc::new(hosts.collect())
}

pub(crate) fn pool(snapshot: &Arc<Snapshot>) -> Pool {
    Pool::select(snapshot, &Selector::any())
}

pub(crate) fn fleet(hosts: &[(&str, u32)], algorithm: impl Into<HashAlgorithm>) -> Fleet {
    configured(hosts, &RingConfig::default().with_algorithm(algorithm))
}

pub(crate) fn configured(hosts: &[(&str, u32)], config: &RingConfig) -> Fleet {
    Fleet::of(pool(&snapshot(hosts)), config)
}

/// Three of equal weight: `10.0.0.1:8080` and so on.
pub(crate) const THREE: [(&str, u32); 3] = [
    ("10.0.0.1:8080", 100),
    ("10.0.0.2:8080", 100),
    ("10.0.0.3:8080", 100),
];

/// The same with weights.
pub(crate) fn weighted(weights: [u32; 3]) -> [(&'static str, u32); 3] {
    let mut hosts = THREE;
    hosts
        .iter_mut()
        .zip(weights)
        .for_each(|(host, weight)| host.1 = weight);
    hosts
}

impl Fleet {
    pub(crate) fn of(pool: Pool, config: &RingConfig) -> Self {
        let ring = Arc::new(Ring::build(&pool, config));
        Self { pool, ring }
    }

    pub(crate) fn id(&self, member: u32) -> &str {
        self.pool.instance(member).expect("a member").id().as_str()
    }

    pub(crate) fn owner(&self, key: impl AsRef<[u8]>) -> &str {
        let key = self.ring.config().hash_key(key.as_ref());
        self.id(self.ring.owner(key).expect("an owner"))
    }

    pub(crate) fn walk(&self, key: impl AsRef<[u8]>) -> Vec<&str> {
        let key = self.ring.config().hash_key(key.as_ref());
        self.ring.walk(key).map(|member| self.id(member)).collect()
    }

    /// The last digits of the hosts that own the [`KEYS`].
    pub(crate) fn owners(&self) -> [u32; 4] {
        KEYS.map(|key| last_number(self.owner(key)))
    }

    /// Points by id.
    pub(crate) fn counts(&self) -> BTreeMap<&str, u32> {
        (0..)
            .zip(self.pool.iter())
            .map(|(member, instance)| (instance.id().as_str(), self.ring.points_of(member)))
            .collect()
    }

    /// Position and last digits of the owner of a point.
    pub(crate) fn point(&self, place: usize) -> (u64, u32) {
        let (position, member) = self.ring.points().nth(place).expect("a point");
        (position, last_number(self.id(member)))
    }

    /// How many of so many keys each owns, by member.
    pub(crate) fn shares(&self, keys: u32) -> Vec<u32> {
        let mut shares = vec![0; self.pool.len()];
        for key in 0..keys {
            let key = self.ring.config().hash_key(&key.to_le_bytes()).hash();
            if let Some(owner) = self.ring.owner(key) {
                shares[owner as usize] += 1;
            }
        }
        shares
    }
}

/// 3 of `10.0.0.3:8080`.
fn last_number(address: &str) -> u32 {
    let host = address.split(':').next().expect("a host");
    let number = host.rsplit('.').next().expect("a number");
    number.parse().expect("a number")
}
