use ringfence_core::Scheme;
use ringfence_discovery::{Field, FieldMapping, FieldSource};

use super::*;
use crate::{naming::Record, records};

fn config() -> NacosConfig {
    // Nobody listens there, and nobody connects in these tests.
    NacosConfig::new(["127.0.0.1:9"]).expect("legal")
}

fn instance() -> Instance {
    Instance::builder("order-1", "10.0.0.7:8080")
        .version("v2")
        .zone("az-1")
        .region("eu")
        .tenant("acme")
        .scheme(Scheme::Https)
        .weight(37)
        .tag("lane", "blue")
        .build()
        .expect("legal")
}

/// What a reader of the same configuration makes of it.
fn read_back(config: &NacosConfig, instance: &Instance) -> Instance {
    let filled = Form::new(config, false)
        .fill(instance)
        .expect("it can be held");
    let target = target(config, &ServiceKey::new("order")).expect("legal");
    let update = records::update(
        &target,
        &[Record::from(filled)],
        &config.clusters,
        &config.mapping,
    );
    assert!(update.rejected.is_empty(), "{:?}", update.rejected);
    let snapshot = update.state.as_snapshot().expect("a list");
    (**snapshot.instances().first().expect("one")).clone()
}

#[test]
fn what_is_registered_is_read_back_as_it_was() {
    let config = config();
    let full = instance();
    let plain = Instance::builder("a", "[::1]:80").build().expect("legal");
    let off = plain
        .to_builder()
        .enabled(false)
        .healthy(false)
        .weight(0)
        .build()
        .expect("legal");
    for instance in [full, plain, off] {
        assert_eq!(read_back(&config, &instance), instance);
    }
}

#[test]
fn every_weight_survives_the_way_through_a_fraction() {
    for weight in [0, 1, 7, 33, 99, 100, 101, 333, 999_999, 1_000_000] {
        let instance = instance()
            .to_builder()
            .weight(weight)
            .build()
            .expect("legal");
        assert_eq!(read_back(&config(), &instance).weight().get(), weight);
    }
}

#[test]
fn the_cluster_is_the_only_one_configured_or_the_zone_where_metadata_has_none() {
    let fill = |config: NacosConfig| Form::new(&config, false).fill(&instance());
    let cluster = |config: NacosConfig| fill(config).expect("legal").cluster_name.expect("set");
    assert_eq!(cluster(config()), "DEFAULT");
    let one = config().with_clusters(["c1"]).expect("legal");
    assert_eq!(cluster(one), "c1");
    let two = config().with_clusters(["c1", "c2"]).expect("legal");
    assert_eq!(cluster(two), "DEFAULT");
    let zoned = FieldMapping::for_nacos().with_sources(Field::Zone, [FieldSource::Registry]);
    assert_eq!(cluster(config().with_mapping(zoned.clone())), "az-1");
    let bad = instance().to_builder().zone("a/b").build().expect("legal");
    let form = Form::new(&config().with_mapping(zoned), false);
    assert_eq!(
        form.fill(&bad).expect_err("illegal").kind(),
        ringfence_discovery::ErrorKind::Config
    );
}

#[test]
fn instances_of_one_service_get_connections_of_their_own_which_are_used_again() {
    let slots = Slots::shared(&config().with_namespace("slots").expect("legal"));
    let target = |name| target(&config(), &ServiceKey::new(name)).expect("legal");
    let first = slots.take(&target("a"));
    let other = slots.take(&target("b"));
    assert!(Arc::ptr_eq(&first.connection, &other.connection));
    let second = slots.take(&target("a"));
    assert!(!Arc::ptr_eq(&first.connection, &second.connection));
    drop(first);
    let again = slots.take(&target("a"));
    assert!(Arc::ptr_eq(&again.connection, &other.connection));
    drop((again, second, other));
    for _ in 0..10 {
        drop(slots.take(&target("a")));
    }
    assert_eq!(slots.len(), 2);
}

#[tokio::test]
async fn what_nacos_cannot_hold_is_refused_before_anything_is_sent() {
    let mapping = FieldMapping::for_nacos().with_sources(Field::Version, []);
    let registrar = NacosRegistrar::new(config().with_mapping(mapping));
    for (key, instance) in [
        (ServiceKey::new("order"), instance()),
        (
            ServiceKey::new("a@@b"),
            Instance::builder("a", "10.0.0.1:80")
                .build()
                .expect("legal"),
        ),
    ] {
        let error = registrar
            .register(&key, instance)
            .await
            .expect_err("refused");
        assert_eq!(
            error.kind(),
            ringfence_discovery::ErrorKind::Config,
            "{error}"
        );
    }
}

#[test]
fn no_secret_shows() {
    let config = config().with_login(crate::NacosLogin::new("writer", "hunter2"));
    let shown = format!("{:?}", NacosRegistrar::new(config));
    assert!(!shown.contains("hunter2"), "{shown}");
}
