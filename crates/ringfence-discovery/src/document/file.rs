use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    time::Duration,
};

use ringfence_core::ConfigError;

use crate::{
    BoxStream, DiscoveryError, Document, DocumentSource, MAX_DOCUMENT_BYTES, Provenance,
    sources::file::{FileReader, NAME, POLL_INTERVAL, checked_interval, follow},
};

/// A document in a file, watched for change as [`FileDiscovery`](crate::FileDiscovery) is: by reading and comparing its content,
/// which counts when two reads in a row found it.
///
/// No file is an absent document, when two reads in a row found none; it need not exist at the start. A file that cannot be
/// read or is too large is an error, told once.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use ringfence_discovery::FileDocument;
///
/// let source = FileDocument::new("policy.yaml").with_poll_interval(Duration::from_secs(2))?;
/// assert_eq!(source.path().to_str(), Some("policy.yaml"));
/// # Ok::<(), ringfence_core::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FileDocument {
    reader: FileReader,
    poll_interval: Duration,
}

impl FileDocument {
    /// The document in this file. It is not read yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            reader: FileReader::new(path.into(), MAX_DOCUMENT_BYTES).counting_absence(),
            poll_interval: POLL_INTERVAL,
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.reader.path()
    }

    /// Sets the time between two reads; default 500 ms, range 10 ms..=1 h. A change is used after one to two of them.
    ///
    /// # Errors
    /// [`ConfigError`] when it is outside its range.
    pub fn with_poll_interval(mut self, interval: Duration) -> Result<Self, ConfigError> {
        self.poll_interval = checked_interval(interval)?;
        Ok(self)
    }

    /// Sets the largest file that is read, in bytes; default [`MAX_DOCUMENT_BYTES`].
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.reader = self.reader.with_max_bytes(bytes);
        self
    }
}

impl DocumentSource for FileDocument {
    fn name(&self) -> &str {
        NAME
    }

    fn document(&self) -> Cow<'_, str> {
        self.path().to_string_lossy()
    }

    fn watch(&self) -> BoxStream<'static, Result<Document, DiscoveryError>> {
        follow(self.reader.clone(), self.poll_interval, |content| async {
            let provenance = Provenance::live(NAME);
            Ok(match content.bytes {
                Some(bytes) => Document::new(bytes, provenance),
                None => Document::absent(provenance),
            })
        })
    }
}
