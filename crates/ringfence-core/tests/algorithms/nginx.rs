use std::sync::Arc;

use ringfence_core::{
    Attribute, Instance, Match, Nginx, Pool, Ring, RingConfig, Selector, Snapshot,
};

use crate::fleet::{THREE, configured, fleet, weighted};

#[test]
fn two_servers_match_the_reference() {
    let fleet = fleet(
        &[("127.0.0.1:7777", 1), ("127.0.0.1:7778", 1)],
        Nginx::default(),
    );
    assert_eq!(fleet.ring.len(), 320);
    let at = |place| {
        let (position, member) = fleet.ring.points().nth(place).expect("a point");
        (position, fleet.id(member))
    };
    assert_eq!(at(0), (1_475_464, "127.0.0.1:7777"));
    assert_eq!(at(319), (4_276_054_410, "127.0.0.1:7778"));
    for (key, owner) in [
        ("/some/path", "127.0.0.1:7778"),
        ("/some/longer/path", "127.0.0.1:7777"),
        ("/sad/zaidoon", "127.0.0.1:7778"),
        ("/g", "127.0.0.1:7777"),
    ] {
        assert_eq!(fleet.owner(key), owner, "{key}");
    }
}

#[test]
fn weights_match_the_reference() {
    for weights in [[1, 1, 2], [100, 100, 200]] {
        let fleet = fleet(&weighted(weights), Nginx::default());
        assert_eq!((fleet.ring.len(), fleet.point(0)), (640, (6_728_359, 3)));
        assert_eq!(fleet.owners(), [3, 1, 2, 2]);
    }
}

#[test]
fn the_unit_of_weights_is_given_or_found_out() {
    let points = |weights: [u32; 3], nginx: Nginx| -> Vec<u32> {
        fleet(&weighted(weights), nginx)
            .counts()
            .into_values()
            .collect()
    };
    let unit = |unit| Nginx::default().with_weight_unit(unit).expect("legal");
    assert_eq!(points([100, 300, 0], Nginx::default()), [160, 480, 0]);
    assert_eq!(
        points([100, 300, 2], Nginx::default()),
        [16_000, 48_000, 320]
    );
    assert_eq!(points([100, 300, 2], unit(100)), [160, 480, 3]);
    assert_eq!(points([1, 1, 1], unit(1_000_000)), [1, 1, 1]);
    assert!(Nginx::default().with_weight_unit(0).is_err());
    assert!(Nginx::default().with_weight_unit(1_000_001).is_err());
}

/// The unit goes by the instances' own weights, so that a slow start has fewer points of the same unit.
#[test]
fn a_newcomer_grows_by_points_of_its_own() {
    let snapshot = crate::fleet::snapshot(&weighted([100, 100, 100]));
    let config = RingConfig::default().with_algorithm(Nginx::default());
    let counts = |weight: u32| -> Vec<u32> {
        let grown =
            snapshot.with_ring_weights(|i| (i.id().as_str() == THREE[1].0).then_some(weight));
        let ring = Ring::build(&crate::fleet::pool(&grown), &config);
        (0..3).map(|member| ring.points_of(member)).collect()
    };
    assert_eq!(counts(10), [160, 16, 160]);
    assert_eq!(counts(99), [160, 158, 160]);
    assert_eq!(counts(100), [160, 160, 160]);
}

#[test]
fn all_points_together_are_limited() {
    let config = RingConfig::default()
        .with_algorithm(Nginx::default())
        .with_max_ring_points(1_000)
        .expect("legal");
    let fleet = configured(&weighted([1_000_000, 999_999, 1]), &config);
    assert!(fleet.ring.is_capped());
    assert_eq!(
        fleet.counts().into_values().collect::<Vec<_>>(),
        [500, 499, 1]
    );
}

/// The points of a pool's own ring are those of the ring of all, with a cap and without.
#[test]
fn a_pool_has_the_points_of_the_whole_snapshot() {
    let instances = (0..10).map(|i| {
        let instance = Instance::builder(format!("i{i}"), format!("10.0.0.{i}:80"));
        let instance = instance
            .zone(format!("z{}", i % 2))
            .weight(100 + 50 * (i % 2));
        instance.build().expect("legal")
    });
    let snapshot: Arc<Snapshot> = Arc::new(instances.collect());
    let zone = Selector::any().and(Attribute::Zone, Match::is("z0"));
    for cap in [1_000, 1 << 22] {
        let config = RingConfig::default().with_algorithm(Nginx::default());
        let config = config.with_max_ring_points(cap).expect("legal");
        let half = Pool::select(&snapshot, &zone);
        let (whole, half) = (
            Ring::build(&Pool::select(&snapshot, &Selector::any()), &config),
            (Ring::build(&half, &config), half),
        );
        for (member, place) in (0..).zip(half.1.members()) {
            assert_eq!(half.0.points_of(member), whole.points_of(*place));
        }
    }
}
