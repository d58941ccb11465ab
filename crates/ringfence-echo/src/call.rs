use http::HeaderMap;

/// One request as the server saw it, before its body.
#[derive(Clone, Debug)]
pub struct Call {
    path: String,
    authority: Option<String>,
    headers: HeaderMap,
    connection: u64,
}

impl Call {
    pub(crate) fn new<B>(request: &http::Request<B>, connection: u64) -> Self {
        Self {
            path: request.uri().path().to_owned(),
            authority: request.uri().authority().map(ToString::to_string),
            headers: request.headers().clone(),
            connection,
        }
    }

    /// The `:path`, such as `/ringfence.echo.v1.Echo/Unary`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The `:authority`, if the request had one.
    #[must_use]
    pub fn authority(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    /// The request's headers, which is the gRPC metadata with what HTTP adds to it.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The header `name` as text, or `None` where it is absent or not text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Number of the connection that carried the request, from 0 in the order of acceptance.
    #[must_use]
    pub fn connection(&self) -> u64 {
        self.connection
    }
}
