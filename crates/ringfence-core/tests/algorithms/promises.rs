//! What every algorithm promises for every set of instances.

use std::sync::Arc;

use proptest::prelude::*;
use ringfence_core::{
    EnvoyRing, HashAlgorithm, HostOrder, Instance, InstanceId, Jump, Ketama, KetamaVariant,
    KeyHash, Maglev, Nginx, PointHash, Ring, RingConfig, SlotTable, Slots, Snapshot,
};

use crate::{
    fleet::{Fleet, configured, pool, snapshot},
    salts::all,
};

/// Small sizes, so that rounding, collisions and hosts without points come up.
fn algorithms() -> impl Strategy<Value = HashAlgorithm> {
    let id = |n: u32| InstanceId::try_new(format!("10.0.0.{n}:80")).expect("legal");
    let envoy = (1..40_u32, 1..40_u32, any::<bool>(), any::<bool>()).prop_map(
        |(min, more, is_sorted, is_murmur)| {
            let ring = EnvoyRing::default()
                .with_ring_sizes(min, min + more)
                .expect("legal");
            let ring = ring.with_host_order(if is_sorted {
                HostOrder::Sorted
            } else {
                HostOrder::AsGiven
            });
            let hash = if is_murmur {
                PointHash::MurmurHash2
            } else {
                PointHash::XxHash
            };
            ring.with_hash(hash).into()
        },
    );
    let maglev = prop::sample::select(vec![2, 3, 7, 31, 251]).prop_map(|size| {
        Maglev::default()
            .with_table_size(size)
            .expect("prime")
            .into()
    });
    let ketama = prop::sample::select(vec![
        KetamaVariant::Libketama,
        KetamaVariant::Twemproxy,
        KetamaVariant::Dubbo,
    ])
    .prop_map(|variant| Ketama::new(variant).into());
    let buckets = prop::collection::btree_set(0..20_u32, 1..10).prop_map(move |ids| {
        Jump::default()
            .with_buckets(ids.into_iter().rev().map(id))
            .expect("legal")
            .into()
    });
    let table = prop::collection::vec(0..20_u32, 1..10).prop_map(move |owners| {
        let ranges = (0_u16..)
            .zip(owners)
            .map(|(n, owner)| (1_500 * n..=1_500 * n + 1_400, id(owner)));
        Slots::default()
            .with_table(SlotTable::new(1, ranges).expect("legal"))
            .into()
    });
    prop_oneof![
        Just(HashAlgorithm::Ring),
        envoy,
        maglev,
        (1..200_u32).prop_map(|unit| Nginx::default()
            .with_weight_unit(unit)
            .expect("legal")
            .into()),
        Just(Nginx::default().into()),
        ketama,
        Just(Jump::default().into()),
        buckets,
        Just(HashAlgorithm::Rendezvous),
        Just(Slots::default().into()),
        table,
    ]
}

fn configs() -> impl Strategy<Value = RingConfig> {
    let cap = prop_oneof![Just(1_u32), Just(100), Just(1 << 22)];
    (algorithms(), cap, prop_oneof![Just(0), any::<u64>()]).prop_map(|(algorithm, cap, seed)| {
        let config = RingConfig::default()
            .with_algorithm(algorithm)
            .with_seed(seed);
        let config = config.with_max_ring_points(cap).expect("legal");
        config.with_points_per_instance(20).expect("legal")
    })
}

fn hosts() -> impl Strategy<Value = Vec<(u32, u32)>> {
    let weight = prop_oneof![
        2 => Just(100_u32), 2 => 1..400_u32, 1 => Just(0), 1 => Just(1),
    ];
    prop::collection::btree_map(0..20_u32, weight, 0..16)
        .prop_map(|hosts| hosts.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
}

fn snapshot_of(hosts: &[(u32, u32)]) -> Arc<Snapshot> {
    let names: Vec<_> = hosts
        .iter()
        .map(|(n, weight)| (format!("10.0.0.{n}:80"), *weight))
        .collect();
    let hosts: Vec<_> = names
        .iter()
        .map(|(name, weight)| (name.as_str(), *weight))
        .collect();
    snapshot(&hosts)
}

fn fleet_of(hosts: &[(u32, u32)], config: &RingConfig) -> Fleet {
    Fleet::of(pool(&snapshot_of(hosts)), config)
}

fn depends_on_order(algorithm: &HashAlgorithm) -> bool {
    match algorithm {
        HashAlgorithm::EnvoyRing(ring) => ring.host_order() == HostOrder::AsGiven,
        HashAlgorithm::Jump(jump) => jump.buckets().is_none(),
        HashAlgorithm::Slots(slots) => slots.table().is_none(),
        _ => false,
    }
}

/// Those with which skipping is the same as a ring made without those skipped. The unit of nginx's weights is given, as it goes
/// by all instances where it is found out.
fn exact() -> impl Strategy<Value = RingConfig> {
    let nginx = Nginx::default().with_weight_unit(100).expect("legal");
    let algorithms = vec![HashAlgorithm::Ring, nginx.into(), HashAlgorithm::Rendezvous];
    (prop::sample::select(algorithms), any::<u64>()).prop_map(|(algorithm, seed)| {
        RingConfig::default()
            .with_algorithm(algorithm)
            .with_seed(seed)
    })
}

const HASHES: [u64; 6] = [0, 1, 4_711, u32::MAX as u64, 1 << 63, u64::MAX];

proptest! {
    #[test]
    fn walks_are_distinct_complete_and_begin_with_the_owner(
        hosts in hosts(), config in configs(), key in any::<[u8; 3]>(), raw in any::<u64>(), unusable in any::<u32>(),
    ) {
        let fleet = fleet_of(&hosts, &config);
        let takers = hosts.iter().filter(|(_, weight)| *weight > 0).count();
        prop_assert_eq!(fleet.ring.is_empty(), takers == 0);
        let keys = HASHES.into_iter().chain([raw]).map(|raw| KeyHash::from_raw(raw).into());
        for key in keys.chain([config.hash_key(&key), config.hash_key_salted(&key, 7)]) {
            let walk: Vec<u32> = fleet.ring.walk(key).collect();
            prop_assert_eq!(fleet.ring.owner(key), walk.first().copied());
            let mut sorted = walk.clone();
            sorted.sort_unstable();
            sorted.dedup();
            prop_assert_eq!((walk.len(), sorted.len()), (takers, takers), "distinct and complete");
            let weights = |member: u32| fleet.pool.instance(member).map(|i| i.weight().get());
            prop_assert!(walk.iter().all(|member| weights(*member) > Some(0)));
            let is_usable = |member: u32| unusable & (1 << member) == 0;
            let skipping: Vec<u32> = fleet.ring.walk_where(key, is_usable).collect();
            let filtered: Vec<u32> = walk.into_iter().filter(|member| is_usable(*member)).collect();
            prop_assert_eq!(skipping, filtered, "the walk without those skipped");
        }
    }

    #[test]
    fn points_are_counted_and_belong_to_members_with_weight(hosts in hosts(), config in configs()) {
        let fleet = fleet_of(&hosts, &config);
        let mut counts = vec![0; fleet.pool.len()];
        for (_, member) in fleet.ring.points() {
            counts[member as usize] += 1;
        }
        let told: Vec<u32> = (0..).zip(&counts).map(|(member, _)| fleet.ring.points_of(member)).collect();
        prop_assert_eq!(&told, &counts);
        prop_assert_eq!(fleet.ring.len(), fleet.ring.points().len());
        for (member, count) in (0..).zip(counts) {
            let weight = fleet.pool.instance(member).map(|i| i.weight().get());
            prop_assert!(count == 0 || weight > Some(0));
        }
    }

    #[test]
    fn an_updated_ring_is_a_fresh_one(before in hosts(), after in hosts(), config in configs()) {
        let old = fleet_of(&before, &config);
        let fresh = fleet_of(&after, &config);
        let updated = old.ring.update(&fresh.pool);
        prop_assert_eq!(updated.fingerprint(), fresh.ring.fingerprint());
        prop_assert!(updated.points().eq(fresh.ring.points()));
        for raw in HASHES.into_iter().chain((0..50).map(|n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15))) {
            let key = KeyHash::from_raw(raw);
            prop_assert!(updated.walk(key).eq(fresh.ring.walk(key)));
        }
        prop_assert!(Arc::ptr_eq(&updated, &updated.update(&fresh.pool)), "nothing changed");
    }

    #[test]
    fn the_order_matters_only_where_it_is_said_to(hosts in hosts(), config in configs()) {
        let mut sorted = hosts.clone();
        sorted.sort_unstable();
        let (one, other) = (fleet_of(&hosts, &config), fleet_of(&sorted, &config));
        if !depends_on_order(config.algorithm()) {
            prop_assert_eq!(one.ring.fingerprint(), other.ring.fingerprint());
            prop_assert!(one.ring.points().eq(other.ring.points()));
        }
        // Equal fingerprints mean equal routing.
        if one.ring.fingerprint() == other.ring.fingerprint() {
            for raw in HASHES {
                let key = KeyHash::from_raw(raw);
                prop_assert!(one.ring.walk(key).eq(other.ring.walk(key)));
            }
        }
    }

    #[test]
    fn skipping_is_building_without_where_it_is_said_to_be(
        hosts in hosts(), config in exact(), gone in any::<prop::sample::Index>(),
    ) {
        prop_assume!(!hosts.is_empty());
        let mut without = hosts.clone();
        let (gone, _) = without.remove(gone.index(hosts.len()));
        let gone = format!("10.0.0.{gone}:80");
        let (all, rest) = (fleet_of(&hosts, &config), fleet_of(&without, &config));
        for n in 0..60_u64 {
            let key = KeyHash::from_raw(n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let skipping = all.ring.walk_where(key, |member| all.id(member) != gone);
            let skipping: Vec<_> = skipping.map(|member| all.id(member)).collect();
            let built: Vec<_> = rest.ring.walk(key).map(|member| rest.id(member)).collect();
            prop_assert_eq!(skipping, built);
        }
    }
}

fn named(count: u32, weight: impl Fn(u32) -> u32) -> Vec<(String, u32)> {
    (0..count)
        .map(|n| {
            (
                format!("10.{}.{}.{}:80", n / 62_500, n / 250 % 250, n % 250),
                weight(n),
            )
        })
        .collect()
}

fn refs(hosts: &[(String, u32)]) -> Vec<(&str, u32)> {
    hosts
        .iter()
        .map(|(name, weight)| (name.as_str(), *weight))
        .collect()
}

/// Weights 1 : 2 : 3 : 4 and their hundredfold. Dubbo is the one that has none.
#[test]
fn shares_follow_weights() {
    for unit in [1, 100] {
        for algorithm in all() {
            let name = algorithm.as_str();
            let hosts = named(4, |n| unit * (n + 1));
            // The own ring has points by hundreds.
            let config = RingConfig::default()
                .with_algorithm(algorithm)
                .with_points_per_instance(60_000);
            let shares = configured(&refs(&hosts), &config.unwrap()).shares(40_000);
            for (n, share) in (1..).zip(shares) {
                let expected = f64::from(n) * 4_000.0;
                let off = (f64::from(share) - expected).abs() / expected;
                let tolerated = match name {
                    "maglev" | "jump" | "rendezvous" | "slots" => 0.06,
                    _ => 0.25,
                };
                assert!(off < tolerated, "{name} x {unit}, weight {n}: {share}");
            }
        }
    }
}

/// Shares of the keys of those who stay that move when one of ten leaves, as documented.
#[test]
fn a_leave_moves_as_much_as_is_said() {
    let hosts = named(10, |_| 100);
    for algorithm in all() {
        let name = algorithm.as_str();
        let algorithm = match algorithm {
            // Lists that stay as they are.
            HashAlgorithm::Jump(_) => {
                let ids = hosts
                    .iter()
                    .map(|(name, _)| InstanceId::try_new(name).unwrap());
                Jump::default().with_buckets(ids).unwrap().into()
            }
            HashAlgorithm::Slots(_) => {
                let ranges = (0_u16..).zip(&hosts).map(|(n, (name, _))| {
                    (
                        1_638 * n..=1_638 * n + 1_637,
                        InstanceId::try_new(name).unwrap(),
                    )
                });
                Slots::default()
                    .with_table(SlotTable::new(1, ranges).unwrap())
                    .into()
            }
            other => other,
        };
        let config = RingConfig::default().with_algorithm(algorithm);
        let before = configured(&refs(&hosts), &config);
        let mut rest = hosts.clone();
        let (gone, _) = rest.remove(4);
        let after = configured(&refs(&rest), &config);
        let (mut stayed, mut moved) = (0, 0);
        for key in (0..20_000).map(|n| format!("user-{n}")) {
            let owner = before.owner(&key);
            if owner != gone {
                stayed += 1;
                moved += u32::from(owner != after.owner(&key));
            }
        }
        let share = f64::from(moved) / f64::from(stayed);
        let most = match name {
            "envoy-ring" => 0.12,
            "maglev" => 0.02,
            "ketama" => 0.03,
            _ => 0.0,
        };
        assert!(share <= most, "{name}: {share}");
    }
}

/// No panic, and no more memory than the limits allow.
#[test]
fn nothing_is_too_many_or_too_heavy() {
    let envoy = EnvoyRing::default().with_ring_sizes(1_024, 200_000);
    let envoy = envoy.expect("legal");
    for (count, weight) in [
        (0, 1),
        (1, 0),
        (1, 1),
        (1, 1_000_000),
        (2, 0),
        (100_000, 1_000_000),
    ] {
        let hosts = named(count, |n| if n == 1 { 1 } else { weight });
        let takers = hosts.iter().filter(|(_, weight)| *weight > 0).count();
        let pool = pool(&snapshot(&refs(&hosts)));
        for algorithm in all() {
            let name = algorithm.as_str();
            let algorithm = match algorithm {
                HashAlgorithm::EnvoyRing(_) => envoy.clone().into(),
                other => other,
            };
            let config = RingConfig::default().with_algorithm(algorithm);
            let config = config.with_points_per_instance(1).expect("legal");
            let config = config.with_max_ring_points(200_000).expect("legal");
            let ring = Ring::build(&pool, &config);
            let key = config.hash_key(b"k");
            assert_eq!(
                ring.owner(key).is_some(),
                takers > 0,
                "{name} {count} {weight}"
            );
            // One point for each at least, and four where they come by fours.
            assert!(ring.len() <= 400_000, "{name}: {}", ring.len());
            assert_eq!(
                ring.walk(key).take(20).count(),
                takers.min(20),
                "{name} {count} {weight}"
            );
        }
    }
}

/// A tag that is anything at all is a host key.
#[test]
fn any_host_key_will_do() {
    for algorithm in all() {
        let config = RingConfig::default().with_algorithm(algorithm);
        let keys = ["", ":", "unix:", "::", "ä:1", "[", "1", &"x".repeat(200)];
        let instances = (0..).zip(keys).map(|(n, key)| {
            let instance = Instance::builder(format!("i{n}"), "10.0.0.1:80");
            instance.tag("hash_key", key).build().expect("legal")
        });
        let snapshot: Arc<Snapshot> = Arc::new(instances.collect());
        let ring = Ring::build(&pool(&snapshot), &config);
        assert_eq!(ring.walk(config.hash_key(b"k")).count(), keys.len());
    }
}

#[test]
fn fingerprints_tell_every_setting() {
    let hosts = [("10.0.0.1:80", 1), ("10.0.0.2:80", 2), ("10.0.0.3:80", 3)];
    let id = |n: usize| InstanceId::try_new(hosts[n].0).unwrap();
    let table = |split: u16| {
        let ranges = [(0..=split, id(0)), (split + 1..=16_383, id(1))];
        Slots::default().with_table(SlotTable::new(1, ranges).unwrap())
    };
    let buckets = |order: [usize; 3]| Jump::default().with_buckets(order.map(id)).unwrap();
    let sizes = |min, max| EnvoyRing::default().with_ring_sizes(min, max).unwrap();
    let mut algorithms = all().to_vec();
    algorithms.extend([
        sizes(1_025, 8_388_608).into(),
        sizes(1_024, 4_096).into(),
        EnvoyRing::default()
            .with_host_order(HostOrder::Sorted)
            .into(),
        EnvoyRing::default()
            .with_hash(PointHash::MurmurHash2)
            .into(),
        Maglev::default().with_table_size(251).unwrap().into(),
        Nginx::default().with_weight_unit(2).unwrap().into(),
        Ketama::new(KetamaVariant::Twemproxy).into(),
        Ketama::new(KetamaVariant::Dubbo).into(),
        buckets([1, 0, 2]).into(),
        buckets([2, 0, 1]).into(),
        table(5).into(),
        table(6).into(),
        Slots::default()
            .with_table(SlotTable::new(1, []).unwrap())
            .into(),
    ]);
    let base = RingConfig::default();
    let mut configs: Vec<_> = algorithms
        .iter()
        .map(|a| base.clone().with_algorithm(a.clone()))
        .collect();
    configs.extend(
        algorithms
            .iter()
            .map(|a| base.clone().with_algorithm(a.clone()).with_seed(1)),
    );
    let mut prints = Vec::new();
    for config in &configs {
        prints.push((
            configured(&hosts, config).ring.fingerprint(),
            format!("{config:?}"),
        ));
    }
    for config in &configs[..8] {
        let heavier = [hosts[0], hosts[1], ("10.0.0.3:80", 4)];
        prints.push((
            configured(&heavier, config).ring.fingerprint(),
            "weight".to_owned(),
        ));
        prints.push((
            configured(&hosts[..2], config).ring.fingerprint(),
            "set".to_owned(),
        ));
    }
    for (i, (print, what)) in prints.iter().enumerate() {
        for (other, same) in &prints[..i] {
            assert_ne!(print, other, "{what}\n{same}");
        }
    }
}

/// What a ring costs is judged before it is made, by what the registry says of weights.
#[test]
fn the_entries_of_a_ring_are_expected_by_weights() {
    let hosts: Vec<_> = (1..=10).map(|n| format!("10.0.0.{n}:80")).collect();
    for weights in [
        [100; 10],
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        [1, 1, 1, 1, 1, 1, 1, 1, 1, 20_000],
    ] {
        let hosts: Vec<_> = hosts.iter().map(String::as_str).zip(weights).collect();
        let rings: [HashAlgorithm; 4] = [
            HashAlgorithm::Ring,
            EnvoyRing::default().into(),
            Nginx::default().into(),
            Ketama::default().into(),
        ];
        for algorithm in rings {
            let fleet = crate::fleet::fleet(&hosts, algorithm.clone());
            let expected = fleet.ring.config().expected_entries(fleet.pool.snapshot());
            let made = fleet.ring.len();
            assert!(
                expected.abs_diff(made) <= made / 10 + 20,
                "{algorithm} {weights:?}: {expected} and {made}"
            );
        }
    }
}
