//! The ring against references, scans and fresh builds.

mod lookup;
mod model;
mod probes;
mod shard;
mod threads;
mod updates;
pub(super) mod warp;

use std::sync::Arc;

use super::layout::PointSource;
use crate::{
    instance::Instance,
    pool::{Pool, Selector},
    ring::{KeyHash, Ring, RingConfig},
    snapshot::Snapshot,
};

fn pool(instances: impl IntoIterator<Item = (String, u32)>) -> Pool {
    let snapshot = instances.into_iter().map(|(id, weight)| {
        Instance::builder(id, "10.0.0.1:80")
            .weight(weight)
            .build()
            .expect("legal")
    });
    Pool::select(&Arc::new(snapshot.collect()), &Selector::any())
}

fn named(ids: &[&str]) -> Pool {
    weighted(&ids.iter().map(|id| (*id, 100)).collect::<Vec<_>>())
}

fn weighted(ids: &[(&str, u32)]) -> Pool {
    pool(ids.iter().map(|(id, weight)| ((*id).to_owned(), *weight)))
}

fn order_svc(numbers: &[u32]) -> Pool {
    pool(numbers.iter().map(|i| (format!("order-svc-{i}"), 100)))
}

fn ids(pool: &Pool, members: impl Iterator<Item = u32>) -> Vec<String> {
    members
        .filter_map(|member| pool.instance(member))
        .map(|instance| instance.id().to_string())
        .collect()
}

fn owner(pool: &Pool, ring: &Ring, key: &str) -> String {
    ids(
        pool,
        ring.owner(ring.config().hash_key(key.as_bytes()))
            .into_iter(),
    )
    .concat()
}

/// Numbers of the `order-svc-N` instances in the order of a walk.
fn walk(pool: &Pool, ring: &Ring, key: &str) -> String {
    let walk = ring.walk(ring.config().hash_key(key.as_bytes()));
    ids(pool, walk)
        .iter()
        .map(|id| id.trim_start_matches("order-svc-"))
        .collect::<Vec<_>>()
        .join(",")
}

/// The place of the point among its instance's own.
fn number_of(id: &str, seed: u64, position: u64) -> Option<u32> {
    (0..160).find(|&i| PointSource::new(id, seed).point(i) == position)
}

#[test]
fn primitives_match_the_reference() {
    let hash = |key: &str, seed| {
        RingConfig::default()
            .with_seed(seed)
            .hash_key(key.as_bytes())
            .get()
    };
    assert_eq!(hash("", 0), 3_244_421_341_483_603_138);
    assert_eq!(hash("a", 0), 16_629_034_431_890_738_719);
    assert_eq!(hash("abc", 0), 8_696_274_497_037_089_104);
    assert_eq!(hash("abc", 1), 7_729_416_884_403_528_232);
    // An instance's base is the same hash over its id.
    assert_eq!(hash("order-svc-1", 0), 1_890_125_818_073_621_506);
    let source = PointSource::new("order-svc-1", 0);
    assert_eq!(
        [source.point(0), source.point(1), source.point(2)],
        [
            16_564_822_923_552_771_518,
            1_279_084_841_256_817_315,
            7_980_082_302_184_279_604
        ]
    );
    for (key, position) in [
        ("user-1", 8_968_379_626_967_066_057),
        ("user-7", 12_816_815_963_197_343_038),
        ("user-88", 2_153_030_635_196_525_879),
        ("user-1024", 5_144_519_815_317_352_821),
    ] {
        assert_eq!(hash(key, 0), position, "{key}");
    }
}

#[test]
fn three_equal_instances_match_the_reference() {
    let pool = order_svc(&[1, 2, 3]);
    let ring = Ring::build(&pool, &RingConfig::default());
    let points: Vec<_> = ring
        .points()
        .map(|(position, member)| {
            let id = ids(&pool, [member].into_iter()).concat();
            let number = number_of(&id, 0, position).expect("a point of its owner");
            (position, id, number)
        })
        .collect();
    assert_eq!(points.len(), 480);
    assert_eq!(points[0], (485_330_153_471_747, "order-svc-1".into(), 131));
    assert_eq!(
        points[1],
        (35_294_706_073_729_660, "order-svc-1".into(), 28)
    );
    assert_eq!(
        points[479],
        (18_430_565_555_268_896_465, "order-svc-2".into(), 63)
    );
    for (key, expected) in [
        ("user-1", "3,2,1"),
        ("user-7", "1,2,3"),
        ("user-88", "3,2,1"),
        ("user-1024", "3,1,2"),
    ] {
        assert_eq!(walk(&pool, &ring, key), expected, "{key}");
    }
}

#[test]
fn seeds_and_weights_match_the_reference() {
    let pool = order_svc(&[1, 2, 3]);
    let ring = Ring::build(&pool, &RingConfig::default().with_seed(7));
    let (position, member) = ring.points().next().expect("a point");
    assert_eq!((position, member), (26_434_185_992_710_395, 2));
    assert_eq!(number_of("order-svc-3", 7, position), Some(75));
    for (key, expected) in [
        ("user-1", "1"),
        ("user-7", "3"),
        ("user-88", "2"),
        ("user-1024", "2"),
    ] {
        assert!(owner(&pool, &ring, key).ends_with(expected), "{key}");
    }
    let ring = Ring::build(
        &weighted(&[("a", 100), ("b", 50), ("c", 200)]),
        &RingConfig::default(),
    );
    assert_eq!(ring.len(), 560);
}

#[test]
fn movement_matches_the_reference() {
    let keys: Vec<_> = (1..=5_000).map(|i| format!("user-{i}")).collect();
    let owners = |numbers: &[u32]| {
        let pool = order_svc(numbers);
        let ring = Ring::build(&pool, &RingConfig::default());
        keys.iter()
            .map(|key| owner(&pool, &ring, key))
            .collect::<Vec<_>>()
    };
    let (three, four, without_two) = (
        owners(&[1, 2, 3]),
        owners(&[1, 2, 3, 4]),
        owners(&[1, 3, 4]),
    );
    let moved = |from: &[String], to: &[String]| {
        from.iter()
            .zip(to)
            .filter(|(from, to)| from != to)
            .map(|(from, to)| (from.clone(), to.clone()))
            .collect::<Vec<_>>()
    };
    let came = moved(&three, &four);
    assert_eq!(came.len(), 1_224);
    assert!(came.iter().all(|(_, to)| to == "order-svc-4"));
    let left = moved(&four, &without_two);
    assert_eq!(left.len(), 1_333);
    assert!(left.iter().all(|(from, _)| from == "order-svc-2"));
    let count = |id: &str| without_two.iter().filter(|owner| *owner == id).count();
    assert_eq!(
        [
            count("order-svc-1"),
            count("order-svc-3"),
            count("order-svc-4")
        ],
        [1_621, 1_665, 1_714]
    );
}

/// Every client of a fleet computes this file; a change of it is a new layout version, never an edit.
#[test]
fn layout_v1_is_frozen() {
    let pool = weighted(&[
        ("order-svc-1", 100),
        ("order-svc-2", 30),
        ("ünïcode/3", 1),
        ("drained", 0),
    ]);
    let config = RingConfig::default()
        .with_points_per_instance(20)
        .expect("legal")
        .with_seed(7);
    let ring = Ring::build(&pool, &config);
    let mut text = format!("fingerprint {}\n", ring.fingerprint());
    for (position, member) in ring.points() {
        text += &format!("{position} {}\n", ids(&pool, [member].into_iter()).concat());
    }
    assert_eq!(
        text,
        include_str!("../../../../tests/golden/ring-layout-v1.txt")
    );
}

/// Equal points must not depend on input order or on history (B13).
#[test]
fn colliding_points_have_one_owner_in_any_order() {
    let _warped = warp::warp(|point| point >> 60 << 60);
    let config = RingConfig::default()
        .with_points_per_instance(20)
        .expect("legal");
    let fresh = |ids: &[&str]| Ring::build(&named(ids), &config);
    let reference = fresh(&["A", "B", "C"]);
    let positions: Vec<_> = reference.points().map(|(position, _)| position).collect();
    assert!(
        positions.windows(2).any(|pair| pair[0] == pair[1]),
        "the test needs collisions"
    );
    let (pool, largest) = (named(&["A", "B", "C"]), *positions.last().expect("points"));
    let probes = positions
        .iter()
        .flat_map(|&p| [p.wrapping_sub(1), p, p.wrapping_add(1)])
        .chain([0, u64::MAX, largest, largest.wrapping_add(1)]);
    for ids in [
        ["A", "C", "B"],
        ["B", "A", "C"],
        ["B", "C", "A"],
        ["C", "A", "B"],
        ["C", "B", "A"],
    ] {
        assert!(fresh(&ids).points().eq(reference.points()), "{ids:?}");
    }
    for probe in probes {
        let by_scan = reference
            .points()
            .find(|(p, _)| *p >= probe)
            .or(reference.points().next());
        assert_eq!(
            reference.owner(KeyHash::from_raw(probe)),
            by_scan.map(|(_, member)| member)
        );
        let walk = reference.walk(KeyHash::from_raw(probe)).collect::<Vec<_>>();
        assert_eq!(
            walk.len(),
            3,
            "every instance is reachable from {probe}: {:?}",
            ids(&pool, walk.into_iter())
        );
    }
    for (from, to) in [
        (vec!["A", "B", "C"], vec!["B", "C"]),
        (vec!["A", "B", "C"], vec!["A", "B"]),
        (vec!["B"], vec!["A", "B", "C"]),
    ] {
        let updated = Arc::new(fresh(&from)).update(&named(&to));
        assert!(
            updated.points().eq(fresh(&to).points()),
            "{from:?} to {to:?}"
        );
    }
    let heavy = Arc::new(Ring::build(&weighted(&[("A", 300), ("B", 100)]), &config));
    let light = weighted(&[("A", 100), ("B", 250)]);
    assert!(
        heavy
            .update(&light)
            .points()
            .eq(Ring::build(&light, &config).points())
    );
}

/// Step by points, skip what is out, at most one turn, each instance once (B03).
#[test]
fn a_walk_skips_what_is_out_and_ends() {
    let pool = weighted(&[("A", 10_000), ("B", 100), ("C", 100)]);
    let ring = Ring::build(&pool, &RingConfig::default());
    for key in 0..1_000u64 {
        let key = ring.config().hash_key(&key.to_le_bytes()).hash();
        assert_eq!(
            ring.walk_where(key, |member| member == 2)
                .collect::<Vec<_>>(),
            [2]
        );
        assert_eq!(
            ring.walk(key)
                .take(5)
                .collect::<std::collections::BTreeSet<_>>()
                .len(),
            3
        );
        assert_eq!(ring.walk(key).count(), 3);
        assert_eq!(ring.walk_where(key, |_| false).next(), None);
    }
    let last = ring.points().last().expect("points").0;
    assert_eq!(
        ring.owner(KeyHash::from_raw(last + 1)),
        ring.points().next().map(|(_, m)| m)
    );
}

#[test]
fn a_walk_of_many_gives_each_instance_once() {
    let pool = pool((0..500).map(|i| (format!("i-{i}"), 10)));
    let ring = Ring::build(&pool, &RingConfig::default());
    for key in 0..50u64 {
        let mut walk: Vec<_> = ring
            .walk(ring.config().hash_key(&key.to_le_bytes()))
            .collect();
        assert_eq!(walk.len(), 500);
        walk.sort_unstable();
        assert!(walk.into_iter().eq(0..500));
    }
}

/// Weights of zero, tiny weights beside huge ones, caps (B14, B45).
#[test]
fn every_weight_has_a_meaning() {
    let config = RingConfig::default();
    let points = |config: &RingConfig, weights: &[u32]| {
        let pool = pool(
            (0..)
                .zip(weights)
                .map(|(i, &weight)| (format!("i-{i:05}"), weight)),
        );
        let ring = Ring::build(&pool, config);
        (0..)
            .zip(weights)
            .map(|(i, _)| ring.points_of(i))
            .collect::<Vec<_>>()
    };
    assert_eq!(points(&config, &[0, 500]), [0, 800]);
    assert_eq!(points(&config, &[0, 0]), [0, 0]);
    assert_eq!(points(&config, &[]), [0; 0]);
    assert_eq!(
        points(&config, &[1, 2, 99, 100, 101]),
        [2, 3, 158, 160, 162]
    );
    let one = config.clone().with_points_per_instance(1).expect("legal");
    assert_eq!(
        points(&one, &[1, 49, 50, 100, 149, 150]),
        [1, 1, 1, 1, 1, 2]
    );
    // Capped: scaled down, each at least one.
    let capped = config.clone().with_max_ring_points(100).expect("legal");
    assert_eq!(points(&capped, &[1_000_000, 1_000_000, 5]), [49, 49, 1]);
    assert_eq!(points(&capped, &vec![100; 10_000]), vec![1; 10_000]);
    let ring = Ring::build(&named(&["A", "B"]), &capped);
    assert!(ring.is_capped() && ring.len() == 100);
    assert!(config.clone().with_points_per_instance(0).is_err());
    assert!(config.clone().with_points_per_instance(65_537).is_err());
    assert!(config.with_max_ring_points(0).is_err());
    let empty = Ring::build(&named(&[]), &RingConfig::default());
    assert_eq!(
        (
            empty.owner(KeyHash::from_raw(7)),
            empty.walk(KeyHash::from_raw(7)).next()
        ),
        (None, None)
    );
    let drained = weighted(&[("A", 0)]);
    assert_eq!(
        Ring::build(&drained, &RingConfig::default()).owner(KeyHash::from_raw(7)),
        None
    );
}

/// The cap holds for a whole snapshot, so that a pool's own ring and a filtered walk agree.
#[test]
fn the_cap_is_the_same_for_every_pool_of_a_snapshot() {
    let snapshot: Snapshot = (0..10)
        .map(|i| {
            Instance::builder(format!("i-{i}"), "h:1")
                .zone(format!("z{}", i % 2))
                .build()
                .expect("legal")
        })
        .collect();
    let snapshot = Arc::new(snapshot);
    let config = RingConfig::default()
        .with_max_ring_points(100)
        .expect("legal");
    let whole = Ring::build(&Pool::select(&snapshot, &Selector::any()), &config);
    let zone = Selector::any().and(crate::Attribute::Zone, crate::Match::is("z1"));
    let half = Ring::build(&Pool::select(&snapshot, &zone), &config);
    assert_eq!((whole.len(), half.len()), (100, 50));
}

#[test]
fn fingerprints_tell_every_input_that_decides_the_mapping() {
    let base = RingConfig::default();
    let of = |pool: &Pool, config: &RingConfig| Ring::build(pool, config).fingerprint();
    let reference = of(&named(&["A", "B"]), &base);
    assert_eq!(of(&named(&["B", "A"]), &base), reference);
    // Health and drained instances decide nothing.
    assert_eq!(
        of(&weighted(&[("A", 100), ("B", 100), ("C", 0)]), &base),
        reference
    );
    for (what, other) in [
        ("id", of(&named(&["A", "b"]), &base)),
        (
            "boundary between ids",
            of(
                &named(&["AB", ""].map(|id| if id.is_empty() { "x" } else { id })),
                &base,
            ),
        ),
        ("weight", of(&weighted(&[("A", 100), ("B", 101)]), &base)),
        ("set", of(&named(&["A"]), &base)),
        ("seed", of(&named(&["A", "B"]), &base.clone().with_seed(1))),
        (
            "points",
            of(
                &named(&["A", "B"]),
                &base.clone().with_points_per_instance(161).expect("legal"),
            ),
        ),
    ] {
        assert_ne!(other, reference, "{what}");
    }
}

#[test]
fn an_unchanged_pool_keeps_its_ring() {
    let ring = Arc::new(Ring::build(&named(&["A", "B"]), &RingConfig::default()));
    let sick = Snapshot::new(["A", "B"].map(|id| {
        Instance::builder(id, "10.9.9.9:99")
            .healthy(false)
            .tag("k", "v")
            .build()
            .expect("legal")
    }));
    let sick = Pool::select(&Arc::new(sick), &Selector::any());
    assert!(Arc::ptr_eq(&ring, &ring.update(&sick)));
    assert!(!Arc::ptr_eq(&ring, &ring.update(&named(&["A"]))));
}

#[test]
fn lookup_equals_a_linear_scan() {
    for instances in [1, 2, 7, 100] {
        let pool = pool((0..instances).map(|i| (format!("node-{i}"), 100)));
        let ring = Ring::build(&pool, &RingConfig::default());
        let points: Vec<_> = ring.points().collect();
        for key in 0..20_000u64 {
            let hash = ring.config().hash_key(&key.to_le_bytes()).hash();
            let place = points
                .iter()
                .position(|(p, _)| *p >= hash.get())
                .unwrap_or(0);
            assert_eq!(
                ring.owner(hash),
                Some(points[place].1),
                "{instances} instances, key {key}"
            );
        }
    }
}

/// One ring is one draw of positions, so the bounds hold for the mean of several seeds.
#[test]
fn shares_are_as_even_as_the_points_allow() {
    const SEEDS: u64 = 8;
    for instances in [3usize, 10, 50] {
        let pool = pool((0..instances).map(|i| (format!("node-{i}"), 100)));
        let (mut cv, mut max) = (0.0, 0.0);
        for seed in 0..SEEDS {
            let ring = Ring::build(&pool, &RingConfig::default().with_seed(seed));
            let shares = arc_shares(&ring, instances);
            let variance = shares
                .iter()
                .map(|share| (share - 1.0).powi(2))
                .sum::<f64>()
                / instances as f64;
            cv += variance.sqrt() / SEEDS as f64;
            max += shares.iter().fold(0.0f64, |a, &b| a.max(b)) / SEEDS as f64;
        }
        assert!(
            cv < 0.10 && max < 1.30,
            "{instances} instances: cv {cv:.3}, max/mean {max:.3}"
        );
    }
}

/// Each member's share of the circle, relative to the mean.
fn arc_shares(ring: &Ring, members: usize) -> Vec<f64> {
    let mut shares = vec![0.0; members];
    let mut before = ring.points().last().expect("points").0;
    for (position, member) in ring.points() {
        shares[member as usize] +=
            position.wrapping_sub(before) as f64 / 2f64.powi(64) * members as f64;
        before = position;
    }
    shares
}

/// A slow start, below the cap on all points and above it.
#[test]
fn a_member_that_grows_takes_keys_from_others_and_moves_none_between_them() {
    let instances = (0..10).map(|n| Instance::builder(format!("i{n}"), "10.0.0.1:80").build());
    let all: Result<Snapshot, _> = instances.collect();
    let all = Arc::new(all.expect("legal"));
    for cap in [RingConfig::default().max_ring_points(), 1_000] {
        let config = RingConfig::default()
            .with_max_ring_points(cap)
            .expect("legal");
        let keys: Vec<_> = (0..2_000)
            .map(|n: u32| config.hash_key(&n.to_le_bytes()).hash())
            .collect();
        let at = |permille: u32| {
            let grown = all.with_ring_weights(|instance| {
                (instance.id().as_str() == "i3").then_some(permille / 10)
            });
            Pool::select(&grown, &Selector::any())
        };
        let owners = |ring: &Ring| keys.iter().map(|key| ring.owner(*key)).collect::<Vec<_>>();
        let mut ring = Arc::new(Ring::build(&at(100), &config));
        for permille in [200, 500, 900, 1_000] {
            let before = owners(&ring);
            ring = ring.update(&at(permille));
            assert_eq!(
                ring.fingerprint(),
                Ring::build(&at(permille), &config).fingerprint()
            );
            let after = owners(&ring);
            let moved = before
                .iter()
                .zip(&after)
                .filter(|(before, after)| before != after);
            let moved: Vec<_> = moved.collect();
            assert!(!moved.is_empty());
            assert!(
                moved.iter().all(|(_, after)| **after == Some(3)),
                "{permille}"
            );
        }
        let whole = Ring::build(&Pool::select(&all, &Selector::any()), &config);
        assert_eq!(ring.fingerprint(), whole.fingerprint());
        assert!(Arc::ptr_eq(&all, &all.with_ring_weights(|_| None)));
        assert_eq!(at(100).snapshot(), &all, "the registry's word is the same");
    }
}
