//! What requests get before the first view.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use ringfence_balancer::{
    Balancer, BalancerBuilder, BalancerConfig, BuildError, PickError, PickRequest, StartError,
    StartPolicy,
};
use ringfence_discovery::{DiskSnapshots, ErrorKind, WatchConfig};
use ringfence_testkit::ScriptedDiscovery;
use tempfile::TempDir;
use tokio::time::Instant;

use crate::support::*;

fn builder(source: &ScriptedDiscovery, policy: StartPolicy) -> BalancerBuilder {
    let config = BalancerConfig::default().with_start_policy(policy);
    Balancer::builder(source.clone(), service()).with_config(config)
}

fn is_not_ready<T>(result: &Result<T, PickError>) -> bool {
    matches!(result, Err(PickError::NotReady { .. }))
}

#[tokio::test(start_paused = true)]
async fn the_first_callers_wait_by_default() {
    let source = ScriptedDiscovery::new();
    let balancer = builder(&source, StartPolicy::default())
        .build()
        .expect("built");
    let start = Instant::now();
    assert!(is_not_ready(&balancer.ready().await));
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    let late = tokio::spawn({
        let balancer = balancer.clone();
        async move { balancer.ready().await }
    });
    tokio::time::sleep(Duration::from_secs(3)).await;
    source.push_instances([instance(1)]);
    late.await
        .expect("no panic")
        .expect("ready within its time");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_of_the_registry_before_a_request_wants_it() {
    for by_pick in [false, true] {
        let source = ScriptedDiscovery::new();
        source.push_instances([instance(1)]);
        let balancer = builder(&source, StartPolicy::Lazy).build().expect("built");
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        let _ = balancer.status();
        assert_eq!((source.watches(), source.fetches()), (0, 0));
        if by_pick {
            assert!(is_not_ready(&balancer.pick(&PickRequest::new())));
            settle().await;
        } else {
            balancer.ready().await.expect("ready");
        }
        assert_eq!(owner(&balancer, "k"), "i1");
        assert!(source.watches() == 1);
    }
    // One that was never used ends like any other.
    let source = ScriptedDiscovery::new();
    let balancer = builder(&source, StartPolicy::Lazy).build().expect("built");
    balancer.shutdown().await;
    assert!(matches!(
        balancer.ready().await,
        Err(PickError::ShutDown { .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn early_callers_fail_at_once_where_that_is_wanted() {
    let source = ScriptedDiscovery::new();
    let balancer = builder(&source, StartPolicy::Fail).build().expect("built");
    let start = Instant::now();
    assert!(is_not_ready(&balancer.ready().await));
    assert_eq!(start.elapsed(), Duration::ZERO);
    source.push_instances([instance(1)]);
    settle().await;
    balancer.ready().await.expect("the registry has answered");
}

#[tokio::test(start_paused = true)]
async fn a_program_can_refuse_to_start_without_the_registry() {
    for policy in [StartPolicy::Fail, StartPolicy::Wait, StartPolicy::Lazy] {
        let source = ScriptedDiscovery::new();
        source.go_down(ErrorKind::Unavailable);
        let start = Instant::now();
        let error = builder(&source, policy)
            .build_ready()
            .await
            .expect_err("no registry");
        assert_eq!(start.elapsed(), Duration::from_secs(5), "{policy:?}");
        let StartError::NotReady(PickError::NotReady { last_error, .. }) = error else {
            panic!("{policy:?}: {error}");
        };
        assert!(last_error.is_some(), "it says why");
        let asked = source.watches();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(source.watches(), asked, "the balancer is gone");

        let source = ScriptedDiscovery::new();
        source.push_instances([instance(1)]);
        let balancer = builder(&source, policy)
            .build_ready()
            .await
            .expect("it answers");
        assert_eq!(owner(&balancer, "k"), "i1");
    }
    let source = ScriptedDiscovery::new();
    source.push_no_such_service();
    let error = builder(&source, StartPolicy::Wait)
        .build_ready()
        .await
        .expect_err("unknown");
    assert!(
        matches!(error, StartError::NotReady(PickError::NoSuchService { .. })),
        "{error}"
    );
}

fn with_copies(source: &ScriptedDiscovery, dir: &TempDir, policy: StartPolicy) -> BalancerBuilder {
    // Longer than callers wait.
    let copies = DiskSnapshots::new(dir.path()).with_use_after(Duration::from_secs(30));
    let watch = WatchConfig::default().with_disk_snapshots(copies.expect("legal"));
    let config = BalancerConfig::default()
        .with_watch(watch)
        .with_start_policy(policy);
    Balancer::builder(source.clone(), service()).with_config(config)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// The copy on disk is used before the registry was heard, and goes with its first list (B38).
#[tokio::test(start_paused = true)]
async fn the_copy_on_disk_serves_without_waiting_for_the_registry() {
    let dir = TempDir::new().expect("a folder");
    let source = ScriptedDiscovery::new();
    source.push_instances([instance(1)]);
    let earlier = with_copies(&source, &dir, StartPolicy::Wait)
        .build()
        .expect("built");
    earlier.ready().await.expect("ready");
    tokio::time::sleep(Duration::from_secs(30)).await;
    earlier.shutdown().await;

    // A registry that says nothing at all, not even that it is down.
    let silent = || {
        let source = ScriptedDiscovery::new();
        for _ in 0..8 {
            source.then_hang_fetch();
        }
        source
    };
    let source = silent();
    let waits = with_copies(&source, &dir, StartPolicy::Wait)
        .build()
        .expect("built");
    assert!(is_not_ready(&waits.ready().await));
    drop(waits);
    let start = Instant::now();
    let balancer = with_copies(&source, &dir, StartPolicy::UseDiskSnapshot)
        .build()
        .expect("built");
    balancer.ready().await.expect("from the copy");
    assert!(
        start.elapsed() < Duration::from_millis(500),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(owner(&balancer, "k"), "i1");
    settle().await;
    assert!(balancer.status().stale_for.is_some());
    source.push_instances([instance(2)]);
    settle().await;
    merged().await;
    assert_eq!(owner(&balancer, "k"), "i2", "the live list wins");

    // With a damaged copy it is like waiting.
    balancer.shutdown().await;
    let copies = files(dir.path());
    assert_eq!(copies.len(), 1);
    for path in copies {
        let mut bytes = std::fs::read(&path).expect("the copy");
        bytes.truncate(bytes.len() / 2);
        std::fs::write(&path, bytes).expect("written");
    }
    let source = silent();
    let balancer = with_copies(&source, &dir, StartPolicy::UseDiskSnapshot)
        .build()
        .expect("built");
    let start = Instant::now();
    assert!(is_not_ready(&balancer.ready().await));
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    // The status is renewed with each turn of the task.
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(balancer.status().watch.counters.disk_rejected, 1);
}

#[tokio::test(start_paused = true)]
async fn a_copy_cannot_be_used_where_none_is_kept() {
    let source = ScriptedDiscovery::new();
    let built = builder(&source, StartPolicy::UseDiskSnapshot)
        .build()
        .map(|_| ());
    let Err(BuildError::NoCopies(error)) = built else {
        panic!("{built:?}")
    };
    assert_eq!(error.field(), "disk_snapshots");
}
