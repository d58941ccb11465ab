use bytes::Bytes;
use http::{HeaderMap, Method, Uri, Version};

/// One request as a [`Backend`](super::Backend) saw it.
///
/// It exists from the moment the head has arrived; body and trailers are filled in as they come.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recorded {
    /// The method.
    pub method: Method,
    /// The URI as it came: path and query, over HTTP/2 with scheme and authority too.
    pub uri: Uri,
    /// HTTP/1.0, HTTP/1.1 or HTTP/2.
    pub version: Version,
    /// The headers.
    pub headers: HeaderMap,
    /// What has been read of the body.
    pub body: Bytes,
    /// Whether the body has been read to its end.
    pub body_complete: bool,
    /// The trailers, if the body has been read to its end and had any.
    pub trailers: Option<HeaderMap>,
    /// Number of the connection that carried it, from 0 in the order of acceptance.
    pub connection: u64,
    /// The server name of the TLS handshake, if there was one.
    pub sni: Option<String>,
}

impl Recorded {
    /// The authority of the URI: over HTTP/2 the `:authority`.
    #[must_use]
    pub fn authority(&self) -> Option<&str> {
        self.uri.authority().map(|authority| authority.as_str())
    }

    /// The `host` header.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.header("host")
    }

    /// The header `name` as text, or `None` where it is absent or not text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
