use ringfence_core::{
    EnvoyRing, HashAlgorithm, Jump, Ketama, Maglev, Nginx, RingConfig, Slots, name_seed,
};

use crate::fleet::configured;

/// Every algorithm with its usual settings.
pub(crate) fn all() -> [HashAlgorithm; 8] {
    [
        HashAlgorithm::Ring,
        EnvoyRing::default().into(),
        Maglev::default().into(),
        Nginx::default().into(),
        Ketama::default().into(),
        Jump::default().into(),
        HashAlgorithm::Rendezvous,
        Slots::default().into(),
    ]
}

/// Of ten equal instances two salts choose the same one for a tenth of the keys, as chance does; of pairs of keys that one salt
/// keeps together another keeps a tenth, so it is not a mere shift of all.
#[test]
fn where_a_key_lies_with_one_salt_says_nothing_of_another() {
    let hosts: Vec<String> = (0..10).map(|n| format!("10.0.0.{n}:80")).collect();
    let hosts: Vec<_> = hosts.iter().map(|host| (host.as_str(), 100)).collect();
    for algorithm in all() {
        let name = algorithm.as_str();
        let fleet = configured(&hosts, &RingConfig::default().with_algorithm(algorithm));
        let config = fleet.ring.config();
        let owners = |salt: u64| -> Vec<u32> {
            let key = |n: u32| format!("user-{n:05}");
            let owner = |n| {
                fleet
                    .ring
                    .owner(config.hash_key_salted(key(n).as_bytes(), salt))
            };
            (0..4_000).map(|n| owner(n).expect("an owner")).collect()
        };
        let plain = owners(0);
        for (salt, other) in [("acme", 0), ("globex", 0), ("acme", name_seed("globex"))] {
            let (one, other) = (
                owners(name_seed(salt)),
                if other == 0 {
                    plain.clone()
                } else {
                    owners(other)
                },
            );
            let same = one.iter().zip(&other).filter(|(a, b)| a == b).count();
            assert!((300..520).contains(&same), "{name} {salt}: {same}");
            let together: Vec<_> = (0..3_999).filter(|&n| one[n] == one[n + 1]).collect();
            let still = together
                .iter()
                .filter(|&&n| other[n] == other[n + 1])
                .count();
            let share = still as f64 / together.len() as f64;
            assert!(share < 0.3, "{name} {salt}: {share}");
        }
        for n in 0..500 {
            let key = format!("user-{n}");
            let (plain, salted) = (
                config.hash_key(key.as_bytes()),
                config.hash_key_salted(key.as_bytes(), 0),
            );
            assert_eq!(plain, salted, "{name}: salt 0 is none");
        }
    }
}

/// Keys that Redis keeps together stay together for a tenant too.
#[test]
fn a_salt_keeps_what_a_hash_tag_keeps_together() {
    let config = RingConfig::default().with_algorithm(Slots::default());
    let slot = |key: &str| config.hash_key_salted(key.as_bytes(), 7).get();
    assert_eq!(slot("{user1000}.following"), slot("user1000"));
    assert!(slot("user1000") < 16_384);
}

/// A ring of a tenant's own has other neighbours: what one instance leaves behind goes to others by another plan.
#[test]
fn a_seed_makes_another_mapping() {
    let hosts: Vec<String> = (0..10).map(|n| format!("10.0.0.{n}:80")).collect();
    let hosts: Vec<_> = hosts.iter().map(|host| (host.as_str(), 100)).collect();
    for algorithm in all() {
        let name = algorithm.as_str();
        let config = RingConfig::default().with_algorithm(algorithm.clone());
        let (plain, seeded) = (
            configured(&hosts, &config),
            configured(&hosts, &config.clone().with_seed(name_seed("acme"))),
        );
        assert_ne!(
            plain.ring.fingerprint(),
            seeded.ring.fingerprint(),
            "{name}"
        );
        let seconds = |fleet: &crate::fleet::Fleet| -> Vec<String> {
            let walk = |n| fleet.walk(format!("user-{n}"))[1].to_owned();
            (0..1_000).map(walk).collect()
        };
        let (one, other) = (seconds(&plain), seconds(&seeded));
        let same = one.iter().zip(&other).filter(|(a, b)| a == b).count();
        assert!(same < 250, "{name}: {same}");
    }
}
