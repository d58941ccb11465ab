//! Reading the file: bounded, off the async threads, and recognised by its content.

use std::{
    fs::File,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::sync::Semaphore;

use super::NAME;
use crate::{DiscoveryError, ErrorKind};

/// Largest file that is read.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A file that was last written so long ago is not being written now.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// What a file held at one moment.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    pub(super) digest: Digest,
    /// It was written long enough ago to be whole.
    pub(super) settled: bool,
}

/// Tells one content from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digest {
    len: usize,
    hash: u64,
}

impl Digest {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        Self {
            len: bytes.len(),
            hash: hasher.finish(),
        }
    }
}

/// Reads one file. Clones share a limit of reads under way, so that a mount that hangs costs two threads and no more.
#[derive(Clone, Debug)]
pub(super) struct FileReader {
    path: Arc<PathBuf>,
    limit: Arc<Semaphore>,
}

impl FileReader {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path: Arc::new(path),
            limit: Arc::new(Semaphore::new(2)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) async fn read(&self) -> Result<Content, DiscoveryError> {
        let permit = self.limit.clone().acquire_owned().await;
        let path = self.path.clone();
        self.blocking(move || {
            let _permit = permit;
            read_bounded(&path)
        })
        .await
    }

    /// Runs `work` on a thread that may block.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, DiscoveryError> + Send + 'static,
    ) -> Result<T, DiscoveryError> {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            let message = "reading a file needs a tokio runtime";
            return Err(DiscoveryError::new(ErrorKind::Config, NAME, message));
        };
        runtime.spawn_blocking(work).await.unwrap_or_else(|error| {
            let message = format!("{}: the read was broken off", self.path.display());
            Err(DiscoveryError::new(ErrorKind::Unavailable, NAME, message).with_cause(error))
        })
    }
}

fn read_bounded(path: &Path) -> Result<Content, DiscoveryError> {
    let unreadable = |error: io::Error| {
        let kind = match error.kind() {
            io::ErrorKind::PermissionDenied => ErrorKind::Unauthorized,
            _ => ErrorKind::Unavailable,
        };
        let message = format!("{}: {error}", path.display());
        DiscoveryError::new(kind, NAME, message).with_cause(error)
    };
    // Opening a pipe would wait for its writer.
    if !path.metadata().map_err(unreadable)?.is_file() {
        let message = format!("{}: not a regular file", path.display());
        return Err(DiscoveryError::new(ErrorKind::Config, NAME, message));
    }
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        let message = format!("{}: larger than 16 MiB", path.display());
        return Err(DiscoveryError::new(ErrorKind::Malformed, NAME, message));
    }
    let written = metadata.modified().ok();
    let age = written.and_then(|written| SystemTime::now().duration_since(written).ok());
    Ok(Content {
        digest: Digest::of(&bytes),
        settled: age.is_some_and(|age| age >= SETTLED_AFTER),
        bytes,
    })
}
