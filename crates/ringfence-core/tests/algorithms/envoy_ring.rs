use std::sync::Arc;

use ringfence_core::{EnvoyRing, HostOrder, Instance, PointHash, RingConfig, Snapshot};

use crate::fleet::{Fleet, THREE, configured, fleet, pool, weighted};

fn sized(min: u32, max: u32) -> EnvoyRing {
    EnvoyRing::default()
        .with_ring_sizes(min, max)
        .expect("legal")
}

fn counts(fleet: &Fleet) -> Vec<u32> {
    fleet.counts().into_values().collect()
}

#[test]
fn three_equal_hosts_match_the_reference() {
    let fleet = fleet(&THREE, EnvoyRing::default());
    assert_eq!((fleet.ring.len(), counts(&fleet)), (1_026, vec![342; 3]));
    assert_eq!(fleet.point(0), (28_240_643_374_849_546, 2));
    assert_eq!(fleet.point(1), (34_745_952_330_020_386, 1));
    assert_eq!(fleet.point(1_025), (18_442_263_919_368_429_034, 2));
    assert_eq!(fleet.owners(), [2, 3, 2, 3]);
    assert!(!fleet.ring.is_capped());
    for (key, hash) in [
        ("user-1", 11_633_770_265_628_666_856),
        ("user-7", 2_408_840_875_241_852_157),
        ("user-88", 87_603_467_154_159_962),
        ("user-1024", 10_641_113_856_306_981_308),
        ("", 0xef46_db37_51d8_e999),
        ("a", 15_154_266_338_359_012_955),
        ("abc", 0x44bc_2cf5_ad77_0999),
    ] {
        assert_eq!(
            fleet.ring.config().hash_key(key.as_bytes()).get(),
            hash,
            "{key}"
        );
    }
}

#[test]
fn weights_match_the_reference() {
    let hosts = weighted([3, 3, 4]);
    let plain = fleet(&hosts, EnvoyRing::default());
    assert_eq!(
        (plain.ring.len(), counts(&plain)),
        (1_027, vec![308, 308, 411])
    );
    assert_eq!(plain.owners(), [3, 3, 2, 3]);
    // The same in hundreds.
    let registry = fleet(&weighted([300, 300, 400]), EnvoyRing::default());
    assert!(registry.ring.points().eq(plain.ring.points()));
    let murmur = EnvoyRing::default().with_hash(PointHash::MurmurHash2);
    let murmur = fleet(&hosts, murmur);
    assert_eq!(counts(&murmur), [308, 308, 411]);
    assert!(!murmur.ring.points().eq(plain.ring.points()));
    // Keys are hashed by xxh64 with either.
    let key = |fleet: &Fleet| fleet.ring.config().hash_key(b"user-1").get();
    assert_eq!(key(&murmur), key(&plain));
}

/// Fractions run on from host to host, so their order decides who has one more (B45).
#[test]
fn sizes_and_orders_match_the_reference() {
    let light_first = weighted([3, 3, 4]);
    let heavy_first = [light_first[2], light_first[0], light_first[1]];
    let sorted = |ring: EnvoyRing| ring.with_host_order(HostOrder::Sorted);
    for (ring, in_order, heavy_in_front) in [
        (sized(7, 7), [3, 2, 2], [2, 2, 3]),
        (sized(1_024, 1_025), [308, 307, 410], [308, 307, 410]),
    ] {
        assert_eq!(counts(&fleet(&light_first, ring.clone())), in_order);
        // By address again: the heavy one is the third.
        assert_eq!(counts(&fleet(&heavy_first, ring.clone())), heavy_in_front);
        for hosts in [light_first, heavy_first] {
            let fleet = fleet(&hosts, sorted(ring.clone()));
            assert_eq!(counts(&fleet), in_order);
            assert!(fleet.ring.is_capped());
        }
    }
}

#[test]
fn every_point_of_a_small_ring_matches_the_reference() {
    let hosts = [("a", 3), ("b", 3), ("c", 4)].map(|(name, weight)| {
        let instance = Instance::builder(name, "10.0.0.1:80").weight(weight);
        instance.tag("hash_key", name).build().expect("legal")
    });
    let snapshot: Arc<Snapshot> = Arc::new(hosts.into_iter().collect());
    let config = RingConfig::default().with_algorithm(sized(10, 10));
    let fleet = Fleet::of(pool(&snapshot), &config);
    let points: Vec<_> = fleet
        .ring
        .points()
        .map(|(at, member)| (at, fleet.id(member)))
        .collect();
    assert_eq!(
        points,
        [
            (4_148_279_810_343_392_165, "a"),
            (4_189_641_231_046_734_040, "b"),
            (5_051_629_784_258_667_479, "c"),
            (5_637_671_355_026_233_228, "b"),
            (6_560_897_439_782_492_108, "b"),
            (7_866_922_100_246_443_948, "a"),
            (8_142_612_688_290_817_183, "c"),
            (14_554_126_711_339_088_812, "c"),
            (14_801_583_559_950_740_418, "c"),
            (18_017_992_814_255_492_179, "a"),
        ]
    );
}

/// Of 5 equal hosts each has 205 points, of 4 each has 256: a leave moves about an eighth of the others' keys, as in Envoy.
#[test]
fn removing_a_host_is_building_again_without_it() {
    let five: Vec<String> = (1..=5).map(|n| format!("127.0.0.1:1808{n}")).collect();
    let five: Vec<_> = five.iter().map(|host| (host.as_str(), 1)).collect();
    let (before, after) = (
        fleet(&five, EnvoyRing::default()),
        fleet(&five[..4], EnvoyRing::default()),
    );
    assert_eq!(
        (before.ring.points_of(0), after.ring.points_of(0)),
        (205, 256)
    );
    let keys = (0..10_000).map(|n| format!("user-{n}"));
    let (mut stayed, mut moved) = (0, 0);
    for key in keys.filter(|key| before.owner(key) != five[4].0) {
        if before.owner(&key) == after.owner(&key) {
            stayed += 1;
        } else {
            moved += 1;
        }
    }
    let share = f64::from(moved) / f64::from(moved + stayed);
    assert!((0.10..0.15).contains(&share), "{share}");
    // Skipping it moves nobody else.
    let skipping = |key: &str| {
        let key = before.ring.config().hash_key(key.as_bytes());
        before.ring.walk_where(key, |member| member != 4).next()
    };
    for n in 0..1_000 {
        let key = format!("user-{n}");
        let first = before.id(skipping(&key).expect("one"));
        assert!(before.owner(&key) == five[4].0 || before.owner(&key) == first);
    }
}

/// A host too light for a point of a small ring owns nothing, and is still tried when nobody else is there (B45).
#[test]
fn a_host_without_points_is_the_last_of_walks() {
    let fleet = fleet(
        &[("10.0.0.1:80", 1), ("10.0.0.2:80", 1_000_000)],
        sized(1, 4),
    );
    assert_eq!(counts(&fleet), [1, 3]);
    let none = fleet_of_one_point();
    assert_eq!(none.ring.len(), 1);
    let walk = none.walk("k");
    assert_eq!(walk.len(), 3);
    let key = none.ring.config().hash_key(b"k");
    let mut skipping = none
        .ring
        .walk_where(key, |member| none.id(member) != walk[0]);
    assert!(skipping.next().is_some());
}

fn fleet_of_one_point() -> Fleet {
    fleet(&THREE, sized(1, 1))
}

#[test]
fn an_address_of_ip_v6_is_in_brackets() {
    let bracketed = Instance::builder("a", "[::1]:80").build().expect("legal");
    let keyed = Instance::builder("a", "h:1")
        .tag("hash_key", "[::1]:80")
        .build();
    let points = |instance: Instance| {
        let snapshot: Arc<Snapshot> = Arc::new([instance].into_iter().collect());
        let config = RingConfig::default().with_algorithm(EnvoyRing::default());
        let fleet = Fleet::of(pool(&snapshot), &config);
        fleet.ring.points().collect::<Vec<_>>()
    };
    assert_eq!(points(bracketed), points(keyed.expect("legal")));
}

#[test]
fn sizes_have_a_range() {
    let try_sizes = |min, max| EnvoyRing::default().with_ring_sizes(min, max);
    assert!(try_sizes(1, 8_388_608).is_ok());
    for (min, max) in [(0, 10), (11, 10), (1, 8_388_609), (0, 0)] {
        assert!(try_sizes(min, max).is_err(), "{min} {max}");
    }
    // Ten points are wanted, and ten are allowed.
    assert!(!fleet(&weighted([3, 3, 4]), sized(10, 10)).ring.is_capped());
    let empty = configured(&[], &RingConfig::default().with_algorithm(sized(1, 1)));
    assert!(empty.ring.is_empty() && !empty.ring.is_capped());
}
