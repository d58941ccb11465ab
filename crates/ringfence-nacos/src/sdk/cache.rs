#[cfg(target_os = "linux")]
mod sweep;

use std::{
    env, io,
    path::{Path, PathBuf},
    process,
};

/// What the names of the folders begin with; the process and a random number follow.
const PREFIX: &str = "ringfence-nacos-";

/// Makes the folder that the library insists on filling. Where that fails the library complains in its log at each change and
/// works all the same.
pub(super) fn dir(chosen: Option<&Path>) -> PathBuf {
    // What other processes left, since the library has no end at which it could be removed.
    #[cfg(target_os = "linux")]
    sweep::sweep(
        chosen.unwrap_or(&env::temp_dir()),
        std::time::SystemTime::now(),
    );
    match chosen {
        Some(chosen) => {
            if let Err(error) = make(chosen, true) {
                tracing::warn!(dir = %chosen.display(), %error, "the cache folder cannot be made");
            }
            // Not what an earlier process left there: it would be loaded.
            chosen.join(unique())
        }
        None => private(&env::temp_dir()),
    }
}

fn private(parent: &Path) -> PathBuf {
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
    let mut builder = std::fs::DirBuilder::new();
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
            std::fs::remove_dir_all(dir).expect("ours");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_no_error() {
        let file = dir(None).join("file");
        std::fs::write(&file, "").expect("writable");
        assert!(dir(Some(&file)).starts_with(&file));
        let parent = file.parent().expect("it has one").to_owned();
        std::fs::remove_dir_all(parent).expect("ours");
    }
}
