//! The document in a file: not there yet, replaced, gone, too large.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use ringfence_discovery::{DocumentWatch, ErrorKind, FileDocument, WatchConfig};
use tempfile::TempDir;

use crate::documents::{silent, text};

struct File {
    dir: TempDir,
    watch: DocumentWatch,
}

impl File {
    fn new(make: impl FnOnce(PathBuf) -> FileDocument) -> Self {
        let dir = TempDir::new().expect("a folder");
        let source = make(dir.path().join("policy.yaml"));
        let watch = DocumentWatch::new(Arc::new(source), &WatchConfig::default());
        Self { dir, watch }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("policy.yaml")
    }

    async fn next(&mut self) -> Option<String> {
        text(self.watch.next().await)
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_that_comes_changes_and_goes_is_followed() {
    let mut file = File::new(FileDocument::new);
    assert_eq!(file.next().await, None, "not there yet");
    fs::write(file.path(), "a").expect("writable");
    assert_eq!(file.next().await.as_deref(), Some("a"));
    fs::write(file.path(), "").expect("writable");
    assert_eq!(
        file.next().await.as_deref(),
        Some(""),
        "empty is no absence"
    );
    let next = file.dir.path().join("next");
    fs::write(&next, b"\xff").expect("writable");
    fs::rename(next, file.path()).expect("the same disk");
    let said = file.watch.next().await.expect("a document");
    assert_eq!(said.content.as_deref(), Some(&b"\xff"[..]), "as it is");
    fs::remove_file(file.path()).expect("there");
    assert_eq!(file.next().await, None);
    fs::create_dir(file.path()).expect("a free name");
    let error = file.watch.next().await.expect_err("no file");
    assert!(error.message().contains("not a regular file"), "{error}");
    silent(&mut file.watch, Duration::from_secs(60)).await;
    fs::remove_dir(file.path()).expect("there");
    assert_eq!(file.next().await, None, "it is read again");
}

/// Some editors take the old file away before they put the new one in its place.
#[tokio::test(start_paused = true)]
async fn a_file_that_is_away_for_a_moment_is_not_absent() {
    let interval = Duration::from_secs(10);
    let mut file = File::new(|path| {
        let source = FileDocument::new(path).with_poll_interval(interval);
        source.expect("legal")
    });
    fs::write(file.path(), "a").expect("writable");
    assert_eq!(file.next().await.as_deref(), Some("a"));
    fs::remove_file(file.path()).expect("there");
    silent(&mut file.watch, interval + interval / 2).await;
    fs::write(file.path(), "b").expect("writable");
    assert_eq!(file.next().await.as_deref(), Some("b"));
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_too_large_is_an_error_and_never_a_part_of_it() {
    let mut file = File::new(|path| FileDocument::new(path).with_max_bytes(4));
    fs::write(file.path(), "12345").expect("writable");
    let error = file.watch.next().await.expect_err("5 bytes");
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(error.message().ends_with("larger than 4 bytes"), "{error}");
    fs::write(file.path(), "1234").expect("writable");
    assert_eq!(file.next().await.as_deref(), Some("1234"));
}
