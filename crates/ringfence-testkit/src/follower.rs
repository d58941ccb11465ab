use std::{sync::Arc, time::Duration};

use ringfence_discovery::{DiscoveryError, Document, DocumentSource, DocumentWatch, WatchConfig};
use tokio::time::Instant;

/// Follows a document as a program does, whatever fails meanwhile.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use ringfence_discovery::ErrorKind;
/// use ringfence_testkit::{DocumentFollower, ScriptedDocument};
///
/// let source = ScriptedDocument::new();
/// let mut follower = DocumentFollower::new(source.clone());
/// source.delete();
/// follower.until(None).await;
/// source.fail(ErrorKind::Unavailable);
/// source.put("a text");
/// follower.until(Some(b"a text")).await;
/// # }
/// ```
#[derive(Debug)]
pub struct DocumentFollower {
    watch: DocumentWatch,
    last: Option<Arc<[u8]>>,
}

impl DocumentFollower {
    /// Nothing is asked of the source yet.
    pub fn new(source: impl DocumentSource) -> Self {
        Self {
            watch: DocumentWatch::new(Arc::new(source), &WatchConfig::default()),
            last: None,
        }
    }

    /// What the source says next.
    ///
    /// # Errors
    /// What it fails with.
    pub async fn next(&mut self) -> Result<Document, DiscoveryError> {
        self.watch.next().await
    }

    /// Waits for this content, `None` being an absent document, and says how long that took. Failures are passed over.
    ///
    /// # Panics
    /// When the source tells another content than this and the one that was reached last: neither an error nor a part of a
    /// document may pass for a change.
    pub async fn until(&mut self, wanted: Option<&[u8]>) -> Duration {
        let start = Instant::now();
        loop {
            let Ok(document) = self.next().await else {
                continue;
            };
            if document.content.as_deref() == wanted {
                self.last = document.content;
                return start.elapsed();
            }
            assert_eq!(document.content, self.last, "no change to {wanted:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScriptedDocument;

    #[tokio::test]
    #[should_panic(expected = "no change to")]
    async fn what_nobody_wrote_is_noticed() {
        let source = ScriptedDocument::new();
        source.put("a t");
        DocumentFollower::new(source).until(Some(b"a text")).await;
    }
}
