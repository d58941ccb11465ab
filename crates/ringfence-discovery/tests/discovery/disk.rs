//! Copies on disk: bridge a start while the registry is away, and never more than that (B38).

use std::{fs, path::PathBuf};

use ringfence_discovery::{
    DiskSnapshots, Event, Provenance, Supervisor, Update, WatchConfig, WatchCounters,
};
use ringfence_testkit::Warnings;
use tempfile::TempDir;
use tokio::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

use crate::script::{
    Fetch, Script, Step, changes, during, gone, list, millis, next_change, secs, show,
};

fn copies(dir: &TempDir) -> WatchConfig {
    WatchConfig::default().with_disk_snapshots(DiskSnapshots::new(dir.path().join("copies")))
}

fn folder() -> TempDir {
    TempDir::new().expect("a folder")
}

/// A registry that refuses everything.
fn away() -> Script {
    Script::default().otherwise(vec![Step::Yield(Err("refused")), Step::End])
}

/// A registry that takes connections and says nothing.
fn mute() -> Script {
    let script = Script::default();
    script.fetch(Fetch::Hang);
    script
}

/// A registry that has this to say, by watch and read.
fn says(update: &Update) -> Script {
    let script = Script::default().otherwise(vec![Step::Yield(Ok(update.clone()))]);
    script.fetch(Fetch::Give(Ok(update.clone())));
    script
}

/// Lets a program run with a registry that says this, so that its copy is on disk.
async fn leave_copy(dir: &TempDir, ids: &str) {
    let mut supervisor = says(&list(ids)).supervise(copies(dir));
    assert_eq!(next_change(&mut supervisor).await, ids);
    changes(&mut supervisor, millis(1)).await;
    assert_eq!(counters(&supervisor).disk_writes, 1);
}

/// What a program would start with if the registry was away.
async fn kept(dir: &TempDir) -> Option<String> {
    let mut supervisor = away().supervise(copies(dir));
    let mut shown = changes(&mut supervisor, secs(1)).await;
    assert_eq!(counters(&supervisor).disk_rejected, 0);
    shown.pop()
}

fn counters(supervisor: &Supervisor) -> WatchCounters {
    supervisor.status().counters
}

fn files(dir: &TempDir) -> Vec<PathBuf> {
    let folders = fs::read_dir(dir.path().join("copies")).expect("a folder");
    let files = folders.flat_map(|folder| fs::read_dir(folder.expect("readable").path()));
    files
        .flat_map(|files| files.map(|file| file.expect("readable").path()))
        .collect()
}

fn the_file(dir: &TempDir) -> PathBuf {
    let mut files = files(dir);
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

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

/// A half-written file stopped the start (B38).
#[tokio::test(start_paused = true)]
async fn a_bad_copy_is_counted_told_once_and_replaced() {
    let dir = folder();
    leave_copy(&dir, "abc").await;
    let whole = fs::read(the_file(&dir)).expect("readable");
    let newer = String::from_utf8(whole.clone()).expect("text");
    let newer = newer.replacen("snapshot 1", "snapshot 9", 1).into_bytes();
    let mut altered = whole.clone();
    *altered.last_mut().expect("some") ^= 1;
    for (bad, reason) in [
        (&whole[..whole.len() / 2], "bytes instead of"),
        (b"", "does not begin like a snapshot"),
        (&newer, "version `9`"),
        (&altered, "digest"),
    ] {
        fs::write(the_file(&dir), bad).expect("written");
        let warnings = Warnings::capture();
        let script = mute();
        let mut supervisor = script.supervise(copies(&dir));
        assert!(changes(&mut supervisor, secs(10)).await.is_empty());
        assert_eq!(counters(&supervisor).disk_rejected, 1);
        let told = warnings.take();
        let told: Vec<_> = told.iter().filter(|line| line.contains(reason)).collect();
        assert_eq!(told.len(), 1, "{reason}: {told:?}");
        script.push(Ok(list("x")));
        assert_eq!(changes(&mut supervisor, millis(1)).await, ["x"]);
        assert_eq!(kept(&dir).await.as_deref(), Some("x"));
    }
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

#[tokio::test(start_paused = true)]
async fn the_age_is_shown_and_limited() {
    let dir = folder();
    leave_copy(&dir, "a").await;
    let text = fs::read_to_string(the_file(&dir)).expect("readable");
    let (_, body) = text.split_once('\n').expect("two parts");
    let (_, from_date) = body.split_once("\"written_at\":").expect("a date");
    let (date, _) = from_date.split_once(',').expect("more");
    let two_hours_ago = date.parse::<u64>().expect("a number") - 2 * 3_600_000;
    let body = body.replacen(date, &two_hours_ago.to_string(), 1);
    let (digest, length) = (xxh3_64(body.as_bytes()), body.len());
    let aged = format!("ringfence-snapshot 1 {digest:016x} {length}\n{body}");
    fs::write(the_file(&dir), aged).expect("written");
    for (limit, shown) in [(3, Some("a")), (1, None)] {
        let snapshots = DiskSnapshots::new(dir.path().join("copies"));
        let snapshots = snapshots.with_max_age(secs(limit * 3_600)).expect("legal");
        let config = WatchConfig::default().with_disk_snapshots(snapshots);
        let mut supervisor = away().supervise(config);
        assert_eq!(
            changes(&mut supervisor, secs(10)).await.pop().as_deref(),
            shown
        );
        let status = supervisor.status();
        let age = status.provenance.as_ref().and_then(Provenance::disk_age);
        assert_eq!(age.is_some_and(|age| age >= secs(7_200)), shown.is_some());
        assert_eq!(status.counters.disk_rejected, u64::from(shown.is_none()));
    }
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
