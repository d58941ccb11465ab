//! Look-ups in rings of all shapes against a plain scan.

use proptest::prelude::*;

use super::{
    super::points::Points,
    model::{BENDS, Model, bent, native, probe, ring_of},
    warp,
};
use crate::ring::RingConfig;

fn config(points: u32, probes: u32) -> RingConfig {
    let config = RingConfig::default().with_points_per_instance(points);
    config.and_then(|c| c.with_probes(probes)).expect("legal")
}

fn check(weights: &[u32], config: &RingConfig) {
    let (pool, ring) = ring_of(weights, config);
    let model = Model::of(&pool, &ring);
    model.check(&ring, &model.keys());
}

#[test]
fn rings_of_all_sizes_and_shapes_find_what_a_scan_finds() {
    bent(|_| {
        for probes in [1, 3] {
            for weights in [&[][..], &[1], &[1, 1], &[2], &[1, 0, 1], &[100, 50, 7]] {
                check(weights, &config(100, probes));
            }
            check(&[100; 12], &config(30, probes));
        }
    });
}

/// In both structures, above the size at which a ring is cut into shards and below.
#[test]
fn large_rings_of_all_shapes_find_what_a_scan_finds() {
    bent(|name| {
        let (pool, ring) = ring_of(&[100; 12], &config(200, 1));
        let is_sharded = matches!(native(&ring).points, Points::Sharded(_));
        assert!(is_sharded, "{name}");
        let model = Model::of(&pool, &ring);
        model.check(&ring, &model.keys());
    });
}

#[test]
fn large_rings_with_probes_find_what_a_scan_finds() {
    bent(|_| check(&[100; 12], &config(200, 3)));
}

/// Two probes of a key, of which each has points behind it that are as far but for the last bits.
#[test]
fn bits_that_are_not_kept_decide_between_probes() {
    for key in (1..8u64).map(|n| n << 60 | n << 20) {
        let probes = [probe(key, 0), probe(key, 1)];
        for further in [1 << 20, 1 << 30, 1 << 30 | 1 << 26, 1 << 40] {
            let near =
                move |p: u64| probes[usize::from(p & 1 == 0)].wrapping_add(further + (p >> 52));
            let _warped = warp::warp(near);
            for points in [5, 200] {
                let (pool, ring) = ring_of(&[100; 12], &config(points, 2).with_seed(key));
                Model::of(&pool, &ring).check(&ring, &[key]);
            }
        }
    }
}

/// A key that agrees with a point in all bits that are kept goes by those that are not.
#[test]
fn bits_that_are_not_kept_decide_where_the_others_agree() {
    let _warped = warp::warp(|p| p >> 60 << 60 | (p & 0xFFF));
    for points in [40, 400] {
        let (pool, ring) = ring_of(&[100; 10], &config(points, 1));
        let model = Model::of(&pool, &ring);
        let positions: Vec<u64> = model.points().map(|(position, _)| position).collect();
        let cut = native(&ring).points.cut();
        assert!(
            positions
                .windows(2)
                .any(|p| p[0] != p[1] && cut.kept(p[0]) == cut.kept(p[1]))
        );
        let beside = positions
            .iter()
            .flat_map(|p| [p.saturating_sub(1), *p, p + 1]);
        let keys: Vec<u64> = beside.step_by(positions.len() / 100).collect();
        model.check(&ring, &keys);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_ring_finds_what_a_scan_finds(
        weights in prop::collection::vec(0u32..400, 0..24),
        points in 1u32..120,
        probes in 1u32..=21,
        bend in 0..BENDS.len(),
        keys in prop::collection::vec(any::<u64>(), 16),
    ) {
        let _warped = warp::warp(BENDS[bend].1);
        let (pool, ring) = ring_of(&weights, &config(points, probes));
        Model::of(&pool, &ring).check(&ring, &keys);
    }
}
