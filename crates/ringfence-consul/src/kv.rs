//! A document in the key-value store.

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use consulrs::api::features::{Blocking, Features};
use http::StatusCode;
use ringfence_discovery::{
    BoxStream, DiscoveryError, Document, DocumentSource, ErrorKind, MAX_DOCUMENT_BYTES, Provenance,
    unfold,
};
use serde::Deserialize;

use crate::{
    Consistency, ConsulConfig, ConsulConfigError, NAME,
    api::{Api, Refusal},
    endpoint::{ReadKey, is_path_safe},
    pace::Memory,
    poll::{Poll, Polled, Question},
    read::{Reading, index, limit, mode},
};

/// A document under a key of Consul's key-value store, watched by blocking queries as services are: same transport, same pace,
/// same care with indexes that go back. A token with `key` read access to the key suffices.
///
/// A key that does not exist is an absent document; a refusal, a server without a leader and everything that is no answer of
/// Consul is an error. Of the settings, datacenter, namespace and partition say where the key is. Each watch holds a
/// connection and is not counted by [`ConsulConfig::with_max_watches`], which bounds services: add them up where the agent
/// limits the connections of a client.
///
/// # Examples
/// ```
/// use ringfence_consul::{ConsulConfig, ConsulKv};
///
/// let policy = ConsulKv::new(ConsulConfig::new("http://127.0.0.1:8500"), "ringfence/policy")?;
/// assert_eq!(policy.key(), "ringfence/policy");
/// assert!(ConsulKv::new(ConsulConfig::new("http://127.0.0.1:8500"), "/policy").is_err());
/// # Ok::<(), ringfence_consul::ConsulConfigError>(())
/// ```
#[derive(Clone)]
pub struct ConsulKv {
    entry: Arc<Entry>,
    max_bytes: usize,
}

impl ConsulKv {
    /// The document under `key`. Nothing is sent before the first watch.
    ///
    /// # Errors
    /// What is wrong with the settings; [`ConsulConfigError::Key`] for a key that is empty, starts or ends with `/` or has a
    /// part that is empty, `.` or `..`.
    pub fn new(config: ConsulConfig, key: impl Into<String>) -> Result<Self, ConsulConfigError> {
        let key = key.into();
        if !is_path_safe(&key) {
            return Err(ConsulConfigError::Key {
                reason: "has an empty part, `.`, `..` or a control character; it has no `/` at its ends",
            });
        }
        Ok(Self {
            entry: Arc::new(Entry {
                api: Api::new(&config)?,
                memory: Arc::default(),
                config,
                key,
            }),
            max_bytes: MAX_DOCUMENT_BYTES,
        })
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.entry.key
    }

    /// Sets the largest document, in bytes; default [`MAX_DOCUMENT_BYTES`]. [`ConsulConfig::with_max_body`] bounds the whole
    /// answer, which is a third larger, and Consul itself takes 512 KiB unless it is told otherwise.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }
}

struct Entry {
    api: Api,
    config: ConsulConfig,
    key: String,
    /// Of all watches together, so that one that is opened anew does not start a new burst.
    memory: Arc<Memory>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Found {
    key: String,
    /// `null` where it is empty.
    value: Option<String>,
    modify_index: u64,
}

impl ConsulKv {
    fn document(&self, body: &[u8]) -> Result<Document, DiscoveryError> {
        let malformed = |what: &str| {
            let message = format!("the answer for the key {:?} {what}", self.key());
            DiscoveryError::new(ErrorKind::Malformed, NAME, message)
        };
        let found: Vec<Found> = serde_json::from_slice(body)
            .map_err(|error| malformed("is no list of entries").with_cause(error))?;
        let [found] = &found[..] else {
            return Err(malformed("has not one entry"));
        };
        if found.key != self.key() {
            return Err(malformed("has another key"));
        }
        let value = found.value.as_deref().unwrap_or_default();
        let content = BASE64_STANDARD
            .decode(value)
            .map_err(|error| malformed("has a value that is no base64").with_cause(error))?;
        Document::new(content, Provenance::live(NAME))
            .with_revision(found.modify_index)
            .within(self.max_bytes)
    }
}

impl Question for ConsulKv {
    type Content = Document;

    fn config(&self) -> &ConsulConfig {
        &self.entry.config
    }

    async fn ask(
        &self,
        blocking: Option<(u64, Duration)>,
        consistency: Consistency,
    ) -> Result<Reading<Document>, Refusal> {
        let config = &self.entry.config;
        let endpoint = ReadKey {
            key: self.entry.key.clone(),
            datacenter: config.datacenter.clone(),
            features: Features {
                blocking: blocking.map(|(index, wait)| Blocking {
                    index,
                    wait: Some(format!("{}ms", wait.as_millis())),
                }),
                mode: mode(consistency),
                ..Features::default()
            },
        };
        let answer = self.entry.api.call(endpoint, None, limit(config, blocking));
        match answer.await {
            Ok(answer) => Ok(Reading {
                index: index(&answer.headers)?,
                content: self.document(&answer.body)?,
            }),
            Err(refusal) => {
                // Without an index it was not Consul that did not find it.
                if refusal.status == Some(StatusCode::NOT_FOUND)
                    && let Some(headers) = &refusal.headers
                    && headers.contains_key("x-consul-index")
                {
                    return Ok(Reading {
                        index: index(headers)?,
                        content: Document::absent(Provenance::live(NAME)),
                    });
                }
                Err(refusal)
            }
        }
    }
}

impl fmt::Display for ConsulKv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

impl DocumentSource for ConsulKv {
    fn name(&self) -> &str {
        NAME
    }

    fn document(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.key())
    }

    fn watch(&self) -> BoxStream<'static, Result<Document, DiscoveryError>> {
        let poll = Poll::new(self.clone(), Arc::clone(&self.entry.memory));
        // The stream ends after an error.
        unfold(Some(poll), |poll| async move {
            let mut poll = poll?;
            match poll.next().await {
                Ok(Polled { reading, .. }) => Some((Ok(reading.content), Some(poll))),
                Err(error) => Some((Err(error), None)),
            }
        })
    }
}

impl fmt::Debug for ConsulKv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsulKv")
            .field("key", &self.entry.key)
            .field("config", &self.entry.config)
            .finish_non_exhaustive()
    }
}
