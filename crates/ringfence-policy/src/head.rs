use http::{Extensions, HeaderMap, Method, Request, request::Parts};

/// What a policy looks at of a request.
///
/// ```
/// use ringfence_policy::RequestHead;
///
/// let request = http::Request::get("http://shop/cart?user=7").body(())?;
/// let head = RequestHead::of(&request);
/// assert_eq!((head.path, head.query), ("/cart", Some("user=7")));
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RequestHead<'a> {
    /// The method.
    pub method: &'a Method,
    /// The path without the query.
    pub path: &'a str,
    /// The query without its question mark.
    pub query: Option<&'a str>,
    /// Headers or gRPC metadata.
    pub headers: &'a HeaderMap,
    /// What the program itself says of the request.
    pub extensions: &'a Extensions,
}

impl<'a> RequestHead<'a> {
    /// The head of a request.
    #[must_use]
    pub fn of<B>(request: &'a Request<B>) -> Self {
        Self {
            method: request.method(),
            path: request.uri().path(),
            query: request.uri().query(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }
}

impl<'a> From<&'a Parts> for RequestHead<'a> {
    fn from(parts: &'a Parts) -> Self {
        Self {
            method: &parts.method,
            path: parts.uri.path(),
            query: parts.uri.query(),
            headers: &parts.headers,
            extensions: &parts.extensions,
        }
    }
}
