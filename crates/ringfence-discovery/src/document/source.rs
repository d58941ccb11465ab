use std::{borrow::Cow, fmt, sync::Arc};

use crate::{BoxStream, DiscoveryError, ErrorKind, Provenance, Revision};

/// Largest document that sources give unless they are told otherwise: 1 MiB.
pub const MAX_DOCUMENT_BYTES: usize = 1 << 20;

/// What a source says of its document: always all of it.
///
/// # Examples
/// ```
/// use ringfence_discovery::{Document, Provenance};
///
/// let document = Document::new("ringfence: 1", Provenance::live("zk")).with_revision(7);
/// assert_eq!(document.content.as_deref(), Some(&b"ringfence: 1"[..]));
/// assert!(Document::absent(Provenance::live("zk")).content.is_none());
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// Its bytes, possibly none; `None` when the source answers and has no such document.
    pub content: Option<Arc<[u8]>>,
    /// The source's own counter for this state, where it has one.
    pub revision: Option<Revision>,
    /// Where it comes from.
    pub provenance: Provenance,
}

impl Document {
    /// The document is there and holds these bytes.
    pub fn new(content: impl AsRef<[u8]>, provenance: Provenance) -> Self {
        Self {
            content: Some(content.as_ref().into()),
            revision: None,
            provenance,
        }
    }

    /// The source answers and has no such document.
    #[must_use]
    pub fn absent(provenance: Provenance) -> Self {
        Self {
            content: None,
            revision: None,
            provenance,
        }
    }

    /// Sets the source's counter.
    #[must_use]
    pub fn with_revision(mut self, revision: impl Into<Revision>) -> Self {
        self.revision = Some(revision.into());
        self
    }

    /// The document, if it has at most `max_bytes`.
    ///
    /// # Errors
    /// Of kind [`Malformed`](ErrorKind::Malformed), if it is larger.
    pub fn within(self, max_bytes: usize) -> Result<Self, DiscoveryError> {
        match &self.content {
            Some(content) if content.len() > max_bytes => {
                let message = format!("the document has {} bytes, over {max_bytes}", content.len());
                let origin = self.provenance.origin();
                Err(DiscoveryError::new(ErrorKind::Malformed, origin, message))
            }
            _ => Ok(self),
        }
    }
}

/// Not its bytes: they may be many.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.content.as_ref().map(|content| content.len());
        f.debug_struct("Document")
            .field("bytes", &bytes)
            .field("revision", &self.revision)
            .field("provenance", &self.provenance)
            .finish()
    }
}

/// A place that holds one document, and tells its changes.
///
/// It only reads, and does not know what the document means. Its backoff is that of [`DocumentWatch`](crate::DocumentWatch).
///
/// # Examples
/// A source of your own on a function that is asked every second:
/// ```
/// use std::time::Duration;
/// use ringfence_discovery::{BoxStream, DiscoveryError, Document, DocumentSource, Provenance, unfold};
///
/// #[derive(Clone, Debug)]
/// struct Settings;
///
/// impl Settings {
///     async fn read(&self) -> Result<Document, DiscoveryError> {
///         Ok(Document::new("ringfence: 1", Provenance::live(self.name())).with_revision(1))
///     }
/// }
///
/// impl DocumentSource for Settings {
///     fn name(&self) -> &str {
///         "settings"
///     }
///
///     fn watch(&self) -> BoxStream<'static, Result<Document, DiscoveryError>> {
///         let this = self.clone();
///         unfold(true, move |first| {
///             let this = this.clone();
///             async move {
///                 if !first {
///                     tokio::time::sleep(Duration::from_secs(1)).await;
///                 }
///                 Some((this.read().await, false))
///             }
///         })
///     }
/// }
/// ```
pub trait DocumentSource: fmt::Debug + Send + Sync + 'static {
    /// Short name of the source for logs, such as `consul`.
    fn name(&self) -> &str;

    /// What the document is called there, for logs: a path, a key, a data id. Default: nothing.
    fn document(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    /// An endless stream of the states of the document.
    ///
    /// - The first item is the current state; further ones come when it changed. Of several changes in a row only the last
    ///   needs to be given, and giving the current state again is allowed: it means that the source is in contact.
    /// - **A failure is an `Err`, never an absent or an empty document**, and so is a document that is too large: nobody may
    ///   see a part of one.
    /// - A source that can go silent without an error notices that by itself, since there is no reading beside the watch.
    /// - After an `Err` the stream may go on or end, as with [`Discovery::watch`](crate::Discovery::watch), and a stream that
    ///   goes on paces itself and gives the state again once it works.
    /// - Lazy: nothing happens before the first poll. Dropping the stream ends its sockets, tasks and subscriptions.
    fn watch(&self) -> BoxStream<'static, Result<Document, DiscoveryError>>;
}

impl<S: DocumentSource + ?Sized> DocumentSource for Arc<S> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn document(&self) -> Cow<'_, str> {
        (**self).document()
    }

    fn watch(&self) -> BoxStream<'static, Result<Document, DiscoveryError>> {
        (**self).watch()
    }
}
