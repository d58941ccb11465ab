use ringfence_core::RingConfig;

use crate::{fleet::configured, salts::all};

/// A pick with any algorithm: the owner, and the first eight of a walk, some of them skipped.
#[test]
fn the_first_eight_of_a_walk_cost_no_allocation() {
    let hosts: Vec<String> = (0..40).map(|n| format!("10.0.0.{n}:80")).collect();
    let hosts: Vec<_> = hosts.iter().map(|host| (host.as_str(), 100)).collect();
    for algorithm in all() {
        let config = RingConfig::default().with_algorithm(algorithm);
        let fleet = configured(&hosts, &config);
        let counted = allocation_counter::measure(|| {
            for n in 0..200_u32 {
                let key = n.to_le_bytes();
                let (plain, salted) = (config.hash_key(&key), config.hash_key_salted(&key, 7));
                assert!(fleet.ring.owner(plain).is_some());
                let skipping = fleet.ring.walk_where(salted, |member| member % 3 != 0);
                assert_eq!(skipping.take(8).count(), 8);
            }
        });
        assert_eq!(counted.count_total, 0, "{}", config.algorithm());
        // The ninth does: what counts them works.
        let counted = allocation_counter::measure(|| {
            assert_eq!(fleet.ring.walk(config.hash_key(b"k")).count(), 40);
        });
        assert!(counted.count_total > 0, "{}", config.algorithm());
    }
}
