//! The owners that a real Envoy and a real nginx gave to recorded keys.

use std::sync::Arc;

use ringfence_core::{
    EnvoyRing, HashAlgorithm, Instance, Maglev, Nginx, Pool, Ring, RingConfig, Selector, Snapshot,
};

use crate::goals::Row;

const PORTS: std::ops::RangeInclusive<u16> = 18_081..=18_085;

pub(crate) fn measure() -> [Row; 3] {
    [
        share(
            "Envoy's ring, equal weights",
            EnvoyRing::default().into(),
            |_| 100,
            include_str!("../../../crates/ringfence-core/tests/parity/envoy-ring-equal.csv"),
        ),
        share(
            "Envoy's Maglev, weights 1 to 5",
            Maglev::default().into(),
            |place| place,
            include_str!("../../../crates/ringfence-core/tests/parity/envoy-maglev-weighted.csv"),
        ),
        share(
            "nginx's consistent hash, weights 1 to 5",
            Nginx::default().into(),
            |place| place,
            include_str!("../../../crates/ringfence-core/tests/parity/nginx-ketama-weighted.csv"),
        ),
    ]
}

fn share(what: &str, algorithm: HashAlgorithm, weight: fn(u32) -> u32, recorded: &str) -> Row {
    let instances = PORTS.zip(1..).map(|(port, place)| {
        let address = format!("127.0.0.1:{port}");
        let instance = Instance::builder(&address, &address).weight(weight(place));
        instance.build().expect("a legal instance")
    });
    let snapshot: Snapshot = instances.collect();
    let pool = Pool::select(&Arc::new(snapshot), &Selector::any());
    let config = RingConfig::default().with_algorithm(algorithm);
    let ring = Ring::build(&pool, &config);
    let (mut same, mut all) = (0.0, 0.0);
    for line in recorded.lines().skip(1) {
        let (key, owner) = line.rsplit_once(',').expect("key,owner");
        let found = ring.owner(config.hash_key(key.as_bytes()));
        let found = found.and_then(|member| pool.instance(member));
        all += 1.0;
        if found.is_some_and(|instance| instance.id().as_str() == owner) {
            same += 1.0;
        }
    }
    Row::steady(
        what,
        "share of recorded keys with the same owner",
        same / all,
    )
    .at_least(1.0, 1.0)
}
