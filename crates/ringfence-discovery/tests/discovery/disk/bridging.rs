//! When a copy is used, and what ends its use.

use std::fs;

use ringfence_discovery::{DiskSnapshots, Event, WatchConfig};
use tokio::time::Instant;

use super::{away, copies, counters, files, folder, kept, leave_copy, mute, says, the_file};
use crate::script::{
    Fetch, Script, Step, changes, during, gone, list, millis, next_change, secs, show,
};

#[tokio::test(start_paused = true)]
async fn offline_the_copy_is_used_at_once_and_the_registry_wins_when_it_returns() {
    let dir = folder();
    leave_copy(&dir, "a").await;
    let script = away();
    let mut supervisor = script.supervise(copies(&dir));
    let start = Instant::now();
    // The error is told before the copy, unless that was read faster.
    let accepted = loop {
        match supervisor.next().await {
            Event::Snapshot(accepted) => break accepted,
            event => assert_eq!(show(&event), "status"),
        }
    };
    assert_eq!(Instant::now(), start, "the error ends the wait");
    assert_eq!(accepted.snapshot.len(), 1);
    assert!(accepted.provenance.disk_age().expect("a copy") < secs(60));
    assert_eq!(accepted.provenance.origin(), "script");
    let status = supervisor.status().clone();
    assert_eq!(status.provenance.as_ref(), Some(&accepted.provenance));
    assert!(status.is_stale() && status.last_contact.is_none());

    changes(&mut supervisor, secs(100)).await;
    assert!(script.opened() > 3, "the watch is tried all the time");
    script.fetch(Fetch::Give(Ok(list("b"))));
    assert_eq!(next_change(&mut supervisor).await, "b");
    let status = supervisor.status();
    assert!(status.provenance.as_ref().expect("live").is_live());
    assert!(!status.is_stale());
    changes(&mut supervisor, millis(1)).await;
    assert_eq!(kept(&dir).await.as_deref(), Some("b"));
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_says_nothing_is_waited_for() {
    let dir = folder();
    leave_copy(&dir, "a").await;
    for wait in [secs(0), secs(1), secs(3)] {
        let snapshots = DiskSnapshots::new(dir.path().join("copies"));
        let snapshots = snapshots.with_use_after(wait).expect("legal");
        let script = mute();
        let config = WatchConfig::default().with_disk_snapshots(snapshots);
        let mut supervisor = script.supervise(config);
        let start = Instant::now();
        assert_eq!(next_change(&mut supervisor).await, "a");
        assert_eq!(start.elapsed(), wait);
        assert_eq!(script.opened(), 1, "the watch was opened first");
    }
}

/// The live subscription was skipped when there was a copy (B38).
#[tokio::test(start_paused = true)]
async fn a_registry_that_answers_in_time_is_believed_alone() {
    let dir = folder();
    leave_copy(&dir, "a").await;
    let script = Script::new([vec![Step::Wait(millis(900)), Step::Yield(Ok(list("b")))]]);
    let mut supervisor = script.supervise(copies(&dir));
    assert_eq!(changes(&mut supervisor, secs(100)).await, ["b"]);
}

#[tokio::test(start_paused = true)]
async fn a_live_list_like_the_copy_is_no_change_but_ends_the_staleness() {
    let dir = folder();
    leave_copy(&dir, "ab").await;
    let script = mute();
    let mut supervisor = script.supervise(copies(&dir));
    assert_eq!(next_change(&mut supervisor).await, "ab");
    assert!(supervisor.status().is_stale());
    during(&mut supervisor, millis(1)).await;
    script.push(Ok(list("ab")));
    let events = during(&mut supervisor, secs(1)).await;
    assert_eq!(events.iter().map(show).collect::<Vec<_>>(), ["status"]);
    let status = supervisor.status();
    assert!(!status.is_stale() && status.provenance.as_ref().expect("live").is_live());
    assert_eq!(status.counters.disk_writes, 1, "it is confirmed on disk");
}

/// The guard against mass loss protects what is known of the present, not a copy.
#[tokio::test(start_paused = true)]
async fn one_instance_where_the_copy_has_ten_is_used_at_once() {
    let dir = folder();
    leave_copy(&dir, "abcdefghij").await;
    let script = mute();
    let mut supervisor = script.supervise(copies(&dir));
    assert_eq!(next_change(&mut supervisor).await, "abcdefghij");
    script.push(Ok(list("a")));
    assert_eq!(changes(&mut supervisor, millis(1)).await, ["a"]);
    assert_eq!(counters(&supervisor).held, 0);
    // From here on it is data like any other.
    script.push(Ok(list("abcdefghij")));
    assert_eq!(next_change(&mut supervisor).await, "abcdefghij");
    changes(&mut supervisor, millis(1)).await;
    script.push(Ok(list("abc")));
    assert!(changes(&mut supervisor, millis(1)).await.is_empty());
    assert_eq!(counters(&supervisor).held, 1);
}

/// A registry that lost its data answers properly and has nothing (B10, B38).
#[tokio::test(start_paused = true)]
async fn a_first_live_state_without_instances_is_held_against_the_copy() {
    for (nothing, shown, left) in [(list(""), "", 1), (gone(), "no such service", 0)] {
        let dir = folder();
        leave_copy(&dir, "abc").await;
        let mut supervisor = says(&nothing).supervise(copies(&dir));
        let start = Instant::now();
        assert_eq!(next_change(&mut supervisor).await, "abc");
        assert_eq!(Instant::now(), start);
        changes(&mut supervisor, secs(9)).await;
        assert!(supervisor.status().held.is_some());
        assert!(!supervisor.status().is_stale(), "the registry is heard");
        assert_eq!(counters(&supervisor).disk_writes, 0);
        assert_eq!(next_change(&mut supervisor).await, shown);
        assert_eq!(start.elapsed(), secs(10));
        changes(&mut supervisor, millis(1)).await;
        assert_eq!(counters(&supervisor).disk_writes, 1);
        assert_eq!(files(&dir).len(), left);
        assert_eq!(kept(&dir).await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn instances_that_show_up_during_that_hold_are_used_at_once() {
    let dir = folder();
    leave_copy(&dir, "abc").await;
    let script = says(&list(""));
    let mut supervisor = script.supervise(copies(&dir));
    assert_eq!(next_change(&mut supervisor).await, "abc");
    changes(&mut supervisor, secs(5)).await;
    script.push(Ok(list("x")));
    assert_eq!(changes(&mut supervisor, millis(1)).await, ["x"]);
    assert!(supervisor.status().held.is_none());
    assert_eq!(kept(&dir).await.as_deref(), Some("x"));
}

#[tokio::test(start_paused = true)]
async fn without_a_copy_a_first_live_state_without_instances_is_believed_at_once() {
    for (nothing, shown) in [(list(""), ""), (gone(), "no such service")] {
        let dir = folder();
        let mut supervisor = says(&nothing).supervise(copies(&dir));
        let start = Instant::now();
        assert_eq!(next_change(&mut supervisor).await, shown);
        assert_eq!(Instant::now(), start);
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_live_list_the_disk_is_not_read_again() {
    let dir = folder();
    leave_copy(&dir, "abc").await;
    let old = fs::read(the_file(&dir)).expect("readable");
    let script = Script::new([vec![Step::Yield(Ok(list("x")))]])
        .otherwise(vec![Step::Yield(Err("refused")), Step::End]);
    let mut supervisor = script.supervise(copies(&dir));
    assert_eq!(next_change(&mut supervisor).await, "x");
    changes(&mut supervisor, millis(1)).await;
    fs::write(the_file(&dir), old).expect("written");
    script.fetch(Fetch::Give(Err("refused")));
    script.end();
    assert!(changes(&mut supervisor, secs(3_600)).await.is_empty());
    assert!(supervisor.status().is_stale());
    assert!(
        supervisor
            .status()
            .provenance
            .as_ref()
            .expect("live")
            .is_live()
    );
}

/// The age goes on while the registry is waited for.
#[tokio::test(start_paused = true)]
async fn a_copy_ages_between_reading_and_use() {
    let dir = folder();
    leave_copy(&dir, "a").await;
    let snapshots = DiskSnapshots::new(dir.path().join("copies"));
    let snapshots = snapshots.with_use_after(secs(60)).expect("legal");
    let config = WatchConfig::default().with_disk_snapshots(snapshots);
    let config = config.with_fetch_timeout(secs(90)).expect("legal");
    let mut supervisor = mute().supervise(config);
    assert_eq!(next_change(&mut supervisor).await, "a");
    let provenance = supervisor.status().provenance.clone().expect("a copy");
    assert!(provenance.disk_age().expect("a copy") >= secs(60));
}
