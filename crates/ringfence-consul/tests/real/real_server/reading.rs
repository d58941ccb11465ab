use futures_util::StreamExt as _;
use ringfence_consul::{Consistency, ConsulConfig, ConsulDiscovery, WarningPolicy};
use ringfence_core::{Health, Scheme};
use ringfence_discovery::{Discovery as _, ErrorKind, ServiceKey};
use ringfence_testkit::registry::Consul;
use serde_json::{Value, json};

use super::{eventually, ids, put, put_order, read, source, supervise, take, until};

#[tokio::test]
async fn every_field_and_state_is_read() {
    let consul = Consul::start().await.expect("a server");
    let source = source(&consul);
    put(
        &consul,
        json!({ "Name": "order", "ID": "full", "Address": "::1", "Port": 8080,
            "Tags": ["version=v1", "lane=blue", "primary"],
            "Meta": { "zone": "az-1", "tenant": "acme", "secure": "true" },
            "Weights": { "Passing": 3, "Warning": 2 },
            "TaggedAddresses": { "wan": { "Address": "1.2.3.4", "Port": 1 } },
            "Checks": [
                { "CheckID": "one", "Name": "one", "TTL": "1h", "Status": "passing" },
                { "CheckID": "two", "Name": "two", "TTL": "1h", "Status": "passing" },
            ] }),
    )
    .await;
    let full = read(&source, "order").await.pop().expect("one");
    assert_eq!(full.id().as_str(), "dc1/test/full");
    assert_eq!(full.address().to_string(), "[::1]:8080");
    assert_eq!((full.scheme(), full.weight().get()), (Scheme::Https, 300));
    assert_eq!((full.version(), full.zone()), (Some("v1"), Some("az-1")));
    assert_eq!(
        (full.tenant(), full.tag("lane")),
        (Some("acme"), Some("blue"))
    );
    assert!(full.is_healthy() && full.is_enabled());

    let strict = ConsulConfig::new(consul.url()).with_warning(WarningPolicy::Unhealthy);
    let strict = ConsulDiscovery::new(strict).expect("legal");
    for (state, lenient, when_strict, weight) in [
        ("warn", Health::Healthy, Health::Unhealthy, 200),
        ("fail", Health::Unhealthy, Health::Unhealthy, 300),
        ("pass", Health::Healthy, Health::Healthy, 300),
    ] {
        let path = format!("/v1/agent/check/{state}/two");
        consul.request("PUT", &path, Value::Null).await.expect("up");
        eventually(state, async || {
            let instance = read(&source, "order").await.pop().expect("one");
            (instance.health(), instance.weight().get()) == (lenient, weight)
        })
        .await;
        let instance = read(&strict, "order").await.pop().expect("one");
        assert_eq!(instance.health(), when_strict, "{state}");
    }
    for (path, enabled) in [
        ("service/maintenance/full?enable=true", false),
        ("service/maintenance/full?enable=false", true),
        ("maintenance?enable=true", false),
        ("maintenance?enable=false", true),
    ] {
        let path = format!("/v1/agent/{path}");
        consul.request("PUT", &path, Value::Null).await.expect("up");
        eventually(&path, async || {
            let instance = read(&source, "order").await.pop().expect("one");
            instance.is_enabled() == enabled && instance.is_healthy() == enabled
        })
        .await;
    }
}

#[tokio::test]
async fn what_the_server_accepts_and_is_no_instance_is_left_out() {
    let consul = Consul::start().await.expect("a server");
    for (id, port, weight) in [
        ("good", 80, "7"),
        ("high", 70_000, "7"),
        ("zero", 0, "7"),
        ("odd", 80, "NaN"),
    ] {
        put(
            &consul,
            json!({ "Name": "order", "ID": id, "Port": port, "Meta": { "weight": weight } }),
        )
        .await;
    }
    let source = source(&consul);
    let key = ServiceKey::new("order");
    let mut watch = source.watch(&key);
    let update = watch.next().await.expect("endless").expect("a list");
    assert_eq!(
        ids(update.state.as_snapshot().expect("a service")),
        ["good"]
    );
    // The node's address stands in.
    let good = update.state.as_snapshot().expect("a service").instances()[0].clone();
    assert_eq!(good.address().to_string(), "127.0.0.1:80");
    assert_eq!(good.weight().get(), 7);
    let rejected: Vec<_> = update
        .rejected
        .iter()
        .filter_map(|r| r.id.as_deref())
        .collect();
    assert_eq!(rejected, ["dc1/test/high", "dc1/test/odd", "dc1/test/zero"]);
}

#[tokio::test]
async fn names_of_all_kinds_are_found_and_unknown_ones_are_empty() {
    let consul = Consul::start().await.expect("a server");
    let source = source(&consul);
    for name in ["a b", "ü", "x%2Fy", "q?x=1", "h#f", "a/b", "a+b", "%"] {
        put(&consul, json!({ "Name": name, "ID": name, "Port": 80 })).await;
        let found = read(&source, name).await;
        assert_eq!(found.len(), 1, "{name}");
        assert_eq!(found[0].id().as_str(), format!("dc1/test/{name}"));
    }
    assert_eq!(read(&source, "nobody").await, []);
}

#[tokio::test]
async fn a_watch_sees_each_change_at_once() {
    let consul = Consul::start().await.expect("a server");
    put_order(&consul, "a").await;
    let mut supervisor = supervise(source(&consul));
    until(&mut supervisor, &["a"]).await;
    put_order(&consul, "b").await;
    let took = until(&mut supervisor, &["a", "b"]).await;
    assert!(took.as_millis() < 2_000, "{took:?}");
    put(
        &consul,
        json!({ "Name": "order", "ID": "b", "Address": "10.0.0.1", "Port": 80, "Tags": ["lane=blue"] }),
    )
    .await;
    until(&mut supervisor, &["a", "b"]).await;
    take(&consul, "a").await;
    until(&mut supervisor, &["b"]).await;
    take(&consul, "b").await;
    until(&mut supervisor, &[]).await;
}

#[tokio::test]
async fn settings_work_and_those_that_the_server_refuses_are_errors() {
    let consul = Consul::start().await.expect("a server");
    for (id, tier) in [("a", "web"), ("b", "batch")] {
        put(
            &consul,
            json!({ "Name": "order", "ID": id, "Port": 80, "Tags": ["x", tier], "Meta": { "tier": tier } }),
        )
        .await;
    }
    let config = || ConsulConfig::new(consul.url());
    for (config, count) in [
        (config().with_filter("Service.Meta.tier == \"web\""), 1),
        (config().with_required_tag("x"), 2),
        (
            config().with_required_tag("x").with_required_tag("batch"),
            1,
        ),
        (config().with_consistency(Consistency::Consistent), 2),
        (config().with_consistency(Consistency::Stale), 2),
        (config().with_datacenter("dc1"), 2),
    ] {
        let what = format!("{config:?}");
        let source = ConsulDiscovery::new(config).expect("legal");
        assert_eq!(read(&source, "order").await.len(), count, "{what}");
        let key = ServiceKey::new("order");
        let update = source
            .watch(&key)
            .next()
            .await
            .expect("endless")
            .expect("a list");
        assert_eq!(update.state.instance_count(), count, "{what}");
    }
    for (config, kind) in [
        (
            config().with_filter("no expression"),
            ErrorKind::Unavailable,
        ),
        (config().with_datacenter("nowhere"), ErrorKind::Unavailable),
        (config().with_namespace("x"), ErrorKind::Config),
    ] {
        let what = format!("{config:?}");
        let source = ConsulDiscovery::new(config).expect("legal");
        let error = source
            .fetch(&ServiceKey::new("order"))
            .await
            .expect_err(&what);
        assert_eq!(error.kind(), kind, "{error}");
    }
}
