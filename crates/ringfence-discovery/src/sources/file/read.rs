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

/// A file that was last written so long ago is not being written now.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// What a file held at one moment.
#[derive(Debug)]
pub(crate) struct Content {
    /// `None`: there is no file, and that is an answer.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(super) digest: Digest,
    /// It was written long enough ago to be whole.
    pub(super) settled: bool,
}

impl Content {
    /// A file may be away only while it is replaced, so that one reading of this is never enough.
    fn absent() -> Self {
        Self {
            bytes: None,
            digest: Digest::ABSENT,
            settled: false,
        }
    }
}

/// Tells one content from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digest {
    len: usize,
    hash: u64,
}

impl Digest {
    /// Of no file; no content is as long as that.
    const ABSENT: Self = Self {
        len: usize::MAX,
        hash: 0,
    };

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
pub(crate) struct FileReader {
    path: Arc<PathBuf>,
    limit: Arc<Semaphore>,
    max_bytes: usize,
    /// Whether no file is a content, and not a fault.
    absence_counts: bool,
}

impl FileReader {
    /// At most `max_bytes` are read.
    pub(crate) fn new(path: PathBuf, max_bytes: usize) -> Self {
        Self {
            path: Arc::new(path),
            limit: Arc::new(Semaphore::new(2)),
            max_bytes,
            absence_counts: false,
        }
    }

    pub(crate) fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Takes a missing file for a content.
    pub(crate) fn counting_absence(mut self) -> Self {
        self.absence_counts = true;
        self
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) async fn read(&self) -> Result<Content, DiscoveryError> {
        let permit = self.limit.clone().acquire_owned().await;
        let this = self.clone();
        self.blocking(move || {
            let _permit = permit;
            this.read_bounded()
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

    fn read_bounded(&self) -> Result<Content, DiscoveryError> {
        let path = &*self.path;
        let unreadable = |error: io::Error| {
            let kind = match error.kind() {
                io::ErrorKind::PermissionDenied => ErrorKind::Unauthorized,
                _ => ErrorKind::Unavailable,
            };
            let message = format!("{}: {error}", path.display());
            DiscoveryError::new(kind, NAME, message).with_cause(error)
        };
        let found = match path.metadata() {
            Err(error) if self.absence_counts && error.kind() == io::ErrorKind::NotFound => {
                return Ok(Content::absent());
            }
            found => found.map_err(unreadable)?,
        };
        // Opening a pipe would wait for its writer.
        if !found.is_file() {
            let message = format!("{}: not a regular file", path.display());
            return Err(DiscoveryError::new(ErrorKind::Config, NAME, message));
        }
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.take((self.max_bytes as u64).saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        if bytes.len() > self.max_bytes {
            let message = format!("{}: larger than {}", path.display(), size(self.max_bytes));
            return Err(DiscoveryError::new(ErrorKind::Malformed, NAME, message));
        }
        let written = metadata.modified().ok();
        let age = written.and_then(|written| SystemTime::now().duration_since(written).ok());
        Ok(Content {
            digest: Digest::of(&bytes),
            settled: age.is_some_and(|age| age >= SETTLED_AFTER),
            bytes: Some(bytes),
        })
    }
}

fn size(bytes: usize) -> String {
    const MIB: usize = 1 << 20;
    match bytes {
        MIB.. if bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        _ => format!("{bytes} bytes"),
    }
}
