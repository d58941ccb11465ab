use std::sync::Arc;

use ringfence_core::{Instance, KeyHash, Maglev, RingConfig, Snapshot};
use xxhash_rust::xxh64::xxh64;

use crate::fleet::{Fleet, THREE, fleet, pool};

#[test]
fn three_equal_hosts_match_the_reference() {
    let fleet = fleet(&THREE, Maglev::default());
    let counts: Vec<_> = fleet.counts().into_values().collect();
    assert_eq!(counts, [21_846, 21_846, 21_845]);
    assert_eq!(fleet.ring.len(), 65_537);
    let first: Vec<_> = (0..4).map(|slot| fleet.point(slot)).collect();
    assert_eq!(first, [(0, 3), (1, 3), (2, 3), (3, 1)]);
    assert_eq!(fleet.owners(), [2, 3, 1, 1]);
    // A host's first slot is the first that its permutation asks for.
    for (host, offset, skip) in [(1, 1_495, 46_121), (2, 802, 64_586), (3, 60_091, 19_545)] {
        let key = format!("10.0.0.{host}:8080");
        assert_eq!(xxh64(key.as_bytes(), 0) % 65_537, offset);
        assert_eq!(xxh64(key.as_bytes(), 1) % 65_536 + 1, skip);
        let offset = usize::try_from(offset).expect("small");
        assert_eq!(fleet.point(offset).1, host);
    }
}

#[test]
fn slots_are_shared_out_by_weight() {
    let weighted = fleet(&[(THREE[0].0, 1), (THREE[1].0, 2)], Maglev::default());
    let counts: Vec<_> = weighted.counts().into_values().collect();
    assert_eq!(counts, [21_846, 43_691]);
}

/// The fill of the description, turn by turn, without what makes ours quick.
fn filled(hosts: &[(&str, u32)], size: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..hosts.len()).collect();
    order.sort_by_key(|&host| hosts[host].0);
    let sum: f64 = hosts.iter().map(|(_, weight)| f64::from(*weight)).sum();
    let share = |host: usize| f64::from(hosts[host].1) / sum;
    let most = (0..hosts.len()).map(share).fold(0.0, f64::max);
    let mut table = vec![usize::MAX; usize::try_from(size).expect("small")];
    let (mut next, mut target) = (vec![0; hosts.len()], vec![0.0; hosts.len()]);
    let mut left = size;
    for round in 1.. {
        for &host in &order {
            if left == 0 {
                return table;
            }
            if f64::from(round) * share(host) < target[host] {
                continue;
            }
            target[host] += most;
            let key = hosts[host].0.as_bytes();
            let (offset, skip) = (xxh64(key, 0) % size, xxh64(key, 1) % (size - 1) + 1);
            loop {
                let slot = usize::try_from((offset + skip * next[host]) % size).expect("small");
                next[host] += 1;
                if table[slot] == usize::MAX {
                    table[slot] = host;
                    left -= 1;
                    break;
                }
            }
        }
    }
    table
}

#[test]
fn the_table_is_that_of_filling_it_turn_by_turn() {
    let names: Vec<String> = (0..60)
        .map(|n| format!("10.0.{}.1:{}", n % 7, 8_000 + n))
        .collect();
    for (size, weights) in [
        (2, vec![1, 1, 1]),
        (251, vec![1; 60]),
        (251, vec![1_000_000, 1, 1, 3]),
        (1_009, (1..=60).collect()),
        (1_009, (1..=60).map(|n| n * n * 100).collect()),
        (65_537, vec![7, 1_000_000, 13, 999_999, 1]),
        (65_537, vec![100; 60]),
    ] {
        let hosts: Vec<_> = names.iter().map(String::as_str).zip(weights).collect();
        let expected = filled(&hosts, size.into());
        let fleet = fleet(
            &hosts,
            Maglev::default().with_table_size(size).expect("prime"),
        );
        let owners = fleet.ring.points().map(|(_, member)| fleet.id(member));
        let expected = expected.into_iter().map(|host| hosts[host].0);
        assert!(owners.eq(expected), "{size} slots for {hosts:?}");
    }
}

#[test]
fn the_order_of_hosts_makes_no_difference() {
    let hosts = [("10.0.0.1:80", 1), ("10.0.0.2:80", 2), ("10.0.0.3:80", 3)];
    let mut reversed = hosts;
    reversed.reverse();
    let (one, other) = (
        fleet(&hosts, Maglev::default()),
        fleet(&reversed, Maglev::default()),
    );
    assert_eq!(one.ring.fingerprint(), other.ring.fingerprint());
    assert!(one.ring.points().eq(other.ring.points()));
}

/// Attempt `k` looks at the slot of the key's hash exclusive or 2^64 - `k`.
#[test]
fn walks_take_envoys_retries() {
    let hosts: Vec<String> = (1..=9).map(|n| format!("10.0.0.{n}:80")).collect();
    let hosts: Vec<_> = hosts.iter().map(|host| (host.as_str(), 1)).collect();
    let fleet = fleet(&hosts, Maglev::default());
    let table: Vec<u32> = fleet.ring.points().map(|(_, member)| member).collect();
    for key in 0..500_u64 {
        let hash = xxh64(&key.to_le_bytes(), 0);
        let mut expected: Vec<u32> = Vec::new();
        for attempt in 0..64_u64 {
            let slot = (hash ^ 0_u64.wrapping_sub(attempt)) % 65_537;
            let owner = table[usize::try_from(slot).expect("small")];
            if !expected.contains(&owner) {
                expected.push(owner);
            }
        }
        let walk: Vec<u32> = fleet.ring.walk(KeyHash::from_raw(hash)).collect();
        assert_eq!(walk[..expected.len()], expected, "key {key}");
        assert_eq!(walk.len(), 9);
    }
}

/// Hosts of one key share its order of slots. Going through it for each of them from the beginning, or through all hosts in each
/// round for the one that is due, would take minutes.
#[test]
fn a_table_is_filled_soon_whatever_the_hosts() {
    let twins = (0..60_000).map(|n| {
        let twin = Instance::builder(format!("i{n}"), "10.0.0.1:80");
        let weight = if n == 0 { 1_000_000 } else { 1 };
        twin.tag("hash_key", "same")
            .weight(weight)
            .build()
            .expect("legal")
    });
    let snapshot: Arc<Snapshot> = Arc::new(twins.collect());
    let config = RingConfig::default().with_algorithm(Maglev::default());
    let fleet = Fleet::of(pool(&snapshot), &config);
    let counts: Vec<_> = (0..60_000)
        .map(|member| fleet.ring.points_of(member))
        .collect();
    assert_eq!(counts.iter().filter(|count| **count == 1).count(), 59_999);
    assert_eq!(counts.iter().max(), Some(&5_538));
}

#[test]
fn more_hosts_than_slots_are_all_walked() {
    let small = Maglev::default().with_table_size(2).expect("prime");
    let fleet = fleet(&THREE, small);
    let walk = fleet.walk("k");
    assert_eq!(walk.len(), 3);
    assert_eq!(fleet.counts().into_values().sum::<u32>(), 2);
}

#[test]
fn only_prime_sizes_are_taken() {
    let sized = |size| Maglev::default().with_table_size(size);
    for size in [2, 3, 251, 65_537, 5_000_011] {
        assert_eq!(sized(size).expect("prime").table_size(), size);
    }
    // The last is the square of a prime.
    for size in [
        0,
        1,
        4,
        9,
        65_536,
        5_000_012,
        5_000_077,
        u32::MAX,
        2_221 * 2_221,
    ] {
        assert!(sized(size).is_err(), "{size}");
    }
}
