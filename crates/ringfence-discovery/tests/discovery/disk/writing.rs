//! What is written, and when.

use std::fs;

use ringfence_discovery::{DiskSnapshots, Provenance, WatchConfig};
use ringfence_testkit::Warnings;

use super::{away, copies, counters, folder, kept, says};
use crate::script::{Fetch, changes, list, millis, next_change, secs};

/// An empty push under protection reaches neither callers nor the disk (B10, B38).
#[tokio::test(start_paused = true)]
async fn a_state_that_is_held_is_not_written() {
    let dir = folder();
    let script = says(&list("abc"));
    let mut supervisor = script.supervise(copies(&dir).without_resync());
    assert_eq!(next_change(&mut supervisor).await, "abc");
    script.fetch(Fetch::Give(Ok(list(""))));
    script.push(Ok(list("")));
    assert!(changes(&mut supervisor, secs(8)).await.is_empty());
    assert!(supervisor.status().held.is_some());
    assert_eq!(kept(&dir).await.as_deref(), Some("abc"));
    script.push(Ok(list("abc")));
    assert!(changes(&mut supervisor, secs(8)).await.is_empty());
    assert_eq!(counters(&supervisor).disk_writes, 1);
    script.fetch(Fetch::Give(Ok(list("ab"))));
    script.push(Ok(list("ab")));
    assert_eq!(next_change(&mut supervisor).await, "ab");
    changes(&mut supervisor, millis(1)).await;
    assert_eq!(kept(&dir).await.as_deref(), Some("ab"));
}

/// A client library that answers from a cache of its own confirms nothing.
#[tokio::test(start_paused = true)]
async fn what_a_source_did_not_read_live_is_not_written() {
    let dir = folder();
    let mut cached = list("a");
    cached.provenance = Provenance::disk("script", secs(7_200));
    let script = says(&cached);
    let mut supervisor = script.supervise(copies(&dir));
    assert_eq!(next_change(&mut supervisor).await, "a");
    changes(&mut supervisor, secs(60)).await;
    assert_eq!(counters(&supervisor).disk_writes, 0);
    script.push(Ok(list("a")));
    changes(&mut supervisor, millis(1)).await;
    assert_eq!(counters(&supervisor).disk_writes, 1);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_flaps_is_written_once_per_second_and_in_the_end() {
    let dir = folder();
    let script = says(&list("a"));
    let mut supervisor = script.supervise(copies(&dir));
    assert_eq!(next_change(&mut supervisor).await, "a");
    for n in 0..1_000 {
        script.push(Ok(list(if n % 2 == 0 { "ab" } else { "abc" })));
        changes(&mut supervisor, millis(10)).await;
    }
    script.push(Ok(list("abcd")));
    changes(&mut supervisor, secs(2)).await;
    let written = counters(&supervisor).disk_writes;
    assert!(
        (10..=12).contains(&written),
        "{written} writes in 11 seconds"
    );
    assert_eq!(kept(&dir).await.as_deref(), Some("abcd"));
}

/// Two registries with one service name overwrote each other's file (B38).
#[tokio::test(start_paused = true)]
async fn each_registry_has_its_own_copy() {
    let dir = folder();
    for (registry, ids) in [("one", "a"), ("two", "b")] {
        let mut supervisor = says(&list(ids))
            .in_registry(registry)
            .supervise(copies(&dir));
        assert_eq!(next_change(&mut supervisor).await, ids);
        changes(&mut supervisor, millis(1)).await;
    }
    for (registry, ids) in [("one", "a"), ("two", "b")] {
        let mut supervisor = away().in_registry(registry).supervise(copies(&dir));
        assert_eq!(next_change(&mut supervisor).await, ids);
    }
    assert_eq!(kept(&dir).await, None, "a third one has none");
}

/// The folder cannot be made, as on a read-only disk (B38).
#[tokio::test(start_paused = true)]
async fn where_nothing_can_be_written_discovery_goes_on() {
    let dir = folder();
    fs::write(dir.path().join("copies"), "a file").expect("written");
    let warnings = Warnings::capture();
    let script = says(&list("a"));
    let mut supervisor = script.supervise(copies(&dir));
    assert_eq!(next_change(&mut supervisor).await, "a");
    for ids in ["ab", "abc", "abcd"] {
        script.push(Ok(list(ids)));
        assert_eq!(changes(&mut supervisor, secs(2)).await, [ids]);
    }
    let seen = counters(&supervisor);
    assert_eq!((seen.disk_writes, seen.disk_write_errors), (0, 4));
    let told = warnings.take();
    let told: Vec<_> = told
        .iter()
        .filter(|line| line.contains("not written"))
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
    // Once it can be written it is, at the latest a minute after the registry was heard.
    script.fetch(Fetch::Give(Ok(list("abcd"))));
    fs::remove_file(dir.path().join("copies")).expect("removed");
    changes(&mut supervisor, secs(90)).await;
    assert_eq!(counters(&supervisor).disk_writes, 1);
    assert_eq!(kept(&dir).await.as_deref(), Some("abcd"));
}

#[tokio::test(start_paused = true)]
async fn a_state_that_stays_is_written_anew_after_an_eighth_of_its_age() {
    let dir = folder();
    let snapshots = DiskSnapshots::new(dir.path().join("copies"));
    let snapshots = snapshots.with_max_age(secs(80 * 60)).expect("legal");
    let config = WatchConfig::default().with_disk_snapshots(snapshots);
    let script = says(&list("ab"));
    let mut supervisor = script.supervise(config);
    assert_eq!(next_change(&mut supervisor).await, "ab");
    for tenth in 1..=6 {
        changes(&mut supervisor, secs(10 * 60 + 30)).await;
        assert_eq!(counters(&supervisor).disk_writes, 1 + tenth);
    }
    // Out of contact nothing is confirmed.
    script.fetch(Fetch::Hang);
    changes(&mut supervisor, secs(3_600)).await;
    assert_eq!(counters(&supervisor).disk_writes, 7);
}

/// A source that panics when asked for its name has no copy, and is watched all the same.
#[tokio::test(start_paused = true)]
async fn a_source_without_a_registry_name_is_watched_all_the_same() {
    let dir = folder();
    let script = says(&list("a")).in_registry("panic");
    let mut supervisor = script.supervise(copies(&dir));
    assert_eq!(next_change(&mut supervisor).await, "a");
    changes(&mut supervisor, secs(10)).await;
    assert_eq!(counters(&supervisor).disk_writes, 0);
}

#[tokio::test(start_paused = true)]
async fn switched_off_nothing_is_written() {
    let dir = folder();
    assert_eq!(WatchConfig::default().disk_snapshots(), None);
    let mut supervisor = says(&list("a")).supervise(WatchConfig::default());
    assert_eq!(next_change(&mut supervisor).await, "a");
    changes(&mut supervisor, secs(10)).await;
    assert_eq!(counters(&supervisor).disk_writes, 0);
    assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 0);
}
