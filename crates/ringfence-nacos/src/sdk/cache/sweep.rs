//! Removing what processes left that are no more.

use std::{
    fs::{self, DirEntry, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::Path,
    time::{Duration, SystemTime},
};

use super::PREFIX;

/// A process of another container is not to be seen from here though it lives and shares the folder; it writes there at every
/// change of a list.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The library nests no deeper.
const MAX_DEPTH: u8 = 8;

/// Removes the folders of processes of this user that ended, when nothing was written there for a day. What cannot be removed
/// stays; it harms nobody.
pub(super) fn sweep(parent: &Path, now: SystemTime) {
    // Where it is not mounted nobody can tell who lives.
    let (Ok(own), Ok(entries)) = (fs::metadata("/proc/self"), fs::read_dir(parent)) else {
        return;
    };
    for entry in entries.flatten() {
        if is_abandoned(&entry, own.uid(), now) {
            let removed = fs::remove_dir_all(entry.path());
            tracing::debug!(dir = %entry.path().display(), ?removed, "an old cache folder");
        }
    }
}

fn is_abandoned(entry: &DirEntry, uid: u32, now: SystemTime) -> bool {
    let name = entry.file_name();
    let Some(pid) = name.to_str().and_then(process_of) else {
        return false;
    };
    // Not followed, if it is a link.
    let is_own = |metadata: Metadata| metadata.is_dir() && metadata.uid() == uid;
    entry.metadata().is_ok_and(is_own)
        && !Path::new("/proc").join(pid.to_string()).exists()
        && last_write(&entry.path(), MAX_DEPTH).is_ok_and(|at| {
            now.duration_since(at)
                .is_ok_and(|age| age > ABANDONED_AFTER)
        })
}

/// The process in a name that this crate gives.
fn process_of(name: &str) -> Option<u32> {
    let (pid, random) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let is_random = random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_random.then(|| pid.parse().ok()).flatten()
}

/// When something below was written last. An error where that is not known, also since it is deeper than the library goes.
fn last_write(path: &Path, depth: u8) -> io::Result<SystemTime> {
    let metadata = fs::symlink_metadata(path)?;
    let mut last = metadata.modified()?;
    if metadata.is_dir() {
        let deeper = depth.checked_sub(1).ok_or(io::ErrorKind::InvalidData)?;
        for entry in fs::read_dir(path)? {
            last = last.max(last_write(&entry?.path(), deeper)?);
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Above what Linux gives to processes.
    const NOBODY: u32 = 1 << 30;
    const RANDOM: &str = "0123456789abcdef";

    #[test]
    fn only_old_folders_of_processes_that_ended_are_removed() {
        let parent = tempfile::TempDir::new().expect("a folder");
        let own = std::process::id();
        let abandoned = format!("{PREFIX}{NOBODY}-{RANDOM}");
        let names = [
            abandoned.clone(),
            format!("{PREFIX}{own}-{RANDOM}"),
            format!("{PREFIX}{NOBODY}-0123"),
            format!("{PREFIX}x-{RANDOM}"),
            format!("{PREFIX}{NOBODY}"),
            "other".to_owned(),
        ];
        for name in &names {
            let naming = parent.path().join(name).join("naming");
            fs::create_dir_all(&naming).expect("made");
            fs::write(naming.join("list"), "x").expect("written");
        }
        let target = parent.path().join("other");
        let link = parent.path().join(format!("{PREFIX}{NOBODY}-{:016x}", 7));
        std::os::unix::fs::symlink(&target, &link).expect("a link");

        let there = |name: &str| parent.path().join(name).join("naming/list").exists();
        let now = SystemTime::now();
        sweep(
            parent.path(),
            now + ABANDONED_AFTER - Duration::from_secs(60),
        );
        assert!(names.iter().all(|name| there(name)), "all are young");

        sweep(
            parent.path(),
            now + ABANDONED_AFTER + Duration::from_secs(60),
        );
        assert!(!parent.path().join(&abandoned).exists());
        assert!(names[1..].iter().all(|name| there(name)));
        assert!(link.is_symlink());
    }

    #[test]
    fn what_was_written_deep_inside_counts() {
        let parent = tempfile::TempDir::new().expect("a folder");
        let dir = parent.path().join(format!("{PREFIX}{NOBODY}-{RANDOM}"));
        fs::create_dir_all(&dir).expect("made");
        let list = fs::File::create(dir.join("list")).expect("made");
        let later = SystemTime::now() + 2 * ABANDONED_AFTER;
        list.set_modified(later).expect("set");
        sweep(parent.path(), later + ABANDONED_AFTER);
        assert!(dir.exists());
        sweep(parent.path(), later + 2 * ABANDONED_AFTER);
        assert!(!dir.exists());
    }
}
