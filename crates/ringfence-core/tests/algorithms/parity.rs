//! Owners recorded from real proxies, see `tests/parity/README.md`: every row.

use ringfence_core::{EnvoyRing, HashAlgorithm, HostOrder, Maglev, Nginx};

use crate::fleet::fleet;

fn differing(
    recorded: &str,
    weights: [u32; 5],
    algorithm: impl Into<HashAlgorithm>,
) -> Vec<String> {
    let addresses: Vec<String> = (18_081..18_086)
        .map(|port| format!("127.0.0.1:{port}"))
        .collect();
    let hosts: Vec<_> = addresses.iter().map(String::as_str).zip(weights).collect();
    let fleet = fleet(&hosts, algorithm);
    let rows: Vec<_> = recorded
        .lines()
        .skip(1)
        .map(|row| row.split_once(',').unwrap())
        .collect();
    assert_eq!(rows.len(), 2_000);
    let wrong = rows
        .into_iter()
        .filter(|(key, owner)| fleet.owner(key) != *owner);
    wrong
        .map(|(key, owner)| format!("{key} is {owner}'s"))
        .collect()
}

#[test]
fn envoys_ring_is_reproduced() {
    let recorded = include_str!("../parity/envoy-ring-equal.csv");
    for weights in [[100; 5], [1; 5]] {
        assert_eq!(differing(recorded, weights, EnvoyRing::default()), [""; 0]);
    }
    // Equal shares are whole, so the order makes no difference.
    let sorted = EnvoyRing::default().with_host_order(HostOrder::Sorted);
    assert_eq!(differing(recorded, [1; 5], sorted), [""; 0]);
}

#[test]
fn envoys_maglev_is_reproduced() {
    let recorded = include_str!("../parity/envoy-maglev-weighted.csv");
    for weights in [[1, 2, 3, 4, 5], [100, 200, 300, 400, 500]] {
        assert_eq!(differing(recorded, weights, Maglev::default()), [""; 0]);
    }
}

#[test]
fn nginxs_ketama_is_reproduced() {
    let recorded = include_str!("../parity/nginx-ketama-weighted.csv");
    assert_eq!(
        differing(recorded, [1, 2, 3, 4, 5], Nginx::default()),
        [""; 0]
    );
    // A registry's weights are hundredfold, and the unit is found out.
    assert_eq!(
        differing(recorded, [100, 200, 300, 400, 500], Nginx::default()),
        [""; 0]
    );
    let unit = Nginx::default().with_weight_unit(7).unwrap();
    assert_eq!(differing(recorded, [7, 14, 21, 28, 35], unit), [""; 0]);
}
