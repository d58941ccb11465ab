//! Multi-probe look-ups: reference values, evenness.

use super::{
    model::{Model, native},
    order_svc, owner, walk,
};
use crate::ring::{Ring, RingConfig};

fn with_probes(probes: u32) -> RingConfig {
    RingConfig::default().with_probes(probes).expect("legal")
}

#[test]
fn five_probes_match_the_reference() {
    let pool = order_svc(&[1, 2, 3]);
    let ring = Ring::build(&pool, &with_probes(5));
    for (key, expected) in [
        ("user-1", "3,1,2"),
        ("user-7", "2,3,1"),
        ("user-88", "3,1,2"),
        ("user-1024", "1,3,2"),
    ] {
        assert_eq!(walk(&pool, &ring, key), expected, "{key}");
        assert!(owner(&pool, &ring, key).ends_with(&expected[..1]), "{key}");
    }
}

#[test]
fn movement_with_five_probes_matches_the_reference() {
    let owners = |numbers: &[u32]| {
        let pool = order_svc(numbers);
        let ring = Ring::build(&pool, &with_probes(5));
        (1..=5_000)
            .map(|i| owner(&pool, &ring, &format!("user-{i}")))
            .collect::<Vec<_>>()
    };
    let counts = |owners: &[String]| {
        ["1", "2", "3", "4"].map(|n| owners.iter().filter(|owner| owner.ends_with(n)).count())
    };
    let moved = |from: &[String], to: &[String]| {
        let pairs = from.iter().cloned().zip(to.iter().cloned());
        pairs.filter(|(from, to)| from != to).collect::<Vec<_>>()
    };
    let (three, four, without_two) = (
        owners(&[1, 2, 3]),
        owners(&[1, 2, 3, 4]),
        owners(&[1, 3, 4]),
    );
    assert_eq!(counts(&three), [1_550, 1_774, 1_676, 0]);
    assert_eq!(counts(&four), [1_190, 1_325, 1_252, 1_233]);
    assert_eq!(counts(&without_two), [1_630, 0, 1_678, 1_692]);
    let came = moved(&three, &four);
    assert_eq!(came.len(), 1_233);
    assert!(came.iter().all(|(_, to)| to == "order-svc-4"));
    let left = moved(&four, &without_two);
    assert_eq!(left.len(), 1_325);
    assert!(left.iter().all(|(from, _)| from == "order-svc-2"));
}

#[test]
fn probes_are_within_their_range_and_in_the_fingerprint() {
    for wrong in [0, 22, u32::MAX] {
        let error = RingConfig::default()
            .with_probes(wrong)
            .expect_err("out of range");
        assert_eq!((error.field(), error.allowed()), ("probes", "1..=21"));
    }
    let pool = order_svc(&[1, 2, 3]);
    let fingerprint = |probes| Ring::build(&pool, &with_probes(probes)).fingerprint();
    let plain = Ring::build(&pool, &RingConfig::default()).fingerprint();
    assert_eq!(fingerprint(1), plain);
    let mut all: Vec<_> = (1..=21).map(fingerprint).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 21);
}

/// Each member's share of the keys, relative to the mean, exactly: as if the probes of a key were drawn one by one.
///
/// A point owns a key if its arc holds the probe of least distance, so its share is the integral of `k (1 - F(d))^(k-1)` over
/// the distances `d` in its arc, with `F(d)` the share of the circle that is no more than `d` before a point.
fn shares(model: &Model, members: usize, probes: u32) -> Vec<f64> {
    let points: Vec<(u64, u32)> = model.points().collect();
    let mut before = points.last().expect("points").0;
    let mut arcs: Vec<(f64, u32)> = Vec::new();
    for (position, member) in points {
        arcs.push((position.wrapping_sub(before) as f64 / 2f64.powi(64), member));
        before = position;
    }
    arcs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut shares = vec![0.0; members];
    let power = i32::try_from(probes).expect("few");
    let (mut integral, mut shorter, mut farther) = (0.0, 0.0, 1.0f64);
    for (at, (arc, member)) in arcs.iter().enumerate() {
        // Of all arcs but the shorter ones, so much lies beyond this distance.
        let reaching = (arcs.len() - at) as f64;
        let next = (farther - reaching * (arc - shorter)).max(0.0);
        integral += (farther.powi(power) - next.powi(power)) / reaching;
        (shorter, farther) = (*arc, next);
        shares[*member as usize] += integral * members as f64;
    }
    shares
}

/// One ring is one draw of positions, so the bound holds for the mean of several seeds.
#[test]
fn eight_probes_even_out_the_shares() {
    const SEEDS: u64 = 8;
    for instances in [3u32, 4, 5, 10, 20, 50, 100, 200] {
        let pool = order_svc(&(0..instances).collect::<Vec<_>>());
        let mut mean_of_max = 0.0;
        for seed in 0..SEEDS {
            let ring = Ring::build(&pool, &with_probes(8).with_seed(seed));
            let shares = shares(&Model::of(&pool, &ring), instances as usize, 8);
            let sum: f64 = shares.iter().sum();
            assert!(
                (sum / f64::from(instances) - 1.0).abs() < 1e-6,
                "all keys are owned"
            );
            mean_of_max += shares.iter().fold(0.0f64, |a, &b| a.max(b)) / SEEDS as f64;
        }
        assert!(
            mean_of_max <= 1.06,
            "{instances} instances: max/mean {mean_of_max:.4}"
        );
    }
}

/// The shares above are those of the look-up.
#[test]
fn sampled_shares_agree_with_the_exact_ones() {
    const KEYS: u32 = 100_000;
    let pool = order_svc(&[1, 2, 3, 4, 5]);
    for probes in [1, 8] {
        let ring = Ring::build(&pool, &with_probes(probes));
        let exact = shares(&Model::of(&pool, &ring), 5, probes);
        let mut counts = [0u32; 5];
        for n in 0..KEYS {
            let key = ring.config().hash_key(&n.to_le_bytes()).hash();
            counts[ring.owner(key).expect("an owner") as usize] += 1;
        }
        for (count, share) in counts.iter().zip(&exact) {
            let sampled = f64::from(*count) * 5.0 / f64::from(KEYS);
            // Five standard deviations of a count of 20,000.
            assert!(
                (sampled - share).abs() < 0.035,
                "{probes} probes: {sampled} {share}"
            );
        }
        assert_eq!(native(&ring).len(), 800);
    }
}
