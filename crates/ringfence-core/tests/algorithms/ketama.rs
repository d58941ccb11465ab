use ringfence_core::{Ketama, KetamaVariant, RingConfig};

use crate::fleet::{Fleet, configured, fleet};

const MEMCACHED: [(&str, u32); 3] = [
    ("10.0.1.1:11211", 600),
    ("10.0.1.2:11211", 300),
    ("10.0.1.3:11211", 200),
];

fn counts(fleet: &Fleet) -> Vec<u32> {
    fleet.counts().into_values().collect()
}

#[test]
fn libketama_matches_the_reference() {
    let fleet = fleet(&MEMCACHED, Ketama::default());
    assert_eq!(
        (fleet.ring.len(), counts(&fleet)),
        (472, vec![260, 128, 84])
    );
    assert_eq!(fleet.point(0), (10_171_922, 1));
    assert_eq!(fleet.owners(), [2, 2, 1, 2]);
    assert!(!fleet.ring.is_capped());
}

/// The same names, so the same points: only how many of them differs by rounding.
#[test]
fn twemproxy_has_points_by_its_own_rounding() {
    let twemproxy = Ketama::new(KetamaVariant::Twemproxy);
    let fleet = fleet(&MEMCACHED, twemproxy.clone());
    assert_eq!(counts(&fleet), [260, 128, 84]);
    assert_eq!(fleet.point(0), (10_171_922, 1));
    // Equal shares are 160 each, where libketama's single precision may lose four.
    for n in 1..100 {
        let hosts: Vec<String> = (0..n).map(|i| format!("10.0.0.{i}:11211")).collect();
        let hosts: Vec<_> = hosts.iter().map(|host| (host.as_str(), 1)).collect();
        let all = crate::fleet::fleet(&hosts, twemproxy.clone());
        let counts = counts(&all);
        assert!(
            counts.iter().all(|count| [156, 160].contains(count)),
            "{counts:?}"
        );
    }
}

#[test]
fn dubbo_gives_each_160_points_whatever_its_weight() {
    let fleet = fleet(&MEMCACHED, Ketama::new(KetamaVariant::Dubbo));
    assert_eq!(counts(&fleet), [160; 3]);
    // The first word of MD5("10.0.1.1:112110"), computed by other means.
    let first = fleet
        .ring
        .points()
        .find(|(position, _)| *position == DUBBO_POINT);
    assert_eq!(first.map(|(_, member)| member), Some(0));
}

const DUBBO_POINT: u64 = 237_852_389;

/// With fewer points than 160 for each the rounds shrink for all alike, to one of four points at least.
#[test]
fn all_points_together_are_limited() {
    let limited = |points| {
        let config = RingConfig::default().with_algorithm(Ketama::default());
        configured(
            &MEMCACHED,
            &config.with_max_ring_points(points).expect("legal"),
        )
    };
    let half = limited(240);
    assert!(half.ring.is_capped());
    assert_eq!(counts(&half), [128, 64, 40]);
    let least = limited(1);
    assert_eq!(counts(&least), [4, 4, 4]);
    assert_eq!(least.walk("k").len(), 3);
}

/// Rounding down a share of a few digests would leave all without a point.
#[test]
fn a_capped_ring_has_points_of_all() {
    for n in 1..300u16 {
        let hosts: Vec<_> = (0..n)
            .map(|n| format!("10.0.0.{}:{}", n % 256, 1 + n))
            .collect();
        let hosts: Vec<_> = hosts.iter().map(|host| (host.as_str(), 100)).collect();
        let config = RingConfig::default()
            .with_algorithm(Ketama::default())
            .with_max_ring_points(4 * u32::from(n))
            .unwrap();
        let fleet = configured(&hosts, &config);
        assert_eq!(fleet.ring.len(), 4 * usize::from(n), "{n} hosts");
    }
}
