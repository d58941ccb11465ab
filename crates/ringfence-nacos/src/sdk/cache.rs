use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process,
};

/// Makes the folder that the library insists on filling. Where that fails the library complains in its log at each change and
/// works all the same.
pub(super) fn dir(chosen: Option<&Path>) -> PathBuf {
    match chosen {
        Some(chosen) => {
            if let Err(error) = make(chosen, true) {
                tracing::warn!(dir = %chosen.display(), %error, "the cache folder cannot be made");
            }
            sweep(chosen);
            // Not what an earlier process left there: it would be loaded.
            chosen.join(unique())
        }
        None => private(&env::temp_dir()),
    }
}

const PREFIX: &str = "ringfence-nacos-";
/// Folders taken away at a start.
const MOST_SWEPT: usize = 100;

/// Removes folders of processes that have ended, which cannot do it themselves, since the library writes to the last.
fn sweep(parent: &Path) {
    // Elsewhere it cannot be known who lives. One who lives unseen, in another container, writes a new folder.
    if !Path::new("/proc/self").exists() {
        return;
    }
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    let abandoned = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let process = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'))
            .and_then(|(process, _)| process.parse::<u32>().ok());
        process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists())
    });
    for entry in abandoned.take(MOST_SWEPT) {
        // Another user's cannot be removed, and a link is none.
        let _ = fs::remove_dir_all(entry.path());
    }
}

fn private(parent: &Path) -> PathBuf {
    sweep(parent);
    let dir = parent.join(unique());
    // Fails where it exists, so that nobody can have put a folder of his own there.
    if let Err(error) = make(&dir, false) {
        tracing::warn!(dir = %dir.display(), %error, "the cache folder cannot be made");
    }
    dir
}

fn unique() -> String {
    format!(
        "{PREFIX}{}-{:016x}",
        process::id(),
        fastrand::Rng::new().u64(..)
    )
}

fn make(dir: &Path, even_if_there: bool) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(even_if_there);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn the_folder_is_private_and_never_an_old_one() {
        use std::os::unix::fs::PermissionsExt as _;

        let (one, other) = (dir(None), dir(None));
        assert_ne!(one, other);
        let mode = one.metadata().expect("made").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);

        let below = dir(Some(&one.join("chosen")));
        assert!(!below.exists(), "left to the library");
        let mode = one
            .join("chosen")
            .metadata()
            .expect("made")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
        for dir in [one, other] {
            fs::remove_dir_all(dir).expect("ours");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn folders_of_processes_that_have_ended_are_removed_and_no_others() {
        let parent = dir(None);
        let mut ended = process::Command::new("true").spawn().expect("there");
        let id = ended.id();
        ended.wait().expect("ended");
        let make = |name: String| {
            let path = parent.join(name);
            fs::create_dir_all(path.join("public")).expect("writable");
            path
        };
        let gone = make(format!("{PREFIX}{id}-0123"));
        let kept = [
            make(unique()),
            make(format!("{PREFIX}x-0123")),
            make(format!("other-{id}-0123")),
        ];
        // Where it leads is not ours.
        let link = parent.join(format!("{PREFIX}{id}-4567"));
        std::os::unix::fs::symlink(&kept[2], &link).expect("made");
        private(&parent);
        assert!(!gone.exists());
        assert!(kept.iter().all(|path| path.join("public").exists()));
        fs::remove_dir_all(parent).expect("ours");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_no_error() {
        let file = dir(None).join("file");
        fs::write(&file, "").expect("writable");
        assert!(dir(Some(&file)).starts_with(&file));
        let parent = file.parent().expect("it has one").to_owned();
        fs::remove_dir_all(parent).expect("ours");
    }
}
