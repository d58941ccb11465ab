//! How keys are mapped to instances, as documents say it.

use ringfence_core::{
    EnvoyRing, HashAlgorithm, HostOrder, InstanceId, Jump, Ketama, KetamaVariant, Maglev, Nginx,
    PointHash, RingConfig, SlotTable, Slots,
};

use super::*;
use crate::PolicyContext;

fn id(id: &str) -> InstanceId {
    InstanceId::try_new(id).expect("legal")
}

fn with(algorithm: impl Into<HashAlgorithm>) -> RingConfig {
    RingConfig::default().with_algorithm(algorithm)
}

/// Every algorithm with every setting of it, as it is written and for ever must be readable.
fn sections() -> Result<Vec<(&'static str, RingConfig)>, ringfence_core::ConfigError> {
    let table = SlotTable::new(
        7,
        [
            (0..=99, id("b")),
            (100..=8_191, id("a")),
            (8_192..=16_383, id("b")),
        ],
    )?;
    let envoy = EnvoyRing::default().with_ring_sizes(64, 4_096)?;
    Ok(vec![
        ("algorithm: ring", RingConfig::default()),
        (
            "algorithm: ring, points_per_instance: 256, probes: 5, seed: 18446744073709551615, max_ring_points: 1000000",
            RingConfig::default()
                .with_points_per_instance(256)?
                .with_probes(5)?
                .with_seed(u64::MAX)
                .with_max_ring_points(1_000_000)?,
        ),
        (
            "algorithm: envoy-ring, min_ring_size: 64, max_ring_size: 4096, host_order: sorted, hash: murmur_hash_2",
            with(
                envoy
                    .clone()
                    .with_host_order(HostOrder::Sorted)
                    .with_hash(PointHash::MurmurHash2),
            ),
        ),
        (
            "algorithm: envoy-ring, min_ring_size: 64, max_ring_size: 4096, host_order: as_given, hash: xx_hash",
            with(envoy),
        ),
        (
            "algorithm: envoy-ring, seed: 3",
            with(EnvoyRing::default()).with_seed(3),
        ),
        (
            "algorithm: maglev, table_size: 251",
            with(Maglev::default().with_table_size(251)?),
        ),
        (
            "algorithm: maglev, seed: 3",
            with(Maglev::default()).with_seed(3),
        ),
        (
            "algorithm: nginx, max_ring_points: 1000, weight_unit: 10",
            with(Nginx::default().with_weight_unit(10)?).with_max_ring_points(1_000)?,
        ),
        (
            "algorithm: nginx, seed: 3",
            with(Nginx::default()).with_seed(3),
        ),
        ("algorithm: ketama", with(Ketama::default())),
        (
            "algorithm: ketama, seed: 3",
            with(Ketama::default()).with_seed(3),
        ),
        (
            "algorithm: ketama, variant: libketama",
            with(Ketama::new(KetamaVariant::Libketama)),
        ),
        (
            "algorithm: ketama, variant: twemproxy",
            with(Ketama::new(KetamaVariant::Twemproxy)),
        ),
        (
            "algorithm: ketama, variant: dubbo",
            with(Ketama::new(KetamaVariant::Dubbo)),
        ),
        ("algorithm: jump", with(Jump::default())),
        (
            "algorithm: jump, seed: 3, buckets: [b, a]",
            with(Jump::default().with_buckets([id("b"), id("a")])?).with_seed(3),
        ),
        (
            "algorithm: rendezvous, seed: 3",
            with(HashAlgorithm::Rendezvous).with_seed(3),
        ),
        ("algorithm: slots", with(Slots::default())),
        (
            "algorithm: slots, slots: { epoch: 7, owners: { a: 100-8191, b: '8192-16383, 0-99' } }",
            with(Slots::default().with_table(table)),
        ),
    ])
}

#[test]
fn every_algorithm_is_read_and_written_again() -> Result<(), Box<dyn std::error::Error>> {
    let mut named = Vec::new();
    for (section, expected) in sections()? {
        let text = format!("{{ ringfence: 1, ring: {{ {section} }} }}");
        let policy = PolicyDocument::parse_and_compile(&text, &PolicyContext::new())?;
        assert_eq!(policy.ring(), Some(&expected), "{section}");
        named.push(expected.algorithm().as_str());
        let document = policy.document();
        for written in [document.to_json()?, document.to_yaml()?] {
            assert_eq!(
                &PolicyDocument::parse(&written)?,
                document,
                "{section}: {written}"
            );
        }
        // The fewest words: what is usual is not written.
        let json = document.to_json()?;
        assert_eq!(
            json.matches(':').count(),
            text.matches(':').count(),
            "{json}"
        );
    }
    named.dedup();
    assert_eq!(named, HashAlgorithm::NAMES, "each is there");
    let none = PolicyDocument::parse_and_compile("ringfence: 1", &PolicyContext::new())?;
    assert_eq!(none.ring(), None);
    let usual =
        PolicyDocument::parse_and_compile("{ ringfence: 1, ring: {} }", &PolicyContext::new())?;
    assert_eq!(usual.ring(), Some(&RingConfig::default()));
    Ok(())
}

#[test]
fn settings_that_do_not_belong_or_are_out_of_range_are_refused_with_their_place() {
    for (section, place, message) in [
        (
            "algorithm: maglve",
            (3, 3),
            "ring.algorithm at line 3, column 14: unknown word `maglve`, did you mean `maglev`?",
        ),
        (
            "algorithm: maglev\n  probes: 1",
            (4, 3),
            "ring.probes at line 4, column 3: `probes` is no setting of `maglev`, which has: `table_size`, `seed`",
        ),
        (
            "table_size: 65537",
            (3, 3),
            "`table_size` is no setting of `ring`, which has: `points_per_instance`, `probes`, `seed`, `max_ring_points`",
        ),
        (
            "algorithm: maglev\n  table_size: 65536",
            (4, 3),
            "table_size is 65536, allowed is a prime number, such as 65537",
        ),
        (
            "algorithm: maglev\n  table_size: 5000077",
            (4, 3),
            "table_size is 5000077, allowed is 2..=5000011",
        ),
        ("probes: 22", (3, 3), "probes is 22, allowed is 1..=21"),
        ("probes: many", (3, 3), "expected a whole number"),
        (
            "points_per_instance: 0",
            (3, 3),
            "points_per_instance is 0, allowed is 1..=65536",
        ),
        (
            "max_ring_points: 0",
            (3, 3),
            "max_ring_points is 0, allowed is 1..=67108864",
        ),
        (
            "algorithm: envoy-ring\n  min_ring_size: 0",
            (4, 3),
            "min_ring_size is 0, allowed is 1..=8388608",
        ),
        (
            "algorithm: envoy-ring\n  min_ring_size: 8\n  max_ring_size: 7",
            (4, 3),
            "min_ring_size is 8, allowed is 1..=7",
        ),
        (
            "algorithm: envoy-ring\n  max_ring_size: 8388609",
            (4, 3),
            "max_ring_size is 8388609, allowed is 1..=8388608",
        ),
        (
            "algorithm: envoy-ring\n  host_order: random",
            (4, 3),
            "unknown word `random`, there is: as_given, sorted",
        ),
        (
            "algorithm: nginx\n  weight_unit: 0",
            (4, 3),
            "weight_unit is 0, allowed is 1..=1000000",
        ),
        (
            "algorithm: jump\n  buckets: [a, b, a]",
            (4, 3),
            "buckets is a, allowed is each instance once",
        ),
        (
            "algorithm: jump\n  buckets: []",
            (4, 3),
            "buckets is 0, allowed is 1..=1000000",
        ),
        (
            "algorithm: jump\n  buckets: [a, '']",
            (4, 16),
            "ring.buckets[1] at line 4, column 16: ",
        ),
        (
            "algorithm: slots\n  slots: { owners: { a: 0-16384 } }",
            (4, 3),
            "slots is 0..=16384, allowed is a range within 0..=16383",
        ),
        (
            "algorithm: slots\n  slots: { owners: { a: 0-9, b: 9-10 } }",
            (4, 3),
            "slots is 0..=9, allowed is each slot once",
        ),
        (
            "algorithm: slots\n  slots: { owners: { a: 9-0 } }",
            (4, 3),
            "slots is 9..=0, allowed is a range within 0..=16383",
        ),
        (
            "algorithm: slots\n  slots: { owners: { a: all } }",
            (4, 22),
            "ring.slots.owners.a at line 4, column 22: `all` is no range of slots, such as `0-8191` or `7`",
        ),
        (
            "algorithm: slots\n  slots: 3",
            (4, 3),
            "expected a mapping, such as `slots: { owners: { a: 0-8191, b: 8192-16383 } }`",
        ),
        ("points: 100", (3, 3), "unknown field `points`"),
    ] {
        let text = format!("ringfence: 1\nring:\n  {section}\n");
        let refused = PolicyDocument::parse_and_compile(&text, &PolicyContext::new());
        let error = refused.expect_err(section);
        let told = error.to_string();
        assert!(told.contains(message), "{section:?} said {told}");
        let at = (error.line(), error.column());
        let near = |place: Option<u64>, from: u64| place.is_some_and(|place| place >= from);
        assert!(
            at.0 == Some(place.0) && near(at.1, place.1),
            "{section:?}: {at:?}"
        );
    }
    let refused = PolicyDocument::parse("{ ringfence: 1, ring: maglev }").expect_err("a word");
    assert!(
        refused
            .to_string()
            .ends_with("expected a mapping, such as `ring: { algorithm: maglev }`"),
        "{refused}"
    );
}

#[test]
fn a_setting_can_be_given_by_its_name() -> Result<(), crate::PolicyError> {
    let mut settings = RingSettings::default();
    for (name, value) in [
        ("algorithm", "envoy-ring"),
        ("min_ring_size", "7"),
        ("max_ring_size", "7"),
        ("host_order", "sorted"),
        ("hash", "murmur_hash_2"),
    ] {
        settings.set(name, value)?;
    }
    let text = "{ algorithm: envoy-ring, min_ring_size: 7, max_ring_size: 7, host_order: sorted, hash: murmur_hash_2 }";
    assert_eq!(settings, read(text)?);

    let mut jump = RingSettings::of(RingAlgorithm::Jump);
    jump.set("buckets", "[order-1, order-0]")?;
    assert_eq!(
        jump.buckets,
        Some(vec!["order-1".to_owned(), "order-0".to_owned()])
    );
    let mut slots = RingSettings::of(RingAlgorithm::Slots);
    slots.set("slots", "{ epoch: 2, owners: { a: 0-16383 } }")?;
    assert_eq!(slots.slots.as_ref().map(|slots| slots.epoch), Some(2));

    let mut own = RingSettings::default();
    for (name, value, says) in [
        (
            "seeds",
            "1",
            "`seeds` is no setting of `ring`, did you mean `seed`?",
        ),
        ("table_size", "7", "`table_size` is no setting of `ring`"),
        ("seed", "1, probes: 3", "seed: "),
        ("seed", "", "seed: "),
        ("probes", "-1", "expected a whole number"),
        ("algorithm", "magelv", "did you mean `maglev`?"),
    ] {
        let refused = own.set(name, value).expect_err(value);
        assert!(
            refused.to_string().contains(says),
            "{name} {value}: {refused}"
        );
    }
    assert_eq!(own, RingSettings::default(), "nothing was set");
    for name in RingAlgorithm::NAMES {
        own.set("algorithm", name)?;
        assert_eq!(own.algorithm.as_str(), name);
    }
    Ok(())
}

/// None is passed over, whichever is added.
#[test]
fn every_setting_of_every_algorithm_can_be_given_by_its_name() -> Result<(), crate::PolicyError> {
    let value = |name: &str| match name {
        "host_order" => "sorted",
        "hash" => "murmur_hash_2",
        "variant" => "dubbo",
        "buckets" => "[a]",
        "slots" => "{ owners: { a: 0-16383 } }",
        _ => "7",
    };
    for algorithm in RingAlgorithm::NAMES {
        let mut settings = RingSettings::default();
        settings.set("algorithm", algorithm)?;
        let own = settings.algorithm.settings();
        for &name in own {
            let before = settings.clone();
            settings.set(name, value(name))?;
            assert_ne!(settings, before, "{algorithm}: {name}");
        }
        let mut given: Vec<_> = settings.given().collect();
        let mut own = own.to_vec();
        given.sort_unstable();
        own.sort_unstable();
        assert_eq!(given, own, "{algorithm}");
    }
    Ok(())
}
