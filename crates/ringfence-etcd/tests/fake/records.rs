//! Records of all kinds: the rest of the list is served, and what was left out is told.

use ringfence_discovery::{Discovery as _, ErrorKind, Event, Supervisor, WatchConfig};
use ringfence_etcd::KratosCodec;
use ringfence_testkit::Warnings;

use super::{server::*, *};

#[tokio::test]
async fn bad_records_are_left_out_one_by_one() {
    let etcd = FakeEtcd::start().await;
    for id in ["a", "m", "z"] {
        etcd.put(&key(id), value(80));
    }
    for (id, value) in [
        ("big", "x".repeat(1 << 20)),
        ("broken", "{\"v\":1,".to_owned()),
        ("empty", String::new()),
        ("nan", r#"{"v":1,"address":"h:1","weight":NaN}"#.to_owned()),
        ("port", value(70_000)),
        ("deep", "[".repeat(60_000)),
    ] {
        etcd.put(&key(id), value);
    }
    etcd.put(&key("latin"), b"\xe9\xff");
    let odd_key = [PREFIX.as_bytes(), b"\xff\xfe"].concat();
    etcd.with(|state| state.transact(&[(&odd_key, Some(value(1).as_bytes()))], 0));
    // Neighbours that share the beginning of the prefix.
    etcd.put("/ringfence/default/order", value(1));
    etcd.put("/ringfence/default/orders/x", value(1));
    etcd.put("/ringfence/default/order/deeper/x", value(1));

    let source = discovery(config(&[&etcd]));
    let update = source.fetch(&order()).await.expect("the rest is served");
    assert_eq!(ids(&update), ["a", "m", "z"]);
    assert_eq!(update.rejected.len(), 8, "{:#?}", update.rejected);
    assert!(
        update
            .rejected
            .iter()
            .all(|record| record.reason.len() < 300 && !record.reason.is_empty())
    );

    // The same by way of the watch: a good record turns bad, and good again.
    let mut watch = source.watch(&order());
    until(&mut watch, &["a", "m", "z"]).await;
    etcd.put(&key("m"), "x".repeat(1 << 20));
    let update = until(&mut watch, &["a", "z"]).await;
    assert_eq!(update.rejected.len(), 9);
    etcd.put(&key("m"), value(81));
    assert_eq!(until(&mut watch, &["a", "m", "z"]).await.rejected.len(), 8);
}

/// What an operator looks at: who was left out, why, and that the others are served.
#[tokio::test]
async fn what_was_left_out_is_in_the_status_and_counted_once() {
    let etcd = FakeEtcd::start().await;
    etcd.put(&key("good"), value(80));
    etcd.put(&key("big"), "x".repeat(1 << 20));
    etcd.put(&key("broken"), "{\"v\":1,");
    etcd.put(&key("nan"), r#"{"v":1,"address":"h:1","weight":NaN}"#);
    etcd.put(&key("port"), value(70_000));
    let odd_key = [PREFIX.as_bytes(), b"\xff\xfe"].concat();
    etcd.with(|state| state.transact(&[(&odd_key, Some(value(1).as_bytes()))], 0));
    let source = discovery(config(&[&etcd]));
    let mut supervisor = Supervisor::new(source, order(), WatchConfig::default());
    let Event::Snapshot(accepted) = supervisor.next().await else {
        panic!("a list first");
    };
    assert_eq!(accepted.snapshot.len(), 1);
    // Signs of life repeat the list.
    let more = tokio::time::timeout(Duration::from_secs(1), supervisor.next()).await;
    assert!(more.is_err(), "{more:?}");
    let status = supervisor.status();
    assert_eq!(
        status.counters.rejected_records, 5,
        "{:#?}",
        status.rejected
    );
    for (id, reason) in [
        ("big", "1048576 bytes"),
        ("broken", "JSON"),
        ("nan", "JSON"),
        ("port", "70000"),
        ("\u{fffd}\u{fffd}", "UTF-8"),
    ] {
        let found = status
            .rejected
            .iter()
            .find(|record| record.id.as_deref() == Some(id));
        let found = found.unwrap_or_else(|| panic!("{id}: {:#?}", status.rejected));
        assert!(found.reason.contains(reason), "{id}: {}", found.reason);
    }
}

#[tokio::test]
async fn metadata_that_is_left_out_or_cut_is_logged() {
    let etcd = FakeEtcd::start().await;
    let note = "x".repeat(10_000);
    etcd.put(
        "/microservices/order/host-1",
        format!(r#"{{"metadata":{{"note":"{note}"}},"endpoints":["grpc://10.0.0.1:9000"]}}"#),
    );
    let source = discovery(config(&[&etcd]).with_codec(KratosCodec::default()));
    let logged = Warnings::capture_from(tracing::Level::DEBUG);
    source.fetch(&order()).await.expect("read");
    let lines = logged.take();
    let told = |line: &&String| line.contains("record=host-1") && line.contains("altered=1");
    assert_eq!(lines.iter().filter(told).count(), 1, "{lines:#?}");
}

#[tokio::test]
async fn a_list_is_read_in_pages_and_large_values_do_not_stop_it() {
    let etcd = FakeEtcd::start().await;
    let many: Vec<String> = (0..1_234).map(|i| format!("i{i:05}")).collect();
    for id in &many {
        etcd.put(&key(id), value(80));
    }
    let source = discovery(config(&[&etcd]).with_page_size(100));
    let update = source.fetch(&order()).await.expect("all of it");
    assert_eq!(ids(&update), many);
    assert_eq!(etcd.with(|state| state.ranges.clone()), vec![100; 13]);

    // Together over the limit of a message, and one that is over it alone.
    for id in 0..20 {
        etcd.put(&key(&format!("large{id}")), vec![b'x'; 1 << 20]);
    }
    etcd.put(&key("huge"), vec![b'x'; 20 << 20]);
    let update = discovery(config(&[&etcd]).with_request_timeout(Duration::from_secs(5)))
        .fetch(&order())
        .await
        .expect("the rest");
    assert_eq!(ids(&update), many);
    assert_eq!(update.rejected.len(), 21);
}

#[tokio::test]
async fn more_keys_than_allowed_are_an_error_and_no_cut_list() {
    let etcd = FakeEtcd::start().await;
    for id in ["a", "b", "c"] {
        etcd.put(&key(id), value(80));
    }
    let source = discovery(config(&[&etcd]).with_max_keys(3));
    let mut watch = source.watch(&order());
    until(&mut watch, &["a", "b", "c"]).await;
    next(&mut watch).await.expect("alive");
    etcd.put(&key("d"), value(80));
    let error = loop {
        if let Err(error) = next(&mut watch).await {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
    assert_eq!(
        source.fetch(&order()).await.expect_err("too many").kind(),
        ErrorKind::Malformed
    );
}

#[tokio::test]
async fn services_of_other_layouts_are_read() {
    let etcd = FakeEtcd::start().await;
    etcd.put(
        "/microservices/order/host-1",
        r#"{"id":"host-1","name":"order","version":"v2","metadata":{"zone":"az-1"},"endpoints":["grpc://10.0.0.1:9000"]}"#,
    );
    let source = discovery(config(&[&etcd]).with_codec(KratosCodec::default()));
    let update = source.fetch(&order()).await.expect("read");
    assert_eq!(ids(&update), ["host-1"]);
}

#[tokio::test]
async fn weight_tag_and_state_changes_come_through() {
    let etcd = FakeEtcd::start().await;
    etcd.put(&key("a"), value(80));
    let source = discovery(config(&[&etcd]));
    let mut watch = source.watch(&order());
    until(&mut watch, &["a"]).await;
    etcd.put(
        &key("a"),
        r#"{"v":1,"address":"127.0.0.1:80","weight":0,"tags":{"lane":"blue"},"enabled":false}"#,
    );
    loop {
        let update = next(&mut watch).await.expect("an update");
        let snapshot = update.state.as_snapshot().expect("there").clone();
        let a = snapshot.get("a").expect("there");
        if a.tag("lane") == Some("blue") {
            assert!(a.weight().is_zero() && !a.is_enabled());
            return;
        }
    }
}
