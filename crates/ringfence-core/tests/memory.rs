//! What a ring takes of memory, and that looking up takes none.
#![allow(
    clippy::expect_used,
    reason = "helpers of tests, where a failure is to end the test"
)]

use std::{hint::black_box, sync::Arc};

use allocation_counter::measure;
use ringfence_core::{Instance, Pool, Ring, RingConfig, Selector, Snapshot};

fn pool(instances: u32) -> Pool {
    let instances = (0..instances).map(|n| Instance::builder(format!("node-{n}"), "10.0.0.1:80"));
    let snapshot: Result<Snapshot, _> = instances.map(|builder| builder.build()).collect();
    Pool::select(&Arc::new(snapshot.expect("legal")), &Selector::any())
}

/// Live bytes a point of a ring and all that it holds.
fn bytes_a_point(make: impl FnOnce() -> Arc<Ring>) -> f64 {
    let mut ring = None;
    let made = measure(|| ring = Some(make()));
    let points = ring.map_or(0, |ring| ring.len());
    made.bytes_current as f64 / points as f64
}

#[test]
fn a_point_takes_few_bytes() {
    let config = RingConfig::default();
    // Of few points, and on both sides of each size at which the structure or an index changes.
    for (instances, most) in [
        (3, 16.0),
        (10, 16.0),
        (13, 16.0),
        (100, 16.0),
        (103, 16.0),
        (409, 16.0),
        (410, 12.0),
        (1_000, 12.0),
        (1_639, 12.0),
        (10_000, 12.0),
    ] {
        let pool = pool(instances);
        let bytes = bytes_a_point(|| Arc::new(Ring::build(&pool, &config)));
        assert!(
            bytes <= most,
            "{instances} instances: {bytes:.2} bytes a point"
        );
    }
}

/// What a changed ring adds to the one before is the shards of the change and the tables.
#[test]
fn a_changed_ring_shares_most_of_its_memory() {
    let before = Arc::new(Ring::build(&pool(2_000), &RingConfig::default()));
    let more = pool(2_001);
    let bytes = bytes_a_point(|| before.update(&more));
    assert!(bytes <= 2.0, "{bytes:.2} bytes a point");
}

/// A ring that changed many times is as large as one made anew.
#[test]
fn changes_leave_no_memory_behind() {
    let (config, pools) = (RingConfig::default(), [pool(500), pool(501)]);
    let bytes = bytes_a_point(|| {
        let mut ring = Arc::new(Ring::build(&pools[0], &config));
        for change in 1..=300 {
            ring = ring.update(&pools[change % 2]);
        }
        ring
    });
    assert!(bytes <= 12.0, "{bytes:.2} bytes a point");
}

#[test]
fn looking_up_allocates_nothing() {
    for (instances, probes) in [(10, 1), (10, 8), (500, 1), (500, 8)] {
        let config = RingConfig::default().with_probes(probes).expect("legal");
        let ring = Ring::build(&pool(instances), &config);
        let looked_up = measure(|| {
            for n in 0..200u32 {
                let bytes = n.to_le_bytes();
                let key = config.hash_key(&bytes);
                black_box(ring.owner(key));
                black_box(ring.walk(key).take(8).count());
                black_box(ring.walk_where(key, |member| member % 2 == 0).next());
            }
        });
        assert_eq!(
            looked_up.count_total, 0,
            "{instances} instances, {probes} probes"
        );
    }
}
