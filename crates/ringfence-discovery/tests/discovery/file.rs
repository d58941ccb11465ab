//! The file source: replaced, written in place, torn, broken, missing.

use std::{
    fs::{self, File},
    io::Write as _,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::SystemTime,
};

use ringfence_discovery::{
    Discovery, ErrorKind, Event, FileDiscovery, ServiceKey, ServiceState, Supervisor, WatchConfig,
};
use tokio::time::Instant;

use crate::script::{changes, during, millis, next_change, secs, show};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ringfence-file-{}-{n}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("instances.yaml")
    }

    fn write(&self, text: &str) {
        fs::write(self.file(), text).unwrap();
    }

    /// Puts a finished file in the place of the old one.
    fn replace(&self, text: &str) {
        let next = self.0.join("next");
        fs::write(&next, text).unwrap();
        fs::rename(next, self.file()).unwrap();
    }

    fn source(&self) -> FileDiscovery {
        FileDiscovery::new(self.file())
    }

    fn supervise(&self) -> Supervisor {
        Supervisor::new(
            Arc::new(self.source()),
            ServiceKey::new("order"),
            WatchConfig::default().without_hold().with_seed(7),
        )
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn yaml(ids: &str) -> String {
    let mut text = "services:\n  order:\n".to_owned();
    for id in ids.chars() {
        text.push_str(&format!("    - id: {id}\n      address: 10.0.0.1:80\n"));
    }
    text
}

async fn started(folder: &Folder, ids: &str) -> Supervisor {
    let mut supervisor = folder.supervise();
    assert_eq!(next_change(&mut supervisor).await, ids);
    supervisor
}

fn fault(supervisor: &Supervisor) -> String {
    let error = supervisor.status().watch_error.as_ref();
    error.map(ToString::to_string).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn atomic_replacement_is_seen() {
    let folder = Folder::new();
    folder.write(&yaml("ab"));
    let mut supervisor = started(&folder, "ab").await;
    for ids in ["abc", "c"] {
        folder.replace(&yaml(ids));
        let start = Instant::now();
        assert_eq!(next_change(&mut supervisor).await, ids);
        assert!(start.elapsed() <= secs(1));
    }
}

/// Kubernetes swaps the folder under a symbolic link; the file's own path never changes.
#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn a_swapped_link_is_seen() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    for (version, ids) in [("v1", "a"), ("v2", "b")] {
        fs::create_dir(folder.0.join(version)).unwrap();
        fs::write(folder.0.join(version).join("f"), yaml(ids)).unwrap();
    }
    symlink("v1", folder.0.join("data")).unwrap();
    symlink("data/f", folder.file()).unwrap();
    let mut supervisor = started(&folder, "a").await;
    symlink("v2", folder.0.join("new")).unwrap();
    fs::rename(folder.0.join("new"), folder.0.join("data")).unwrap();
    assert_eq!(next_change(&mut supervisor).await, "b");
}

#[tokio::test(start_paused = true)]
async fn a_write_in_place_is_seen() {
    let folder = Folder::new();
    folder.write(&yaml("ab"));
    let mut supervisor = started(&folder, "ab").await;
    folder.write(&yaml("abcd"));
    assert_eq!(next_change(&mut supervisor).await, "abcd");
}

/// Half of a list is legal YAML too: it must not be taken for the list.
#[tokio::test(start_paused = true)]
async fn a_torn_write_is_not_applied() {
    let folder = Folder::new();
    folder.write(&yaml("abcd"));
    let mut supervisor = started(&folder, "abcd").await;
    let text = yaml("efgh");
    let mut file = File::create(folder.file()).unwrap();
    for chunk in text.as_bytes().chunks(20) {
        file.write_all(chunk).unwrap();
        file.flush().unwrap();
        // Each pause is shorter than the interval, so no two reads in a row meet the same half.
        assert!(during(&mut supervisor, millis(450)).await.is_empty());
    }
    assert_eq!(changes(&mut supervisor, secs(2)).await, ["efgh"]);
    assert_eq!(supervisor.status().counters.watch_errors, 0);
}

#[tokio::test(start_paused = true)]
async fn a_torn_write_is_not_taken_for_the_first_content() {
    let folder = Folder::new();
    folder.write("services:\n  order:\n    - {id: a, address: 'h:1'}\n");
    let mut supervisor = folder.supervise();
    assert!(during(&mut supervisor, millis(400)).await.is_empty());
    folder.write(
        "services:\n  order:\n    - {id: a, address: 'h:1'}\n    - {id: b, address: 'h:2'}\n",
    );
    assert_eq!(next_change(&mut supervisor).await, "ab");
}

#[tokio::test(start_paused = true)]
async fn a_file_written_long_ago_is_used_at_once() {
    let folder = Folder::new();
    folder.write(&yaml("ab"));
    let file = File::options().write(true).open(folder.file()).unwrap();
    file.set_modified(SystemTime::now() - secs(60)).unwrap();
    let start = Instant::now();
    let _supervisor = started(&folder, "ab").await;
    assert_eq!(start.elapsed(), millis(0));
}

#[tokio::test(start_paused = true)]
async fn a_broken_file_keeps_the_last_good_one_and_names_the_line_once() {
    let folder = Folder::new();
    folder.write(&yaml("ab"));
    let mut supervisor = started(&folder, "ab").await;
    folder.write(&yaml("abc").replace("address", "adress"));
    let events = during(&mut supervisor, secs(20)).await;
    assert_eq!(events.iter().map(show).collect::<Vec<_>>(), ["status"]);
    let path = folder.file().display().to_string();
    assert_eq!(
        fault(&supervisor),
        format!("file: {path}: line 4, column 7: unknown field `adress`, did you mean `address`?")
    );
    assert_eq!(supervisor.status().counters.watch_errors, 1, "told once");
    // Another fault is told again; the good file clears it.
    folder.write("services: [");
    during(&mut supervisor, secs(2)).await;
    assert!(
        fault(&supervisor).contains("line 1"),
        "{}",
        fault(&supervisor)
    );
    folder.write(&yaml("ab"));
    assert!(changes(&mut supervisor, secs(2)).await.is_empty());
    assert_eq!(fault(&supervisor), "");
}

#[tokio::test(start_paused = true)]
async fn a_bad_record_is_left_out_and_counted_with_its_line() {
    let folder = Folder::new();
    folder.write(&yaml("ab").replace(
        "id: b\n      address: 10.0.0.1:80",
        "id: b\n      address: h",
    ));
    let supervisor = started(&folder, "a").await;
    let status = supervisor.status();
    assert_eq!(status.counters.rejected_records, 1);
    assert_eq!(status.rejected[0].line, Some(6));
    assert_eq!(status.rejected[0].id.as_deref(), Some("b"));
}

#[tokio::test(start_paused = true)]
async fn a_missing_file_is_waited_for_and_a_deleted_one_changes_nothing() {
    let folder = Folder::new();
    let mut supervisor = folder.supervise();
    let events = during(&mut supervisor, secs(20)).await;
    assert_eq!(events.iter().map(show).collect::<Vec<_>>(), ["status"]);
    let error = supervisor.status().watch_error.clone().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    folder.write(&yaml("ab"));
    assert_eq!(next_change(&mut supervisor).await, "ab");
    fs::remove_file(folder.file()).unwrap();
    assert!(changes(&mut supervisor, secs(60)).await.is_empty());
    assert!(supervisor.status().is_stale());
    assert!(fault(&supervisor).contains("instances.yaml"));
    folder.write(&yaml("ab"));
    assert!(changes(&mut supervisor, secs(2)).await.is_empty());
    assert!(!supervisor.status().is_stale());
    assert_eq!(fault(&supervisor), "");
}

#[tokio::test(start_paused = true)]
async fn json_names_namespaces_and_unknown_services() {
    let folder = Folder::new();
    folder.write("{\n\t\"services\": {\n\t\t\"prod/order\": [{\"id\": \"a\", \"address\": \"h:1\"}],\n\t\t\"order\": []\n\t}\n}");
    let source = folder.source();
    let order = ServiceKey::new("order");
    let count = async |key: &ServiceKey| source.fetch(key).await.unwrap().state;
    assert_eq!(
        count(&order.clone().with_namespace("prod"))
            .await
            .instance_count(),
        1
    );
    assert!(matches!(count(&order).await, ServiceState::Instances(s) if s.is_empty()));
    assert_eq!(
        count(&ServiceKey::new("cart")).await,
        ServiceState::NoSuchService
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_no_readable_text_file_is_an_error() {
    let folder = Folder::new();
    let order = ServiceKey::new("order");
    let error = FileDiscovery::new(&folder.0)
        .fetch(&order)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    fs::write(folder.file(), b"services:\n  order: \xff\n").unwrap();
    let error = folder.source().fetch(&order).await.unwrap_err();
    assert!(error.message().ends_with("line 2: not UTF-8"), "{error}");
    let file = File::create(folder.file()).unwrap();
    file.set_len(16 * 1024 * 1024 + 1).unwrap();
    let error = folder.source().fetch(&order).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(error.message().ends_with("larger than 16 MiB"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_fetch_of_a_file_that_never_rests_gives_up() {
    let folder = Folder::new();
    folder.write("0");
    let (source, order) = (folder.source(), ServiceKey::new("order"));
    let mut fetch = source.fetch(&order);
    let mut n = 0;
    let error = loop {
        n += 1;
        folder.write(&n.to_string());
        if let Ok(done) = tokio::time::timeout(millis(400), &mut fetch).await {
            break done.unwrap_err();
        }
    };
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_tag_alone_is_a_change() {
    let folder = Folder::new();
    folder.write(&yaml("a"));
    let mut supervisor = started(&folder, "a").await;
    folder.replace(&format!("{}      tags: {{tenant: acme}}\n", yaml("a")));
    let Event::Snapshot(accepted) = supervisor.next().await else {
        panic!("a snapshot")
    };
    assert_eq!(accepted.snapshot.get("a").unwrap().tenant(), Some("acme"));
}

#[test]
fn outside_a_runtime_it_is_an_error_and_no_panic() {
    let fetch = FileDiscovery::new("x").fetch(&ServiceKey::new("order"));
    let error = futures_util::FutureExt::now_or_never(fetch)
        .unwrap()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
}

#[test]
fn the_poll_interval_is_checked() {
    assert!(
        FileDiscovery::new("x")
            .with_poll_interval(millis(9))
            .is_err()
    );
    assert!(
        FileDiscovery::new("x")
            .with_poll_interval(secs(3_600))
            .is_ok()
    );
    assert!(
        FileDiscovery::new("x")
            .with_poll_interval(secs(3_601))
            .is_err()
    );
}

/// Copies on disk are kept apart by it (B38).
#[test]
fn each_file_is_a_registry_wherever_the_program_was_started() {
    let [one, other] = ["one.yaml", "other.yaml"].map(|path| FileDiscovery::new(path).registry());
    assert_ne!(one, other);
    let here = std::env::current_dir().unwrap();
    assert_eq!(FileDiscovery::new(here.join("one.yaml")).registry(), one);
}
