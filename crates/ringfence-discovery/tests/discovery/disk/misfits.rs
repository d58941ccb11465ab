//! Files that are not used.

use std::fs;

use ringfence_discovery::{DiskSnapshots, Provenance, WatchConfig};
use ringfence_testkit::Warnings;
use xxhash_rust::xxh3::xxh3_64;

use super::{away, copies, counters, folder, kept, leave_copy, mute, the_file};
use crate::script::{changes, list, millis, secs};

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
