//! Three nodes.

use ringfence_discovery::{Discovery as _, ErrorKind};
use ringfence_testkit::registry::{EtcdCluster, RegistryServer as _};

use super::*;

fn config(cluster: &EtcdCluster) -> EtcdConfig {
    EtcdConfig::new(cluster.urls()).with_silence_timeout(Duration::from_secs(2))
}

/// Puts through whichever node answers.
async fn put(cluster: &EtcdCluster, id: &str) {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        for node in cluster.nodes() {
            let put = timeout(Duration::from_secs(2), node.put(key(id), value(1)));
            if put.await.is_ok_and(|outcome| outcome.is_ok()) {
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no node takes `{id}`");
}

#[tokio::test]
async fn no_update_is_lost_when_the_leader_is_killed() {
    let mut cluster = EtcdCluster::start().await.expect("etcd");
    put(&cluster, "a").await;
    // Whichever node each of them sits on.
    let mut followers: Vec<Follower> = (0..6)
        .map(|_| Follower::new(discovery(config(&cluster))))
        .collect();
    for follower in &mut followers {
        follower.until(&["a"]).await;
    }
    let leader = cluster.leader().await.expect("a leader");
    cluster.nodes_mut()[leader].kill().expect("killed");
    put(&cluster, "b").await;
    for follower in &mut followers {
        let took = follower.until(&["a", "b"]).await;
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
    // With one of three servers dead, no read fails.
    let source = discovery(config(&cluster));
    for _ in 0..50 {
        source.fetch(&order()).await.expect("another node answers");
    }
    cluster.nodes_mut()[leader].restart().await.expect("back");
    put(&cluster, "c").await;
    for follower in &mut followers {
        follower.until(&["a", "b", "c"]).await;
    }
}

#[tokio::test]
async fn a_silent_node_is_left_for_another() {
    let cluster = EtcdCluster::start().await.expect("etcd");
    put(&cluster, "a").await;
    let mut followers: Vec<Follower> = (0..6)
        .map(|_| Follower::new(discovery(config(&cluster))))
        .collect();
    for follower in &mut followers {
        follower.until(&["a"]).await;
    }
    // A node that follows, so that the cluster goes on at once.
    let leader = cluster.leader().await.expect("a leader");
    let silent = &cluster.nodes()[(leader + 1) % 3];
    silent.pause().expect("frozen");
    cluster.nodes()[leader]
        .put(key("b"), value(2))
        .await
        .expect("put");
    for follower in &mut followers {
        let took = follower.until(&["a", "b"]).await;
        assert!(took < Duration::from_secs(15), "{took:?}");
    }
    silent.resume().expect("thawed");
}

#[tokio::test]
async fn a_cluster_without_a_majority_is_an_error_and_no_silence() {
    let mut cluster = EtcdCluster::start().await.expect("etcd");
    put(&cluster, "a").await;
    let source = discovery(config(&cluster));
    let mut follower = Follower::new(Arc::clone(&source));
    follower.until(&["a"]).await;
    let leader = cluster.leader().await.expect("a leader");
    for offset in [0, 1] {
        cluster.nodes_mut()[(leader + offset) % 3]
            .kill()
            .expect("killed");
    }
    follower.stays(Duration::from_secs(10)).await;
    assert!(
        follower.supervisor.status().counters.watch_errors > 0,
        "it was noticed"
    );
    let error = source.fetch(&order()).await.expect_err("no majority");
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    for offset in [0, 1] {
        cluster.nodes_mut()[(leader + offset) % 3]
            .restart()
            .await
            .expect("back");
    }
    put(&cluster, "b").await;
    follower.until(&["a", "b"]).await;
}
