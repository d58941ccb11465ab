//! The part of the keys that each member owns.

use ringfence_core::{
    EnvoyRing, HashAlgorithm, Jump, Ketama, KetamaVariant, KeyHash, Maglev, Nginx, RingConfig,
};

use crate::fleet::{configured, weighted};

#[test]
fn shares_are_those_that_keys_find() {
    const KEYS: u32 = 60_000;
    let algorithms: [HashAlgorithm; 5] = [
        HashAlgorithm::Ring,
        EnvoyRing::default().into(),
        Nginx::default().into(),
        Ketama::new(KetamaVariant::Libketama).into(),
        Maglev::default().into(),
    ];
    for algorithm in algorithms {
        let config = RingConfig::default().with_algorithm(algorithm.clone());
        let fleet = configured(&weighted([100, 300, 0]), &config);
        let shares = fleet.ring.shares().expect("divided into arcs");
        assert_eq!(
            shares.iter().map(|s| s.part()).sum::<u128>(),
            shares[0].whole()
        );
        for (share, found) in shares.iter().zip(fleet.shares(KEYS)) {
            let found = f64::from(found) / f64::from(KEYS);
            assert!(
                (share.as_f64() - found).abs() < 0.01,
                "{algorithm:?}: {share} {found}"
            );
        }
    }
}

#[test]
fn of_nothing_nobody_has_a_share_and_without_arcs_none_can_be_told() {
    let nobody = configured(&[], &RingConfig::default());
    assert_eq!(nobody.ring.shares(), Some(Vec::new()));
    let drained = configured(&weighted([0, 0, 0]), &RingConfig::default());
    let shares = drained.ring.shares().expect("an empty ring");
    assert!(shares.iter().all(|share| share.is_zero()));
    let probing = RingConfig::default().with_probes(5).expect("legal");
    assert_eq!(
        configured(&weighted([1, 1, 1]), &probing).ring.shares(),
        None
    );
    for algorithm in [Jump::default().into(), HashAlgorithm::Rendezvous] {
        let config = RingConfig::default().with_algorithm(algorithm);
        assert_eq!(
            configured(&weighted([1, 1, 1]), &config).ring.shares(),
            None
        );
    }
}

/// Each end of an arc, and the hash before it, belong to whom the shares say.
#[test]
fn shares_of_a_small_ring_are_exact_to_the_last_hash() {
    let config = RingConfig::default()
        .with_points_per_instance(3)
        .expect("legal");
    let fleet = configured(&weighted([100, 200, 300]), &config);
    let mut points: Vec<_> = fleet.ring.points().collect();
    points.dedup_by_key(|point| point.0);
    let mut parts = [0_u128; 3];
    let mut before = points.last().expect("points").0;
    for (position, member) in points {
        assert_eq!(fleet.ring.owner(KeyHash::from_raw(position)), Some(member));
        let after = before.wrapping_add(1);
        assert_eq!(fleet.ring.owner(KeyHash::from_raw(after)), Some(member));
        parts[member as usize] += u128::from(position.wrapping_sub(before));
        before = position;
    }
    let shares = fleet.ring.shares().expect("a ring has arcs");
    assert_eq!(shares.iter().map(|s| s.part()).collect::<Vec<_>>(), parts);
}
