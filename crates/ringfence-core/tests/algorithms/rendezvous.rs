use ringfence_core::{HashAlgorithm, KeyHash, RingConfig};
use xxhash_rust::xxh64::xxh64;

use crate::fleet::{KEYS, THREE, configured, fleet, weighted};

#[test]
fn three_hosts_match_the_reference() {
    for weights in [[1; 3], [100; 3]] {
        let equal = fleet(&weighted(weights), HashAlgorithm::Rendezvous);
        assert_eq!(equal.owners(), [1, 3, 3, 1]);
    }
    for weights in [[1, 1, 2], [100, 100, 200]] {
        let weighted = fleet(&weighted(weights), HashAlgorithm::Rendezvous);
        assert_eq!(weighted.owners(), [3, 3, 3, 1]);
    }
}

/// The order of scores, worked out by the platform's own logarithm: far enough apart that it makes no difference.
#[test]
fn walks_go_by_scores() {
    let hosts = weighted([1, 2, 5]);
    let fleet = fleet(&hosts, HashAlgorithm::Rendezvous);
    let scores = |key: &str| {
        hosts.map(|(id, weight)| {
            let hash = xxh64(key.as_bytes(), xxh64(id.as_bytes(), 0));
            let u = ((hash >> 11) as f64 + 0.5) / 2f64.powi(53);
            (-f64::from(weight) / u.ln(), id)
        })
    };
    for key in KEYS {
        let mut scores = scores(key);
        scores.sort_by(|a, b| b.0.total_cmp(&a.0));
        assert_eq!(fleet.walk(key), scores.map(|(_, id)| id), "{key}");
    }
    let equal = |key: &str, id: &str| {
        let hash = xxh64(key.as_bytes(), xxh64(id.as_bytes(), 0));
        -1.0 / (((hash >> 11) as f64 + 0.5) / 2f64.powi(53)).ln()
    };
    for (key, id, score) in [
        ("user-1", 0, 0.558_244),
        ("user-7", 2, 2.108_291),
        ("user-88", 2, 12.590_875),
        ("user-1024", 0, 5.194_153),
    ] {
        assert!((equal(key, THREE[id].0) - score).abs() < 1e-6, "{key}");
    }
}

#[test]
fn a_seed_makes_other_scores_and_a_mere_hash_is_eight_bytes() {
    let config = RingConfig::default().with_algorithm(HashAlgorithm::Rendezvous);
    let seeded = configured(&THREE, &config.clone().with_seed(7));
    let plain = configured(&THREE, &config);
    assert_ne!(plain.ring.fingerprint(), seeded.ring.fingerprint());
    let keys = (0..200).map(|n| format!("user-{n}"));
    let moved = keys.filter(|key| plain.owner(key) != seeded.owner(key));
    assert!((100..170).contains(&moved.count()), "two thirds");
    for hash in [0, 7, u64::MAX] {
        let bytes = hash.to_le_bytes();
        let by_bytes = plain.ring.owner(config.hash_key(&bytes));
        assert_eq!(plain.ring.owner(KeyHash::from_raw(hash)), by_bytes);
    }
}
