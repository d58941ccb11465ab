//! Copies on disk: bridge a start while the registry is away, and never more than that (B38).

mod bridging;
mod misfits;
mod writing;

use std::{fs, path::PathBuf};

use ringfence_discovery::{DiskSnapshots, Supervisor, Update, WatchConfig, WatchCounters};
use tempfile::TempDir;

use crate::script::{Fetch, Script, Step, changes, list, millis, next_change, secs};

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
