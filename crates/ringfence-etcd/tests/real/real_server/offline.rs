//! Programs that start while the cluster is away (B38).

use ringfence_discovery::DiskSnapshots;
use ringfence_testkit::registry::{Etcd, RegistryServer as _};

use super::*;

fn started(etcd: &Etcd, copies: &tempfile::TempDir) -> Follower {
    let config = WatchConfig::default().with_disk_snapshots(DiskSnapshots::new(copies.path()));
    let source = discovery(EtcdConfig::new([etcd.url()]));
    Follower {
        supervisor: Supervisor::new(source, order(), config),
        last: None,
    }
}

#[tokio::test]
async fn a_copy_bridges_the_start_and_the_server_wins_when_it_comes_back() {
    let copies = tempfile::TempDir::new().expect("a folder");
    let mut etcd = Etcd::start().await.expect("etcd");
    for id in ["a", "b"] {
        etcd.put(key(id), value(1)).await.expect("put");
    }
    let mut first = started(&etcd, &copies);
    first.until(&["a", "b"]).await;
    while first.supervisor.status().counters.disk_writes == 0 {
        first.stays(Duration::from_millis(10)).await;
    }
    drop(first);

    etcd.kill().expect("killed");
    let mut second = started(&etcd, &copies);
    let took = second.until(&["a", "b"]).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    let status = second.supervisor.status();
    assert!(status.is_stale(), "{status:?}");
    let provenance = status.provenance.as_ref().expect("in use");
    assert!(provenance.disk_age().is_some(), "{provenance}");
    second.stays(Duration::from_secs(2)).await;

    etcd.restart().await.expect("back");
    etcd.delete(key("a")).await.expect("deleted");
    let took = second.until(&["b"]).await;
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert!(!second.supervisor.status().is_stale());
}
