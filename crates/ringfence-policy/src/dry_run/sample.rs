use std::{collections::BTreeMap, error::Error, fmt, net::IpAddr};

use http::{HeaderName, HeaderValue, Method, Request, Uri};
use ringfence_core::{Attribute, RequestTags};
use serde::{Deserialize, Serialize};

use crate::{
    PeerAddress, PolicyError, RoutingKey, VerifiedClaims,
    document::{read, within},
};

/// A request that was never sent, for a [dry run](crate::dry_run) or to be explained, as it is written in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SampleRequest {
    /// Default GET.
    pub method: String,
    /// With the query, if there is one; default `/`.
    pub path: String,
    /// Headers or metadata.
    pub headers: BTreeMap<String, String>,
    /// What the program says of the request's tags.
    pub tags: BTreeMap<String, String>,
    /// What the program says of the request's key.
    pub key: Option<String>,
    /// Claims that the program verified.
    pub claims: BTreeMap<String, String>,
    /// The peer on whose behalf the call is made, as the program's server saw it.
    pub peer: Option<IpAddr>,
}

/// Which part of a [`SampleRequest`] is not legal in HTTP, and why; nothing of the part is repeated, since it may be secret.
#[derive(Debug)]
#[non_exhaustive]
pub enum SampleRequestError {
    /// Its method.
    Method(http::Error),
    /// Its path.
    Path(http::Error),
    /// Its path does not begin with a slash.
    NoPath,
    /// One of its headers.
    Header(http::Error),
}

impl fmt::Display for SampleRequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method(error) => write!(f, "method: {error}"),
            Self::Path(error) => write!(f, "path: {error}"),
            Self::NoPath => f.write_str("path: expected a path that begins with /"),
            Self::Header(error) => write!(f, "header: {error}"),
        }
    }
}

impl Error for SampleRequestError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Method(error) | Self::Path(error) | Self::Header(error) => Some(error),
            Self::NoPath => None,
        }
    }
}

impl Default for SampleRequest {
    fn default() -> Self {
        Self {
            method: "GET".to_owned(),
            path: "/".to_owned(),
            headers: BTreeMap::new(),
            tags: BTreeMap::new(),
            key: None,
            claims: BTreeMap::new(),
            peer: None,
        }
    }
}

impl SampleRequest {
    /// Longest list that is read: 16 MiB, and at most some 100,000 requests.
    pub const MAX_LIST: usize = 16 << 20;

    /// A request with this key.
    #[must_use]
    pub fn from_key(key: impl Into<String>) -> Self {
        Self {
            key: Some(key.into()),
            ..Self::default()
        }
    }

    /// Reads a list of requests, in YAML or JSON.
    ///
    /// ```
    /// use ringfence_policy::SampleRequest;
    ///
    /// let requests = SampleRequest::parse_list("
    /// - { key: user-1 }
    /// - { method: POST, path: /pay?user=1, headers: { x-user: alice }, tags: { tenant: acme } }
    /// ")?;
    /// assert_eq!(requests[0], SampleRequest::from_key("user-1"));
    /// # Ok::<(), ringfence_policy::PolicyError>(())
    /// ```
    ///
    /// # Errors
    /// [`PolicyError`] with the place, for a text that is no such list or longer than [`MAX_LIST`](Self::MAX_LIST).
    pub fn parse_list(text: &str) -> Result<Vec<Self>, PolicyError> {
        within(text, Self::MAX_LIST)?;
        read(text)
    }

    /// The request itself.
    ///
    /// # Errors
    /// [`SampleRequestError`] where a part of it is not legal in HTTP, or its path does not begin with a slash.
    pub fn to_request(&self) -> Result<Request<()>, SampleRequestError> {
        let mut request = Request::new(());
        let method = Method::from_bytes(self.method.as_bytes());
        *request.method_mut() = method.map_err(|error| SampleRequestError::Method(error.into()))?;
        let uri = self.path.parse::<Uri>();
        let uri = uri.map_err(|error| SampleRequestError::Path(error.into()))?;
        if !uri.path().starts_with('/') {
            return Err(SampleRequestError::NoPath);
        }
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        for (name, value) in &self.headers {
            let fault = |error: http::Error| SampleRequestError::Header(error);
            let name = HeaderName::try_from(name).map_err(|error| fault(error.into()))?;
            let value = HeaderValue::try_from(value).map_err(|error| fault(error.into()))?;
            let added = headers.try_append(name, value);
            added.map_err(|error| fault(error.into()))?;
        }
        let extensions = request.extensions_mut();
        if let Some(key) = &self.key {
            extensions.insert(RoutingKey::from(key.clone()));
        }
        if !self.tags.is_empty() {
            let tags = self.tags.iter();
            let tags = tags.fold(RequestTags::new(), |tags, (name, value)| {
                tags.with(Attribute::named(name), value)
            });
            extensions.insert(tags);
        }
        if !self.claims.is_empty() {
            extensions.insert(self.claims.iter().collect::<VerifiedClaims>());
        }
        if let Some(peer) = self.peer {
            extensions.insert(PeerAddress::new(peer));
        }
        Ok(request)
    }
}
