//! Shards made by several threads against those made by one.

use std::{
    iter::repeat_with,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::MutexGuard,
    thread,
    time::Duration,
};

use proptest::prelude::*;

use super::{
    super::{
        shards::Shards,
        threads::{MIN_SHARED_POINTS, shards_by, turn},
    },
    model::{BENDS, Model, bent, native, ring_of},
    warp,
};
use crate::ring::{Ring, RingConfig};

/// As many points for an instance as its weight.
fn config() -> RingConfig {
    let config = RingConfig::default();
    config.with_points_per_instance(100).expect("legal")
}

fn check(ring: &Ring, threads: usize) {
    let owners = &native(ring).owners;
    let cut = Shards::cut_for(ring.len());
    let (one, several) = (shards_by(1, owners, cut), shards_by(threads, owners, cut));
    assert_eq!(one.len(), cut.buckets());
    assert_eq!(one, several, "{threads} threads, {} points", ring.len());
}

#[test]
fn rings_of_all_shapes_are_the_same_by_any_number_of_threads() {
    bent(|_| {
        for weights in [&[][..], &[1], &[300], &[2_000, 0, 1], &[100; 60]] {
            let (_, ring) = ring_of(weights, &config());
            for threads in 1..=8 {
                check(&ring, threads);
            }
        }
    });
}

#[test]
fn around_the_size_that_several_threads_make_a_ring_finds_what_a_scan_finds() {
    let fewest = u32::try_from(MIN_SHARED_POINTS).expect("a few");
    bent(|name| {
        for points in [fewest - 1, fewest, fewest + 1] {
            let (pool, ring) = ring_of(&[points - 1_000, 600, 400], &config());
            assert_eq!(ring.len(), points as usize, "{name}");
            let model = Model::of(&pool, &ring);
            let keys = model.keys();
            let some: Vec<u64> = keys.iter().copied().step_by(keys.len() / 50).collect();
            model.check(&ring, &some);
        }
    });
}

/// Other tests have their turns too, each for milliseconds.
fn next_turn() -> Option<MutexGuard<'static, ()>> {
    let turns = repeat_with(|| {
        thread::sleep(Duration::from_millis(1));
        turn()
    });
    turns.take(60_000).flatten().next()
}

#[test]
fn one_ring_at_a_time_is_made_by_several_threads() {
    let held = next_turn();
    assert!(held.is_some() && turn().is_none());
}

#[test]
fn after_a_panic_rings_are_made_as_before() {
    let weights = [3_000, 3_000];
    let panicking = warp::warp(|_| panic!("a fault"));
    let panicked = catch_unwind(AssertUnwindSafe(|| ring_of(&weights, &config())));
    assert!(panicked.is_err());
    drop(panicking);
    let (_, ring) = ring_of(&weights, &config());
    check(&ring, 4);
    assert!(next_turn().is_some());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_ring_is_the_same_by_any_number_of_threads(
        weights in prop::collection::vec(0u32..400, 0..40),
        threads in 2usize..=8,
        seed in any::<u64>(),
        bend in 0..BENDS.len(),
    ) {
        let _warped = warp::warp(BENDS[bend].1);
        let (_, ring) = ring_of(&weights, &config().with_seed(seed));
        check(&ring, threads);
    }
}
