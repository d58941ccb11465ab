//! The file of one service: read with distrust, replaced as a whole.

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ringfence_core::Snapshot;

use super::{
    DiskSnapshots,
    format::{self, Unreadable},
    path,
};
use crate::ServiceKey;

/// Largest file that is written or read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// How far ahead of ours the clock may be that dated a file.
const MAX_SKEW: Duration = Duration::from_secs(5 * 60);
/// A file under construction that is older was left by a process that ended.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// The copy of one service of one registry.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    file: PathBuf,
    registry: String,
    service: ServiceKey,
    max_age: Duration,
    swept: AtomicBool,
}

/// A state that the registry confirmed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiskCopy {
    pub(crate) snapshot: Arc<Snapshot>,
    /// Time since then.
    pub(crate) age: Duration,
}

/// Why a file that is there is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("it is no regular file")]
    NotAFile,
    #[error("it is larger than 64 MiB")]
    TooLarge,
    #[cfg(unix)]
    #[error("it belongs to user {uid}, not to the one of this process")]
    Foreign { uid: u32 },
    #[cfg(unix)]
    #[error("others may write it (mode {mode:o})")]
    Writable { mode: u32 },
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("it is of registry `{registry}`")]
    Registry { registry: String },
    #[error("it is of service `{service}`")]
    Service { service: ServiceKey },
    #[error("it is {age:.0?} old, {max_age:.0?} are allowed")]
    TooOld { age: Duration, max_age: Duration },
    #[error("it is dated {ahead:.0?} in the future")]
    Future { ahead: Duration },
}

impl Store {
    pub(crate) fn new(config: &DiskSnapshots, registry: String, service: ServiceKey) -> Self {
        let folder = path::folder(config.dir(), &registry);
        Self {
            file: path::file(&folder, &service),
            folder,
            registry,
            service,
            max_age: config.max_age(),
            swept: AtomicBool::new(false),
        }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The copy, if there is one.
    pub(crate) fn read(&self, now: SystemTime) -> Result<Option<DiskCopy>, Unfit> {
        let Some(bytes) = self.bytes()? else {
            return Ok(None);
        };
        let document = format::decode(&bytes)?;
        if document.registry != self.registry {
            let registry = document.registry;
            return Err(Unfit::Registry { registry });
        }
        if document.service != self.service {
            let service = document.service;
            return Err(Unfit::Service { service });
        }
        let (written, now) = (Duration::from_millis(document.written_at), since_1970(now));
        let ahead = written.saturating_sub(now);
        if ahead > MAX_SKEW {
            return Err(Unfit::Future { ahead });
        }
        let (age, max_age) = (now.saturating_sub(written), self.max_age);
        if age > max_age {
            return Err(Unfit::TooOld { age, max_age });
        }
        Ok(Some(DiskCopy {
            snapshot: Arc::new(document.snapshot),
            age,
        }))
    }

    fn bytes(&self) -> Result<Option<Vec<u8>>, Unfit> {
        let opened = match fs::symlink_metadata(&self.file) {
            // Opening a pipe would wait for its writer, and a link leads where others decide.
            Ok(metadata) if !metadata.is_file() => return Err(Unfit::NotAFile),
            Ok(_) => File::open(&self.file),
            Err(error) => Err(error),
        };
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        check_access(&file.metadata()?)?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(Unfit::TooLarge);
        }
        Ok(Some(bytes))
    }

    /// Replaces the copy by a state that the registry confirmed at that time.
    pub(crate) fn write(&self, snapshot: &Snapshot, confirmed: SystemTime) -> io::Result<()> {
        let millis = u64::try_from(since_1970(confirmed).as_millis()).unwrap_or(u64::MAX);
        let bytes = format::encode(&self.registry, &self.service, millis, snapshot)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(io::Error::other("the service needs more than 64 MiB"));
        }
        self.replace(|file| file.write_all(&bytes))
    }

    /// Whoever reads meanwhile, and whatever happens meanwhile, finds the old file or the new one.
    fn replace(&self, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        make_folder(&self.folder)?;
        if !self.swept.swap(true, Ordering::Relaxed) {
            self.sweep(SystemTime::now());
        }
        let draft = self.folder.join(draft_name());
        let replaced = create(&draft)
            .and_then(|mut file| {
                fill(&mut file)?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&draft, &self.file));
        if replaced.is_err() {
            // It may not even exist; the first error is the one that tells.
            let _ = fs::remove_file(&draft);
        } else if cfg!(unix) {
            // Only makes the new name survive a loss of power; not every file system can do it.
            let _ = File::open(&self.folder).and_then(|folder| folder.sync_all());
        }
        replaced
    }

    /// Removes the copy of a service that is no more.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Removes what processes left that ended while they wrote. What cannot be removed stays; it harms nobody.
    fn sweep(&self, now: SystemTime) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        for entry in entries.flatten() {
            let is_draft = entry.file_name().to_str().is_some_and(is_draft_name);
            let written = entry.metadata().and_then(|metadata| metadata.modified());
            let age = written.ok().and_then(|at| now.duration_since(at).ok());
            if is_draft && age.is_some_and(|age| age > ABANDONED_AFTER) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

const DRAFT_END: &str = ".draft";

/// Different from the names of all writers at work, on other machines too. Copies always have an `@` in theirs.
fn draft_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    let random = fastrand::Rng::new().u64(..);
    format!("{}-{next}-{random:016x}{DRAFT_END}", process::id())
}

fn is_draft_name(name: &str) -> bool {
    name.ends_with(DRAFT_END) && !name.contains('@')
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The file decides where requests go: only this user may have written it.
#[cfg(unix)]
fn check_access(metadata: &Metadata) -> Result<(), Unfit> {
    use std::os::unix::fs::MetadataExt as _;

    let (uid, mode) = (metadata.uid(), metadata.mode() & 0o777);
    if uid != nix::unistd::geteuid().as_raw() {
        return Err(Unfit::Foreign { uid });
    }
    if mode & 0o022 != 0 {
        return Err(Unfit::Writable { mode });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_access(_: &Metadata) -> Result<(), Unfit> {
    Ok(())
}

#[cfg(test)]
mod tests;
