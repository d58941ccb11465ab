//! Instances listed in a file.

mod changes;
mod error;
mod follow;
mod form;
mod parse;
mod read;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ringfence_core::ConfigError;
use tokio::time::sleep;

pub use self::{
    error::InstancesFileError,
    parse::{FileService, InstancesFile, parse_instances_file},
};
pub(crate) use self::{
    follow::{POLL_INTERVAL, checked_interval, follow},
    read::{Content, FileReader},
};
use crate::{
    BoxFuture, BoxStream, Discovery, DiscoveryError, ErrorKind, Provenance, ServiceKey, Update,
};

pub(crate) const NAME: &str = "file";

/// Largest file of instances that is read.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Reads of one fetch before it gives up on a file that never stops changing.
const FETCH_READS: usize = 8;

/// Services and instances listed in a YAML or JSON file, watched for change. See [`parse_instances_file`] for the form.
///
/// A service with a namespace is written `namespace/name`. A name that the file does not have is
/// [`NoSuchService`](crate::ServiceState::NoSuchService).
///
/// # How changes are seen
/// The file is read every [`poll_interval`](Self::poll_interval) and compared by content; at most 16 MiB are read. File system
/// notifications are not used: they do not exist on network mounts, they lose track when a directory is swapped under a
/// symbolic link (Kubernetes does so to change a `ConfigMap`), and they need a thread. A file replaced by renaming and one written
/// in place are both seen. A new content is used when two reads in a row found it, so a file that is being written is not taken
/// for a shorter list as long as no pause of its writer is longer than the interval; renaming a finished file over the old
/// one is the safe way.
///
/// # When the file is broken
/// The last good content stays in use, and the error names the file, the line and the column. A missing file is an error like
/// any other: at the start it is waited for, later the last good content stays in use. Each fault is told once. A record that
/// is no instance is left out, and the rest used.
///
/// # Examples
/// ```
/// use std::{sync::Arc, time::Duration};
/// use ringfence_discovery::{FileDiscovery, ServiceKey, Supervisor, WatchConfig};
///
/// let source = FileDiscovery::new("instances.yaml").with_poll_interval(Duration::from_secs(2))?;
/// let supervisor = Supervisor::new(Arc::new(source), ServiceKey::new("order"), WatchConfig::default());
/// # drop(supervisor);
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FileDiscovery {
    reader: FileReader,
    poll_interval: Duration,
}

impl FileDiscovery {
    /// Lists the services of this file. It is not read yet, and need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            reader: FileReader::new(path.into(), MAX_BYTES),
            poll_interval: POLL_INTERVAL,
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.reader.path()
    }

    /// Time between two reads. Default 500 ms; a change is used after one to two intervals.
    #[must_use]
    pub fn poll_interval(&self) -> Duration {
        self.poll_interval
    }

    /// Sets the time between two reads; range 10 ms..=1 h.
    ///
    /// # Errors
    /// [`ConfigError`] when it is outside its range.
    pub fn with_poll_interval(mut self, interval: Duration) -> Result<Self, ConfigError> {
        self.poll_interval = checked_interval(interval)?;
        Ok(self)
    }

    /// Reads until a content is surely whole.
    async fn read_whole(&self) -> Result<Content, DiscoveryError> {
        // Slower pollers are not made to wait longer for a single answer.
        let pause = self.poll_interval.min(Duration::from_millis(500));
        let mut last = None;
        for _ in 0..FETCH_READS {
            let content = self.reader.read().await?;
            if content.settled || last == Some(content.digest) {
                return Ok(content);
            }
            last = Some(content.digest);
            sleep(pause).await;
        }
        let message = format!("{}: being written without end", self.path().display());
        Err(DiscoveryError::new(ErrorKind::Unavailable, NAME, message))
    }

    /// A large file takes long enough to parse to be in the way of requests.
    async fn parse(
        &self,
        service: &ServiceKey,
        content: Content,
    ) -> Result<Update, DiscoveryError> {
        let (path, service) = (self.path().to_owned(), service.clone());
        self.reader
            .blocking(move || update(&path, &service, &content))
            .await
    }
}

impl Discovery for FileDiscovery {
    fn name(&self) -> &str {
        NAME
    }

    fn registry(&self) -> String {
        // Programs with one folder of copies may be started in different places.
        let path = std::path::absolute(self.path());
        format!(
            "{NAME} {}",
            path.as_deref().unwrap_or(self.path()).display()
        )
    }

    fn watch(&self, service: &ServiceKey) -> BoxStream<'static, Result<Update, DiscoveryError>> {
        let (this, service) = (self.clone(), service.clone());
        follow(self.reader.clone(), self.poll_interval, move |content| {
            let (this, service) = (this.clone(), service.clone());
            async move { this.parse(&service, content).await }
        })
    }

    fn fetch(&self, service: &ServiceKey) -> BoxFuture<'static, Result<Update, DiscoveryError>> {
        let (this, service) = (self.clone(), service.clone());
        Box::pin(async move {
            let content = this.read_whole().await?;
            this.parse(&service, content).await
        })
    }
}

fn update(path: &Path, service: &ServiceKey, content: &Content) -> Result<Update, DiscoveryError> {
    let broken = |error: InstancesFileError| {
        let message = format!("{}: {error}", path.display());
        DiscoveryError::new(ErrorKind::Malformed, NAME, message).with_cause(error)
    };
    let bytes = content.bytes.as_deref().unwrap_or_default();
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count() as u64;
        broken(InstancesFileError::new(Some(line), None, "not UTF-8"))
    })?;
    let file = parse_instances_file(text).map_err(broken)?;
    let provenance = Provenance::live(NAME);
    Ok(match file.service(&service.to_string()) {
        None => Update::no_such_service(provenance),
        Some(found) => Update::snapshot(Arc::new(found.snapshot()), provenance)
            .with_rejected(found.rejected().to_vec()),
    })
}
