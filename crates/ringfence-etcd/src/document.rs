//! A document under one key.

use std::{borrow::Cow, sync::Arc};

use ringfence_discovery::{
    BoxStream, DiscoveryError, Document, DocumentSource, MAX_DOCUMENT_BYTES, Provenance,
};

use crate::{
    EtcdConfig, EtcdConfigError, NAME,
    connection::{Failure, Fault, Pool},
    watch::{Change, Mirror, follow_up},
};

/// A document under a key of etcd: read, and watched from the revision after it, as the instances of a service are. A watch
/// that ends oddly leads to a new reading. The right to read this one key suffices.
///
/// A key that does not exist is an absent document. All watches of one `EtcdKey` and its clones share one connection.
///
/// # Examples
/// ```
/// use ringfence_etcd::{EtcdConfig, EtcdKey};
///
/// let policy = EtcdKey::new(EtcdConfig::new(["10.0.0.1:2379", "10.0.0.2:2379"]), "/ringfence/policy")?;
/// assert_eq!(policy.key(), b"/ringfence/policy");
/// assert!(EtcdKey::new(EtcdConfig::new(["10.0.0.1:2379"]), "").is_err());
/// # Ok::<(), ringfence_etcd::EtcdConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct EtcdKey {
    pool: Arc<Pool>,
    key: Arc<[u8]>,
    max_bytes: usize,
}

impl EtcdKey {
    /// The document under `key`, taken as it is; nothing is connected before the first watch.
    ///
    /// # Errors
    /// [`EtcdConfigError`] for what cannot work: settings, or an empty key.
    pub fn new(config: EtcdConfig, key: impl AsRef<[u8]>) -> Result<Self, EtcdConfigError> {
        let key: Arc<[u8]> = key.as_ref().into();
        if key.is_empty() {
            return Err(EtcdConfigError::Range {
                name: "the key",
                range: "at least one byte",
            });
        }
        Ok(Self {
            pool: Arc::new(Pool::new(config)?),
            key,
            max_bytes: MAX_DOCUMENT_BYTES,
        })
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Sets the largest document, in bytes; default [`MAX_DOCUMENT_BYTES`]. Messages of more than 16 MiB are not taken, and
    /// etcd by default holds no value of more than 1.5 MiB.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }
}

impl DocumentSource for EtcdKey {
    fn name(&self) -> &str {
        NAME
    }

    fn document(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.key)
    }

    fn watch(&self) -> BoxStream<'static, Result<Document, DiscoveryError>> {
        let name = self.document().escape_debug().to_string();
        let (key, max_bytes) = (Arc::clone(&self.key), self.max_bytes);
        let empty = move || Ok(Value::new(Arc::clone(&key), max_bytes));
        follow_up(Arc::clone(&self.pool), name, empty)
    }
}

/// What a key holds.
struct Value {
    key: Arc<[u8]>,
    max_bytes: usize,
    revision: u64,
    document: Document,
}

impl Value {
    fn new(key: Arc<[u8]>, max_bytes: usize) -> Self {
        Self {
            key,
            max_bytes,
            revision: 0,
            document: Document::absent(Provenance::live(NAME)),
        }
    }
}

impl Mirror for Value {
    type Whole = Document;
    const WHAT: &str = "reading the document";

    fn start(&self) -> &[u8] {
        &self.key
    }

    fn end(&self) -> Vec<u8> {
        [&*self.key, &[0]].concat()
    }

    fn revision(&self) -> u64 {
        self.revision
    }

    fn reached(&mut self, revision: i64) {
        self.revision = self.revision.max(u64::try_from(revision).unwrap_or(0));
    }

    fn apply(&mut self, key: &[u8], change: Change<'_>) -> Result<(), Failure> {
        // A server that answers with other keys than were asked for does no harm.
        if key != &*self.key {
            return Ok(());
        }
        let too_large = |len: &str| {
            let message = format!("the document has {len}, over {} bytes", self.max_bytes);
            Failure::new(Fault::Limit, message)
        };
        self.document = match change {
            Change::Deleted => Document::absent(Provenance::live(NAME)),
            Change::Unreadable => return Err(too_large("more than can be read")),
            Change::Put(value, _) if value.len() > self.max_bytes => {
                return Err(too_large(&format!("{} bytes", value.len())));
            }
            Change::Put(value, revision) => Document::new(value, Provenance::live(NAME))
                .with_revision(u64::try_from(revision).unwrap_or(0)),
        };
        Ok(())
    }

    fn whole(&mut self) -> Document {
        self.document.clone()
    }
}
