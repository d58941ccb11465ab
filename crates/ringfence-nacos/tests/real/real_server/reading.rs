use std::time::Duration;

use ringfence_discovery::{Discovery as _, ErrorKind, ServiceKey};
use ringfence_nacos::NacosDiscovery;
use tokio::runtime::Handle;

use super::support::*;

const SOON: Duration = Duration::from_secs(5);

#[tokio::test]
async fn instances_come_change_and_go() {
    let nacos = server().await;
    let source = NacosDiscovery::new(config(&nacos));
    let mut seen = Seen::watch(&source);
    seen.until_shape(SOON, []).await;
    put(&nacos, 1, "").await;
    seen.until_shape(SOON, [(1, 100)]).await;
    put(&nacos, 2, "&weight=0.01").await;
    seen.until_shape(SOON, [(1, 100), (2, 1)]).await;
    put(&nacos, 2, "&weight=2.5").await;
    seen.until_shape(SOON, [(1, 100), (2, 250)]).await;
    put(
        &nacos,
        2,
        "&weight=2.5&metadata=%7B%22version%22%3A%22v2%22%7D",
    )
    .await;
    seen.until(SOON, |item| {
        let update = item.as_ref().expect("a list");
        let snapshot = update.state.as_snapshot().expect("a list");
        snapshot
            .instances()
            .iter()
            .any(|i| i.version() == Some("v2"))
    })
    .await;
    delete(&nacos, 1).await;
    seen.until_shape(SOON, [(2, 250)]).await;
    delete(&nacos, 2).await;
    seen.until_shape(SOON, []).await;
}

#[tokio::test]
async fn a_burst_ends_with_the_truth() {
    let nacos = server().await;
    put(&nacos, 1, "").await;
    let source = NacosDiscovery::new(config(&nacos));
    let mut seen = Seen::watch(&source);
    seen.until_shape(SOON, [(1, 100)]).await;
    for weight in 2..=6 {
        put(&nacos, 1, &format!("&weight={weight}")).await;
    }
    seen.until_shape(SOON, [(1, 600)]).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let update = source.fetch(&order()).await.expect("a list");
    assert_eq!(shape(update.state.as_snapshot().expect("a list"))[&1], 600);
}

#[tokio::test]
async fn groups_namespaces_and_clusters_keep_apart() {
    let nacos = server().await;
    put(&nacos, 1, "").await;
    put(&nacos, 2, "&groupName=SHOP").await;
    put(&nacos, 3, "&namespaceId=prod").await;
    put(&nacos, 4, "&clusterName=az-2").await;
    let read = async |source: &NacosDiscovery, key: &ServiceKey| {
        let update = source.fetch(key).await.expect("a list");
        let ports = shape(update.state.as_snapshot().expect("a list"));
        ports.into_keys().collect::<Vec<_>>()
    };
    let base = config(&nacos);
    let source = NacosDiscovery::new(base.clone());
    assert_eq!(read(&source, &order()).await, [1, 4]);
    assert_eq!(read(&source, &order().with_namespace("SHOP")).await, [2]);
    let prod = base.clone().with_namespace("prod").expect("legal");
    assert_eq!(read(&NacosDiscovery::new(prod), &order()).await, [3]);
    let zoned = base.with_clusters(["az-2"]).expect("legal");
    let zoned = NacosDiscovery::new(zoned);
    assert_eq!(read(&zoned, &order()).await, [4]);
    let update = zoned.fetch(&order()).await.expect("a list");
    let snapshot = update.state.as_snapshot().expect("a list");
    assert_eq!(snapshot.instances()[0].zone(), Some("az-2"));
    assert!(read(&source, &ServiceKey::new("unknown")).await.is_empty());
}

#[tokio::test]
async fn bad_records_do_not_take_the_others_along() {
    let nacos = server().await;
    put(&nacos, 1, "").await;
    put(&nacos, 70_000, "").await;
    put(&nacos, 0, "").await;
    put(&nacos, 2, "&weight=-1").await;
    put(&nacos, 3, "&weight=20000").await;
    let blob = "x".repeat(1 << 20);
    put(
        &nacos,
        4,
        &format!("&metadata=%7B%22blob%22%3A%22{blob}%22%7D"),
    )
    .await;
    let source = NacosDiscovery::new(config(&nacos));
    let update = source.fetch(&order()).await.expect("a list");
    let shape = shape(update.state.as_snapshot().expect("a list"));
    assert_eq!(
        shape.into_iter().collect::<Vec<_>>(),
        [(1, 100), (3, 1_000_000), (4, 100)]
    );
    assert_eq!(update.rejected.len(), 3, "{:?}", update.rejected);
}

#[tokio::test]
async fn watching_and_ending_to_watch_adds_no_connection_and_leaves_no_task() {
    let nacos = server().await;
    put(&nacos, 1, "").await;
    let source = NacosDiscovery::new(config(&nacos));
    source.fetch(&order()).await.expect("a list");
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = (connections(nacos.grpc_address().port()), tasks());
    assert_eq!(before.0, 1);
    for _ in 0..10 {
        let (mut one, mut other) = (Seen::watch(&source), Seen::watch(&source));
        one.until_shape(SOON, [(1, 100)]).await;
        other.until_shape(SOON, [(1, 100)]).await;
        drop((one, other));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!((connections(nacos.grpc_address().port()), tasks()), before);
    }
}

/// Established connections of this process's network to a port.
fn connections(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("linux");
    let remote = format!(":{port:04X}");
    let rows = table.lines().filter_map(|row| {
        let mut columns = row.split_whitespace().skip(2);
        Some((columns.next()?, columns.next()?))
    });
    rows.filter(|(to, state)| to.ends_with(&remote) && *state == "01")
        .count()
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_and_then_a_list() {
    use ringfence_testkit::registry::RegistryServer as _;
    let mut nacos = server().await;
    put(&nacos, 1, "").await;
    nacos.kill().expect("killed");
    let source = NacosDiscovery::new(config(&nacos));
    let mut seen = Seen::watch(&source);
    seen.until(SOON, |item| {
        item.as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::Unavailable)
    })
    .await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    nacos.restart().await.expect("restarted");
    let took = seen.until(SOON, Result::is_ok).await;
    eprintln!("a list {took:?} after the server came");
}
