use ringfence_core::Instance;
use tempfile::TempDir;

use super::*;

const REGISTRY: &str = "consul http://127.0.0.1:8500";
const MINUTE: Duration = Duration::from_secs(60);

fn list(ids: &str) -> Snapshot {
    let instance = |id: char| Instance::builder(id.to_string(), "10.0.0.1:80").build();
    Snapshot::new(ids.chars().map(|id| instance(id).expect("legal")))
}

fn store_in(dir: &TempDir) -> Store {
    let config = DiskSnapshots::new(dir.path().join("copies"));
    Store::new(&config, REGISTRY.to_owned(), ServiceKey::new("order"))
}

fn store() -> (Store, TempDir) {
    let dir = TempDir::new().expect("a folder");
    (store_in(&dir), dir)
}

fn read(store: &Store) -> Option<String> {
    let copy = store.read(SystemTime::now()).expect("fit")?;
    let ids = copy.snapshot.instances().iter();
    Some(ids.map(|instance| instance.id().as_str()).collect())
}

/// Files in the folder, copies and others.
fn files(store: &Store) -> usize {
    fs::read_dir(&store.folder).expect("a folder").count()
}

#[test]
fn what_is_written_is_read_until_it_is_removed() {
    let (store, dir) = store();
    assert_eq!(read(&store), None);
    store.remove().expect("nothing to remove");
    for ids in ["ab", "c", ""] {
        store.write(&list(ids), SystemTime::now()).expect("written");
        assert_eq!(read(&store_in(&dir)).as_deref(), Some(ids));
        assert_eq!(files(&store), 1);
    }
    store.remove().expect("removed");
    assert_eq!(read(&store), None);
}

#[test]
fn the_age_is_limited_at_both_ends() {
    let (store, _dir) = store();
    let (now, milli) = (SystemTime::now(), Duration::from_millis(1));
    let aged = |store: &Store, at: SystemTime| {
        store.write(&list("a"), at).expect("written");
        // What is written has whole milliseconds.
        let millis = since_1970(now).as_millis();
        let now = UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).expect("small"));
        store.read(now).map(|copy| copy.expect("there").age)
    };
    assert_eq!(aged(&store, now - MINUTE).expect("young"), MINUTE);
    let day = 24 * 60 * MINUTE;
    assert_eq!(aged(&store, now - day).expect("just in time"), day);
    let error = aged(&store, now - day - milli).expect_err("old");
    assert!(matches!(error, Unfit::TooOld { .. }), "{error}");
    assert_eq!(
        aged(&store, now + 5 * MINUTE).expect("skew"),
        Duration::ZERO
    );
    let error = aged(&store, now + 5 * MINUTE + milli).expect_err("future");
    assert!(matches!(error, Unfit::Future { .. }), "{error}");
}

/// A file that was moved, or of a name with the same digest (B38).
#[test]
fn a_copy_of_something_else_is_not_used() {
    let (store, dir) = store();
    let config = DiskSnapshots::new(dir.path().join("copies"));
    let other = |registry: &str, service: &str| {
        let other = Store::new(&config, registry.to_owned(), ServiceKey::new(service));
        other.write(&list("a"), SystemTime::now()).expect("written");
        make_folder(&store.folder).expect("made");
        fs::rename(other.file(), store.file()).expect("moved");
        store.read(SystemTime::now()).expect_err("not ours")
    };
    let error = other("consul http://127.0.0.1:8501", "order");
    assert!(matches!(error, Unfit::Registry { .. }), "{error}");
    let error = other(REGISTRY, "cart");
    assert!(matches!(error, Unfit::Service { .. }), "{error}");
}

#[test]
fn a_folder_in_its_place_is_not_used_and_a_huge_file_neither() {
    let (store, _dir) = store();
    fs::create_dir_all(store.file()).expect("made");
    let error = store.read(SystemTime::now()).expect_err("a folder");
    assert!(matches!(error, Unfit::NotAFile), "{error}");
    fs::remove_dir(store.file()).expect("removed");
    let huge = create(store.file()).expect("created");
    huge.set_len(MAX_BYTES + 1).expect("sparse");
    let error = store.read(SystemTime::now()).expect_err("huge");
    assert!(matches!(error, Unfit::TooLarge), "{error}");
}

#[cfg(unix)]
#[test]
fn only_this_user_can_read_or_write_it() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    let (store, _dir) = store();
    store.write(&list("a"), SystemTime::now()).expect("written");
    let mode = |path: &Path| fs::metadata(path).expect("there").mode() & 0o777;
    assert_eq!((mode(store.file()), mode(&store.folder)), (0o600, 0o700));
    for bad in [0o620, 0o602, 0o666] {
        fs::set_permissions(store.file(), fs::Permissions::from_mode(bad)).expect("set");
        let error = store.read(SystemTime::now()).expect_err("writable");
        assert!(error.to_string().contains(&format!("{bad:o}")), "{error}");
    }
    fs::set_permissions(store.file(), fs::Permissions::from_mode(0o644)).expect("set");
    assert_eq!(read(&store).as_deref(), Some("a"), "others may look");

    let elsewhere = store.folder.join("elsewhere");
    fs::rename(store.file(), &elsewhere).expect("moved");
    symlink(&elsewhere, store.file()).expect("linked");
    let error = store.read(SystemTime::now()).expect_err("a link");
    assert!(matches!(error, Unfit::NotAFile), "{error}");

    let own = fs::metadata(&elsewhere).expect("there");
    check_access(&own).expect("ours");
    // The first process belongs to root; what root itself may not trust is another user's.
    let foreign = if own.uid() == 0 {
        std::os::unix::fs::chown(&elsewhere, Some(12_345), None).expect("root may");
        fs::metadata(&elsewhere).expect("there")
    } else {
        fs::metadata("/").expect("there")
    };
    let error = check_access(&foreign).expect_err("not ours");
    assert!(matches!(error, Unfit::Foreign { .. }), "{error}");
}

/// The disk fills up half-way through (B38).
#[test]
fn a_write_that_fails_leaves_the_old_copy_and_no_rubbish() {
    let (store, _dir) = store();
    store
        .write(&list("ab"), SystemTime::now())
        .expect("written");
    let failed = store.replace(|file| {
        file.write_all(b"ringfence-snapshot 1 ")?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert_eq!(failed.expect_err("full").kind(), io::ErrorKind::StorageFull);
    assert_eq!(read(&store).as_deref(), Some("ab"));
    assert_eq!(files(&store), 1);
}

#[test]
fn where_no_folder_can_be_made_the_error_tells() {
    let dir = TempDir::new().expect("a folder");
    fs::write(dir.path().join("copies"), "a file").expect("written");
    let store = store_in(&dir);
    store
        .write(&list("a"), SystemTime::now())
        .expect_err("no folder");
    store.read(SystemTime::now()).expect_err("no folder");
}

/// A process that ended between writing and renaming (B38).
#[test]
fn drafts_of_dead_writers_are_ignored_and_removed_after_an_hour() {
    let (store, dir) = store();
    store.write(&list("a"), SystemTime::now()).expect("written");
    let draft = |minutes: u32| {
        let path = store.folder.join(draft_name());
        let file = create(&path).expect("created");
        file.set_modified(SystemTime::now() - minutes * MINUTE)
            .expect("set");
        path
    };
    let (dead, at_work) = (draft(61), draft(59));
    let aged = File::open(store.file()).expect("there");
    aged.set_modified(SystemTime::now() - 100 * MINUTE)
        .expect("set");
    assert_eq!(read(&store).as_deref(), Some("a"));
    let next = store_in(&dir);
    let cart = Store::new(
        &DiskSnapshots::new(dir.path().join("copies")),
        REGISTRY.to_owned(),
        ServiceKey::new("cart"),
    );
    cart.write(&list("c"), SystemTime::now()).expect("written");
    assert!(!dead.exists() && at_work.exists());
    assert_eq!(read(&next).as_deref(), Some("a"), "old copies stay");
}

/// Several processes with one folder (B38).
#[test]
fn writers_side_by_side_always_leave_a_whole_file() {
    let (store, dir) = store();
    store.write(&list("a"), SystemTime::now()).expect("written");
    std::thread::scope(|threads| {
        let writers: Vec<_> = ["a", "bcdefghijkl", ""]
            .map(|ids| {
                let store = store_in(&dir);
                threads.spawn(move || {
                    for _ in 0..100 {
                        store.write(&list(ids), SystemTime::now()).expect("written");
                    }
                })
            })
            .into();
        let mut reads = 0;
        while !writers.iter().all(|writer| writer.is_finished()) || reads < 100 {
            let ids = read(&store).expect("there at all times");
            assert!(["a", "bcdefghijkl", ""].contains(&&*ids), "{ids}");
            reads += 1;
        }
    });
    assert_eq!(files(&store), 1);
}
