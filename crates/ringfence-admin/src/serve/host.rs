//! The name that a browser asked for.
//!
//! A foreign site can let its own name lead to a loopback address (DNS rebinding) and then read the page as its own. The header
//! `Host` tells such a request apart: it has the foreign name.

use std::net::IpAddr;

use http::{HeaderMap, Uri, header, uri::Authority};

/// Whether a request was for this machine by one of its own names.
pub(super) fn is_local(uri: &Uri, headers: &HeaderMap) -> bool {
    let mut named = headers.get_all(header::HOST).iter();
    let host = match (named.next(), named.next()) {
        (Some(host), None) => host,
        // HTTP/1.0 has none; such a program is no browser, but nothing is lost by asking for it.
        _ => return false,
    };
    let Ok(authority) = Authority::try_from(host.as_bytes()) else {
        return false;
    };
    // A request in absolute form must not have another name than its header.
    let uri_host = uri.host();
    is_local_name(authority.host()) && uri_host.is_none_or(is_local_name)
}

fn is_local_name(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if name == "localhost" || name.ends_with(".localhost") {
        return true;
    }
    let address = name.trim_start_matches('[').trim_end_matches(']');
    let address = address.parse::<IpAddr>();
    address.is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, Request};

    use super::*;

    fn is_local_host(hosts: &[&str]) -> bool {
        let mut request = Request::get("/").body(()).expect("legal");
        for host in hosts {
            let host = HeaderValue::from_str(host).expect("legal");
            request.headers_mut().append(header::HOST, host);
        }
        is_local(request.uri(), request.headers())
    }

    #[test]
    fn names_of_this_machine() {
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "localhost.",
            "ringfence.localhost:1",
            "127.0.0.1",
            "127.9.9.9:80",
            "[::1]",
            "[::1]:8080",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert!(is_local_host(&[host]), "{host}");
        }
    }

    #[test]
    fn foreign_names_and_none() {
        for host in [
            "evil.example",
            "evil.example:8080",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "notlocalhost",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
            "169.254.169.254",
            "",
            "user@localhost@evil",
            "2130706433",
        ] {
            assert!(!is_local_host(&[host]), "{host}");
        }
        assert!(!is_local_host(&[]));
        assert!(!is_local_host(&["localhost", "evil.example"]));
    }

    #[test]
    fn the_absolute_form_counts_too() {
        let request = Request::get("http://evil.example/").header(header::HOST, "localhost");
        let request = request.body(()).expect("legal");
        assert!(!is_local(request.uri(), request.headers()));
    }
}
