use std::collections::BTreeMap;

use http::Request;
use ringfence_core::RequestTags;
use serde::{Deserialize, Serialize};

use crate::{
    PolicyError, RoutingKey,
    document::{attribute, read, within},
};

/// A request for a [dry run](crate::dry_run), as it is written in a file.
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
}

impl Default for SampleRequest {
    fn default() -> Self {
        Self {
            method: "GET".to_owned(),
            path: "/".to_owned(),
            headers: BTreeMap::new(),
            tags: BTreeMap::new(),
            key: None,
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
    /// [`http::Error`] where a part of it is not legal in HTTP.
    pub fn to_request(&self) -> Result<Request<()>, http::Error> {
        let mut builder = Request::builder().method(&*self.method).uri(&*self.path);
        for (name, value) in &self.headers {
            builder = builder.header(name, value);
        }
        let mut request = builder.body(())?;
        if let Some(key) = &self.key {
            request
                .extensions_mut()
                .insert(RoutingKey::from(key.clone()));
        }
        if !self.tags.is_empty() {
            let tags = self
                .tags
                .iter()
                .fold(RequestTags::new(), |tags, (name, value)| {
                    tags.with(attribute(name), value)
                });
            request.extensions_mut().insert(tags);
        }
        Ok(request)
    }
}
