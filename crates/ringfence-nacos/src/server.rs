use std::fmt;

use ringfence_core::Address;

use crate::NacosConfigError;

const DEFAULT_PORT: u16 = 8848;
/// The servers listen for gRPC this much above their HTTP port.
pub(crate) const GRPC_OFFSET: u16 = 1000;

/// The address of one Nacos server: where it serves HTTP.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Server(Address);

impl Server {
    /// `host`, `host:port` or `[v6]:port`, with or without `http://`.
    pub(crate) fn parse(text: &str) -> Result<Self, NacosConfigError> {
        let invalid = || {
            NacosConfigError::new(
                "server",
                "`host` or `host:port`, plain text (`http://` may stand before it), without path or credentials",
            )
        };
        let text = text.trim();
        let text = match text.split_once("://") {
            None => text,
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            // The library is built without TLS; a password must not go out in the clear to who asked for it.
            Some(_) => return Err(invalid()),
        };
        let text = text.strip_suffix('/').unwrap_or(text);
        let has_port = match text.strip_prefix('[') {
            Some(v6) => v6.contains("]:"),
            None => text.contains(':'),
        };
        let address = if has_port {
            text.parse::<Address>()
        } else {
            let bare = text.strip_prefix('[').and_then(|v6| v6.strip_suffix(']'));
            Address::try_new(bare.unwrap_or(text), DEFAULT_PORT)
        };
        Ok(Self(address.map_err(|_| invalid())?))
    }

    /// Where it listens for gRPC by Nacos's rule; `None` where that is no port.
    pub(crate) fn grpc_port(&self) -> Option<u16> {
        self.0.port().checked_add(GRPC_OFFSET)
    }

    /// Host without brackets.
    pub(crate) fn host(&self) -> &str {
        self.0.host()
    }

    /// The beginning of the URLs of its HTTP interface.
    pub(crate) fn http_origin(&self) -> String {
        format!("http://{}", self.0)
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_before_the_client_library_sees_them() {
        for (text, expected) in [
            ("nacos.internal", "nacos.internal:8848"),
            (" 10.0.0.1:8850 ", "10.0.0.1:8850"),
            ("[::1]", "[::1]:8848"),
            ("[::1]:9", "[::1]:9"),
        ] {
            assert_eq!(
                Server::parse(text).expect(text).to_string(),
                expected,
                "{text}"
            );
        }
        for bad in [
            "", "bad host", "h:70000", "h:x", "h:0", "u:p@h:80", "ftp://h", "h/path", "a,b", "::1",
        ] {
            assert!(Server::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_build_without_tls_refuses_to_speak_plain_text_to_a_tls_address() {
        assert!(Server::parse("http://h:80").is_ok());
        assert!(Server::parse("https://h:80").is_err());
    }
}
