use ringfence_core::{Health, Scheme, Snapshot};
use ringfence_discovery::{Field, FieldSource};
use ringfence_testkit::Warnings;

use super::*;

fn record(ip: &str, port: i64) -> Record {
    Record {
        ip: ip.to_owned(),
        port,
        weight: 1.0,
        healthy: true,
        enabled: true,
        cluster: DEFAULT_CLUSTER.to_owned(),
        metadata: Vec::new(),
    }
}

fn with_meta(mut record: Record, metadata: &[(&str, &str)]) -> Record {
    record.metadata = metadata
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    record
}

fn read_with(records: &[Record], clusters: &[&str], mapping: &FieldMapping) -> Update {
    let target = Target {
        group: "DEFAULT_GROUP".into(),
        service: "order".into(),
    };
    let clusters = clusters.iter().map(|c| (*c).to_owned()).collect();
    update(&target, records, &clusters, mapping)
}

fn read(records: &[Record], clusters: &[&str]) -> Update {
    read_with(records, clusters, &FieldMapping::for_nacos())
}

fn snapshot(update: &Update) -> &Snapshot {
    update.state.as_snapshot().expect("a list")
}

#[test]
fn b47_fractions_are_scaled_before_they_are_rounded_and_none_is_starved() {
    let weights = [0.01, 0.004, 0.5, 0.99, 1.0, 2.5, 10_000.0, 20_000.0, 0.0];
    let expected = [1, 1, 50, 99, 100, 250, 1_000_000, 1_000_000, 0];
    for (weight, expected) in weights.into_iter().zip(expected) {
        let update = read(
            &[Record {
                weight,
                ..record("10.0.0.1", 80)
            }],
            &[],
        );
        let snapshot = snapshot(&update);
        let found = snapshot.instances().first().expect("one").weight().get();
        assert_eq!(found, expected, "{weight}");
    }
}

#[test]
fn b47_disabled_drained_and_unhealthy_stay_in_the_list_as_what_they_are() {
    let mut all = [
        record("10.0.0.1", 80),
        record("10.0.0.2", 80),
        record("10.0.0.3", 80),
    ];
    all[0].enabled = false;
    all[1].healthy = false;
    all[2].weight = 0.0;
    let update = read(&all, &[]);
    let found: Vec<_> = snapshot(&update)
        .instances()
        .iter()
        .map(|i| (i.takes_traffic(), i.health()))
        .collect();
    assert_eq!(
        found,
        [
            (false, Health::Healthy),
            (true, Health::Unhealthy),
            (false, Health::Healthy)
        ]
    );

    all[0].enabled = true;
    let toggled = read(&all, &[]);
    assert_ne!(snapshot(&update), snapshot(&toggled), "enabled is a change");
}

#[test]
fn bad_records_are_skipped_and_named_and_the_rest_is_served() {
    let all = [
        record("10.0.0.1", 80),
        record("10.0.0.2", 70_000),
        record("10.0.0.3", 0),
        record("10.0.0.4", -1),
        record("", 80),
        record("not an ip", 80),
        Record {
            weight: f64::NAN,
            ..record("10.0.0.5", 80)
        },
        Record {
            weight: f64::INFINITY,
            ..record("10.0.0.6", 80)
        },
        Record {
            weight: -1.0,
            ..record("10.0.0.7", 80)
        },
        record("::1", 80),
        record("orders.internal", 80),
    ];
    let update = read(&all, &[]);
    let ids: Vec<_> = snapshot(&update)
        .instances()
        .iter()
        .map(|i| i.id().as_str())
        .collect();
    assert_eq!(ids, ["10.0.0.1:80", "::1:80", "orders.internal:80"]);
    assert_eq!(update.rejected.len(), 8, "{:?}", update.rejected);
    let reasons: Vec<_> = update.rejected.iter().map(ToString::to_string).collect();
    assert!(reasons[0].contains("70000"), "{reasons:?}");
    assert!(reasons[5].contains("weight"), "{reasons:?}");
}

#[test]
fn huge_metadata_costs_the_entry_and_not_the_instance() {
    let huge = "x".repeat(1 << 20);
    let mut many: Vec<_> = (0..5_000)
        .map(|n| (format!("k{n}"), "v".to_owned()))
        .collect();
    many.push((String::new(), "empty name".to_owned()));
    many.push(("a\u{7}b".to_owned(), "control".to_owned()));
    let all = [
        with_meta(record("10.0.0.1", 80), &[("blob", &huge), ("lane", "blue")]),
        Record {
            metadata: many,
            ..record("10.0.0.2", 80)
        },
    ];
    let logged = Warnings::capture_from(tracing::Level::DEBUG);
    let update = read(&all, &[]);
    let instances = snapshot(&update).instances();
    assert_eq!(instances.len(), 2);
    assert_eq!(instances[0].tag("lane"), Some("blue"));
    assert!(instances.iter().all(|i| i.tags().len() <= 256));
    let lines = logged.take();
    // The blob, the two illegal names, and the labels beyond the limit, of which one is the tenant's.
    let altered = 1 + 2 + (5_000 - 255);
    let told =
        |line: &String| line.contains("order") && line.contains(&format!("altered={altered}"));
    assert!(lines.iter().any(told), "{lines:#?}");
}

#[test]
fn metadata_gives_the_fields_and_reserved_keys_are_not_routed_on() {
    let update = read(
        &[with_meta(
            record("10.0.0.1", 8443),
            &[
                ("version", "v2"),
                ("zone", "az-1"),
                ("tenant", "acme"),
                ("secure", "true"),
                ("weight", "7"),
                ("preserved.heart.beat.interval", "5000"),
                ("nacos.weight", "3"),
                ("lane", "blue"),
            ],
        )],
        &[],
    );
    let instance = snapshot(&update).instances().first().expect("one");
    assert_eq!(
        (instance.version(), instance.zone(), instance.tenant()),
        (Some("v2"), Some("az-1"), Some("acme"))
    );
    assert_eq!(instance.scheme(), Scheme::Https);
    assert_eq!(instance.weight().get(), 100, "Nacos's own weight decides");
    assert_eq!(instance.tag("lane"), Some("blue"));
    assert_eq!(instance.tag("preserved.heart.beat.interval"), None);
}

#[test]
fn the_cluster_is_the_zone_unless_nobody_chose_one_or_the_mapping_says_no() {
    let named = Record {
        cluster: "az-2".into(),
        ..record("10.0.0.1", 80)
    };
    let zone = |update: &Update| {
        let first = snapshot(update).instances().first().expect("one");
        (first.id().to_string(), first.zone().map(str::to_owned))
    };
    let zoned = read(std::slice::from_ref(&named), &[]);
    assert_eq!(
        zone(&zoned),
        ("az-2@10.0.0.1:80".into(), Some("az-2".into()))
    );
    assert_eq!(zone(&read(&[record("10.0.0.1", 80)], &[])).1, None);
    let without = FieldMapping::for_nacos().with_sources(Field::Zone, [FieldSource::meta("zone")]);
    assert_eq!(zone(&read_with(&[named], &[], &without)).1, None);
}

#[test]
fn b31_clusters_are_chosen_here_and_an_unnamed_one_is_the_default() {
    let mut all = [
        record("10.0.0.1", 80),
        record("10.0.0.2", 80),
        record("10.0.0.3", 80),
    ];
    all[1].cluster = String::new();
    all[2].cluster = "c2".into();
    assert_eq!(read(&all, &["DEFAULT"]).state.instance_count(), 2);
    assert_eq!(read(&all, &["c2"]).state.instance_count(), 1);
    assert_eq!(read(&all, &["c2", "DEFAULT"]).state.instance_count(), 3);
    assert_eq!(read(&all, &["c3"]).state.instance_count(), 0);
    assert_eq!(read(&all, &[]).state.instance_count(), 3);
}

#[test]
fn the_order_of_the_list_does_not_matter() {
    let (a, b) = (record("10.0.0.1", 80), record("10.0.0.2", 80));
    assert_eq!(read(&[a.clone(), b.clone()], &[]), read(&[b, a], &[]));
}
