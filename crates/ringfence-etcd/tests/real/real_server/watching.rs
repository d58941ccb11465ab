use futures_util::StreamExt as _;
use ringfence_discovery::Discovery as _;
use ringfence_testkit::registry::{Etcd, RegistryServer as _};
use serde_json::json;

use super::*;

fn config(etcd: &Etcd) -> EtcdConfig {
    EtcdConfig::new([etcd.url()]).with_silence_timeout(Duration::from_secs(2))
}

#[tokio::test]
async fn changes_of_all_kinds_come_through() {
    let etcd = Etcd::start().await.expect("etcd");
    let mut follower = Follower::new(discovery(config(&etcd)));
    follower.until(&[]).await;
    etcd.put(key("a"), value(1)).await.expect("put");
    etcd.put(key("b"), value(2)).await.expect("put");
    let took = follower.until(&["a", "b"]).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    // Neighbours.
    etcd.put("/ringfence/default/orders/x", value(1))
        .await
        .expect("put");
    etcd.put("/ringfence/default/order", value(1))
        .await
        .expect("put");
    let tagged =
        r#"{"v":1,"address":"127.0.0.1:1","weight":7,"tags":{"lane":"blue"},"enabled":false}"#;
    etcd.put(key("a"), tagged).await.expect("put");
    etcd.put(key("c"), value(3)).await.expect("put");
    follower.until(&["a", "b", "c"]).await;
    let snapshot = follower.last.clone().expect("there");
    let a = snapshot.get("a").expect("there");
    assert_eq!(
        (a.weight().get(), a.tag("lane"), a.is_enabled()),
        (7, Some("blue"), false)
    );
    etcd.delete(key("b")).await.expect("delete");
    follower.until(&["a", "c"]).await;
    etcd.delete_prefix(PREFIX).await.expect("delete");
    follower.until(&[]).await;
    for i in 0..50 {
        etcd.put(key(&format!("i{i:02}")), value(80))
            .await
            .expect("put");
    }
    let all: Vec<String> = (0..50).map(|i| format!("i{i:02}")).collect();
    follower
        .until(&all.iter().map(|id| &**id).collect::<Vec<_>>())
        .await;
}

#[tokio::test]
async fn bad_records_do_not_spoil_the_list() {
    let etcd = Etcd::start().await.expect("etcd");
    let odd_key = [PREFIX.as_bytes(), b"\xff\xfe"].concat();
    etcd.put(odd_key, value(1)).await.expect("put");
    etcd.put(key("big"), "x".repeat(1 << 20))
        .await
        .expect("put");
    etcd.put(key("broken"), "{").await.expect("put");
    etcd.put(key("port"), value(70_000)).await.expect("put");
    etcd.put(key("nan"), r#"{"v":1,"address":"h:1","weight":NaN}"#)
        .await
        .expect("put");
    etcd.put(key("latin"), b"\xe9").await.expect("put");
    etcd.put(key("good"), value(80)).await.expect("put");
    let update = discovery(config(&etcd))
        .fetch(&order())
        .await
        .expect("read");
    assert_eq!(ids(update.state.as_snapshot().expect("there")), ["good"]);
    assert_eq!(update.rejected.len(), 6, "{:#?}", update.rejected);
}

#[tokio::test]
async fn a_large_service_is_read_in_pages() {
    let etcd = Etcd::start().await.expect("etcd");
    for i in 0..30 {
        etcd.put(key(&format!("large{i:02}")), "x".repeat(1 << 20))
            .await
            .expect("put");
        etcd.put(key(&format!("small{i:02}")), value(80))
            .await
            .expect("put");
    }
    let update = discovery(config(&etcd))
        .fetch(&order())
        .await
        .expect("30 MiB are no obstacle");
    assert_eq!(
        (update.state.instance_count(), update.rejected.len()),
        (30, 30)
    );
}

#[tokio::test]
async fn a_compacted_watch_finds_what_came_and_what_went() {
    let etcd = Etcd::start().await.expect("etcd");
    etcd.put(key("k1"), value(1)).await.expect("put");
    etcd.put(key("k2"), value(2)).await.expect("put");
    let source = discovery(config(&etcd));
    let mut watch = source.watch(&order());
    let first = watch.next().await.expect("open").expect("listed");
    assert_eq!(first.state.instance_count(), 2);
    // The stream is not polled, so it has no watch yet, and the revision it wants is compacted.
    etcd.delete(key("k1")).await.expect("delete");
    let revision = etcd.put(key("k3"), value(3)).await.expect("put");
    etcd.call(
        "kv/compaction",
        json!({ "revision": revision.to_string(), "physical": true }),
    )
    .await
    .expect("compact");
    let second = timeout(PATIENCE, watch.next()).await.expect("in time");
    let second = second.expect("open").expect("listed anew");
    assert_eq!(
        ids(second.state.as_snapshot().expect("there")),
        ["k2", "k3"]
    );
    etcd.put(key("k4"), value(4)).await.expect("put");
    let third = timeout(PATIENCE, watch.next()).await.expect("in time");
    let third = third.expect("open").expect("watched");
    assert_eq!(
        ids(third.state.as_snapshot().expect("there")),
        ["k2", "k3", "k4"]
    );
}

#[tokio::test]
async fn a_killed_server_that_comes_back_is_followed_again() {
    let mut etcd = Etcd::start().await.expect("etcd");
    etcd.put(key("a"), value(1)).await.expect("put");
    let mut follower = Follower::new(discovery(config(&etcd)));
    follower.until(&["a"]).await;
    etcd.kill().expect("killed");
    follower.stays(Duration::from_secs(3)).await;
    etcd.restart().await.expect("back");
    etcd.put(key("b"), value(2)).await.expect("put");
    let took = follower.until(&["a", "b"]).await;
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn a_wiped_server_whose_revisions_begin_low_is_believed() {
    let mut etcd = Etcd::start().await.expect("etcd");
    for _ in 0..50 {
        etcd.put(key("a"), value(1)).await.expect("put");
    }
    let mut follower = Follower::new(discovery(config(&etcd)));
    follower.until(&["a"]).await;
    etcd.wipe().await.expect("back");
    etcd.put(key("b"), value(2)).await.expect("put");
    follower.until(&["b"]).await;
    etcd.put(key("c"), value(3)).await.expect("put");
    let took = follower.until(&["b", "c"]).await;
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn a_frozen_server_changes_nothing_and_is_followed_again() {
    let etcd = Etcd::start().await.expect("etcd");
    etcd.put(key("a"), value(1)).await.expect("put");
    let mut follower = Follower::new(discovery(config(&etcd)));
    follower.until(&["a"]).await;
    etcd.pause().expect("frozen");
    follower.stays(Duration::from_secs(12)).await;
    assert!(
        follower.supervisor.status().counters.watch_errors > 0,
        "the silence was noticed"
    );
    etcd.resume().expect("thawed");
    etcd.put(key("b"), value(2)).await.expect("put");
    let took = follower.until(&["a", "b"]).await;
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn dropped_watches_leave_nothing_on_the_server() {
    let etcd = Etcd::start().await.expect("etcd");
    etcd.put(key("a"), value(1)).await.expect("put");
    let source = discovery(config(&etcd).with_silence_timeout(Duration::from_millis(100)));
    let mut watches: Vec<_> = (0..40).map(|_| source.watch(&order())).collect();
    for watch in &mut watches {
        for _ in 0..2 {
            watch.next().await.expect("open").expect("alive");
        }
    }
    // The same connection serves them, and it goes with the last of them.
    assert_eq!(connections(etcd.address().port()), 1);
    drop(watches);
    let start = Instant::now();
    while connections(etcd.address().port()) > 0 {
        assert!(start.elapsed() < Duration::from_secs(1), "still connected");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
