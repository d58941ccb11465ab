//! A document in the configuration service.

mod endpoint;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use ringfence_discovery::{
    BoxStream, DiscoveryError, Document, DocumentSource, MAX_DOCUMENT_BYTES, Provenance, unfold,
};
use tokio::time::{Instant, sleep, sleep_until};

use self::endpoint::{ConfigEndpoint, Read};
use crate::{NAME, NacosConfig, NacosConfigError, failure::Failure, names};

/// Least time between two reads, so that a server that announces without end is not asked without end.
const LEAST_PAUSE: Duration = Duration::from_millis(500);
/// Time between two reads where the server cannot be listened to.
const POLL_PAUSE: Duration = Duration::from_secs(1);

/// A document in Nacos's configuration service, by its data id, in the group and namespace of the settings.
///
/// It is read over Nacos's HTTP interface (`/v1/cs/configs`, also of servers of version 2 and 3 that serve older clients) and
/// listened to by its long poll: an announcement only makes it be read, and it is read at the end of each poll as well, every
/// 10 s to 30 s. A server that fails is left for the next one. A login with the right to read suffices.
///
/// A data id that does not exist is an absent document; nothing else is.
///
/// # Examples
/// ```
/// use ringfence_nacos::{NacosConfig, NacosConfigDocument};
///
/// let config = NacosConfig::new(["127.0.0.1:8848"])?.with_group("SHOP")?;
/// let policy = NacosConfigDocument::new(config, "ringfence-policy.yaml")?;
/// assert_eq!(policy.data_id(), "ringfence-policy.yaml");
/// # Ok::<(), ringfence_nacos::NacosConfigError>(())
/// ```
#[derive(Clone)]
pub struct NacosConfigDocument {
    endpoint: Arc<ConfigEndpoint>,
    max_bytes: usize,
}

impl NacosConfigDocument {
    /// The document with this data id; nothing is asked before the first watch.
    ///
    /// # Errors
    /// [`NacosConfigError`] for other data ids than 1 to 128 letters, digits, `_`, `.`, `:` and `-`.
    pub fn new(config: NacosConfig, data_id: impl Into<String>) -> Result<Self, NacosConfigError> {
        let data_id = data_id.into();
        names::check("data id", &data_id)?;
        Ok(Self {
            endpoint: Arc::new(ConfigEndpoint::new(config, data_id)),
            max_bytes: MAX_DOCUMENT_BYTES,
        })
    }

    /// The data id.
    #[must_use]
    pub fn data_id(&self) -> &str {
        self.endpoint.data_id()
    }

    /// Sets the largest document, in bytes; default [`MAX_DOCUMENT_BYTES`].
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }
}

/// One stream.
struct Follow {
    source: NacosConfigDocument,
    /// When it was read last, and what as.
    last: Option<(Instant, Option<Arc<str>>)>,
}

impl Follow {
    async fn next(&mut self) -> Result<Document, Failure> {
        let endpoint = &self.source.endpoint;
        if let Some((at, digest)) = &self.last {
            let listened = match digest {
                Some(digest) => endpoint.listen(digest).await,
                None => Err(()),
            };
            if listened.is_err() {
                // The next read says what is wrong, if something is.
                sleep(POLL_PAUSE.mul_f64(0.8 + 0.4 * fastrand::f64())).await;
            }
            sleep_until(*at + LEAST_PAUSE).await;
        }
        let at = Instant::now();
        let Read { content, digest } = endpoint.read(self.source.max_bytes).await?;
        self.last = Some((at, digest));
        let provenance = Provenance::live(NAME);
        Ok(match content {
            Some(content) => Document::new(content, provenance),
            None => Document::absent(provenance),
        })
    }
}

impl DocumentSource for NacosConfigDocument {
    fn name(&self) -> &str {
        NAME
    }

    fn document(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.data_id())
    }

    fn watch(&self) -> BoxStream<'static, Result<Document, DiscoveryError>> {
        let follow = Follow {
            source: self.clone(),
            last: None,
        };
        // The stream ends after an error.
        unfold(Some(follow), |follow| async move {
            let mut follow = follow?;
            match follow.next().await {
                Ok(document) => Some((Ok(document), Some(follow))),
                Err(failure) => Some((Err(failure.into_error()), None)),
            }
        })
    }
}

impl fmt::Debug for NacosConfigDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NacosConfigDocument")
            .field("data_id", &self.data_id())
            .finish_non_exhaustive()
    }
}
