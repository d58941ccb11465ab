//! A start while the registry is away (B38).

use std::time::Duration;

use ringfence_balancer::{Balancer, BalancerConfig, PickError, PickRequest};
use ringfence_discovery::{DiskSnapshots, ErrorKind, WatchConfig};
use ringfence_testkit::ScriptedDiscovery;
use tempfile::TempDir;

use crate::support::*;

fn build(source: &ScriptedDiscovery, dir: &TempDir) -> Balancer {
    let watch = WatchConfig::default().with_disk_snapshots(DiskSnapshots::new(dir.path()));
    Balancer::builder(source.clone(), service())
        .with_config(BalancerConfig::default().with_watch(watch))
        .build()
        .expect("in a runtime")
}

/// A program that ran with these instances and ended.
async fn earlier(dir: &TempDir, ids: impl IntoIterator<Item = usize>) -> Vec<String> {
    let source = ScriptedDiscovery::new();
    source.push_instances(ids.into_iter().map(instance));
    let balancer = build(&source, dir);
    balancer.ready().await.expect("the registry answers");
    // The status is renewed with each turn of the task.
    tokio::time::sleep(Duration::from_secs(30)).await;
    let status = balancer.status();
    assert_eq!(status.watch.counters.disk_writes, 1);
    assert!(status.watch.provenance.expect("live").is_live());
    let owners = owners(&balancer, if status.instances == 0 { 0 } else { 100 });
    balancer.shutdown().await;
    owners
}

#[tokio::test(start_paused = true)]
async fn requests_are_served_from_the_copy_until_the_registry_returns_and_wins() {
    let dir = TempDir::new().expect("a folder");
    let before = earlier(&dir, 1..=3).await;
    let source = ScriptedDiscovery::new();
    source.go_down(ErrorKind::Unavailable);
    let balancer = build(&source, &dir);
    let start = tokio::time::Instant::now();
    balancer.ready().await.expect("from the copy");
    assert!(start.elapsed() < Duration::from_secs(1));
    assert_eq!(owners(&balancer, 100), before, "keys stay where they were");
    settle().await;
    let status = balancer.status();
    assert!(status.stale_for.is_some(), "{status:?}");
    let provenance = status.watch.provenance.expect("a copy");
    assert!(provenance.disk_age().is_some(), "{provenance}");

    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(balancer.status().instances, 3, "it lasts");
    source.push_instances([instance(4)]);
    source.go_up();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(owners(&balancer, 100).iter().all(|id| id == "i4"));
    let status = balancer.status();
    assert_eq!((status.instances, status.stale_for), (1, None));
    assert!(status.watch.provenance.expect("live").is_live());
}

#[tokio::test(start_paused = true)]
async fn without_a_copy_nobody_is_made_up() {
    let dir = TempDir::new().expect("a folder");
    let source = ScriptedDiscovery::new();
    source.go_down(ErrorKind::Unavailable);
    let balancer = build(&source, &dir);
    balancer.ready().await.expect_err("nobody is known");
    // Neither does a copy of a service that had no instances answer in the registry's place.
    earlier(&dir, []).await;
    let balancer = build(&source, &dir);
    balancer.ready().await.expect_err("nobody is known");
    let picked = balancer.pick(&PickRequest::new()).map(|_| ());
    let error = picked.expect_err("not ready");
    assert!(matches!(error, PickError::NotReady { .. }), "{error}");
}
