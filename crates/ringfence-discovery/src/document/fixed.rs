use crate::{BoxStream, DiscoveryError, Document, DocumentSource, Provenance, unfold};

const NAME: &str = "static";

/// A document that never changes.
///
/// # Examples
/// ```
/// use ringfence_discovery::{DocumentSource, StaticDocument};
///
/// let source = StaticDocument::new("ringfence: 1");
/// assert_eq!(source.name(), "static");
/// ```
#[derive(Clone, Debug)]
pub struct StaticDocument(Document);

impl StaticDocument {
    /// A document of these bytes.
    #[must_use]
    pub fn new(content: impl AsRef<[u8]>) -> Self {
        Self(Document::new(content, Provenance::live(NAME)))
    }
}

impl DocumentSource for StaticDocument {
    fn name(&self) -> &str {
        NAME
    }

    fn watch(&self) -> BoxStream<'static, Result<Document, DiscoveryError>> {
        unfold(Some(self.0.clone()), |document| async {
            match document {
                Some(document) => Some((Ok(document), None)),
                None => std::future::pending().await,
            }
        })
    }
}
