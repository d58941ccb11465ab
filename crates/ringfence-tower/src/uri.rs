//! Points a request at an instance: scheme and authority change, path and query never do.

use std::mem;

use http::header::HOST;
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Uri, Version};

use crate::classify::field;

/// Why a request cannot be pointed at an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UriError {
    #[error("CONNECT names its target itself and cannot be balanced")]
    Connect,
    #[error("the URI cannot be pointed at an instance")]
    Invalid,
}

/// Replaces scheme and authority. Whatever stood there, user information included, is dropped.
pub(crate) fn point_at(
    head: &mut Parts,
    scheme: Scheme,
    authority: Authority,
) -> Result<(), UriError> {
    // An extended CONNECT (RFC 8441) has a path and is an ordinary request otherwise.
    if head.method == Method::CONNECT && head.uri.path_and_query().is_none() {
        return Err(UriError::Connect);
    }
    let mut parts = mem::take(&mut head.uri).into_parts();
    parts.scheme.replace(scheme);
    parts.authority.replace(authority);
    // With an authority the path may not be missing; an empty one means the root.
    let path = parts.path_and_query.as_ref().map(PathAndQuery::as_str);
    match path {
        Some(path) if !path.starts_with('?') => {}
        None => parts.path_and_query = Some(PathAndQuery::from_static("/")),
        Some(query) => {
            let path = PathAndQuery::try_from(format!("/{query}"));
            parts.path_and_query = Some(path.map_err(|_| UriError::Invalid)?);
        }
    }
    head.uri = Uri::from_parts(parts).map_err(|_| UriError::Invalid)?;
    Ok(())
}

/// Sets or removes the `Host` field, so that it never differs from what the connection says.
///
/// Over HTTP/2 the authority of the URI is the only one: the field goes.
pub(crate) fn set_host(head: &mut Parts, host: Option<&HeaderValue>) {
    match host {
        Some(host) if head.version < Version::HTTP_2 => {
            head.headers.insert(HOST, host.clone());
        }
        _ => remove_host(&mut head.headers),
    }
}

/// Hardly any request has one.
#[inline]
pub(crate) fn remove_host(headers: &mut HeaderMap) {
    if field(headers, &HOST).is_some() {
        headers.remove(HOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointed(method: Method, uri: Uri) -> Result<Uri, UriError> {
        let (mut head, ()) = http::Request::new(()).into_parts();
        head.method = method;
        head.uri = uri;
        let authority = Authority::from_static("10.0.0.1:80");
        point_at(&mut head, Scheme::HTTP, authority)?;
        Ok(head.uri)
    }

    #[test]
    fn path_and_query_stay_byte_for_byte() {
        let cases = [
            ("/a?x=1&y=%2F", "/a?x=1&y=%2F"),
            ("/", "/"),
            ("http://orders", "/"),
            ("http://orders?q", "/?q"),
            ("//evil/x", "//evil/x"),
            ("/%e4%b8%ad", "/%e4%b8%ad"),
            ("http://user:secret@orders:8080/p", "/p"),
            ("https://orders/a//b/../c?d=e?f", "/a//b/../c?d=e?f"),
            ("orders:80", "/"),
        ];
        for (uri, path) in cases {
            let uri: Uri = uri.parse().expect("valid URI");
            let pointed = pointed(Method::GET, uri).expect("can be pointed");
            assert_eq!(pointed.to_string(), format!("http://10.0.0.1:80{path}"));
            let seen = pointed.path_and_query().map(PathAndQuery::as_str);
            assert_eq!(seen, Some(path));
        }
    }

    #[test]
    fn options_star_keeps_its_star() {
        let pointed = pointed(Method::OPTIONS, Uri::from_static("*")).expect("can be pointed");
        assert_eq!(pointed.path(), "*");
        assert_eq!(
            pointed.authority().map(Authority::as_str),
            Some("10.0.0.1:80")
        );
    }

    #[test]
    fn connect_is_refused() {
        let uri = Uri::from_static("orders:443");
        assert_eq!(pointed(Method::CONNECT, uri), Err(UriError::Connect));
    }

    #[test]
    fn hosts_never_differ() {
        let (mut head, ()) = http::Request::new(()).into_parts();
        head.headers.append(HOST, HeaderValue::from_static("x"));
        head.headers.append(HOST, HeaderValue::from_static("y"));
        let orders = HeaderValue::from_static("orders");
        set_host(&mut head, Some(&orders));
        assert_eq!(
            head.headers.get_all(HOST).iter().collect::<Vec<_>>(),
            [&orders]
        );
        head.version = Version::HTTP_2;
        set_host(&mut head, Some(&orders));
        assert!(head.headers.get(HOST).is_none());
        head.headers.insert(HOST, HeaderValue::from_static("x"));
        head.version = Version::HTTP_11;
        set_host(&mut head, None);
        assert!(head.headers.get(HOST).is_none());
    }
}
