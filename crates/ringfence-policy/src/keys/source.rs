use std::{fmt, net::IpAddr};

use http::{HeaderName, HeaderValue, header::GetAll};

use super::{KeyBytes, NormalisedSource, Reading, binary, cookie, query};
use crate::{PeerAddress, RequestHead, RoutingKey, VerifiedClaims, context::KeyFunction};

/// Between the values of a header; no value can have it.
const BETWEEN: u8 = 0;

/// A checked [`KeyFrom`](crate::KeyFrom).
#[derive(Clone)]
pub(crate) enum Source {
    Extension,
    Claim(Box<str>),
    Header(HeaderName),
    Binary(HeaderName),
    Cookie(Box<str>),
    Query(Box<str>),
    PathSegment(usize),
    Peer,
    Function(Box<str>, KeyFunction),
    All(Box<[NormalisedSource]>),
}

impl Source {
    /// What it has, empty or too long as it may be; where it is too long, perhaps not all of it.
    pub(super) fn read<'a>(&'a self, head: &RequestHead<'a>, max_len: usize) -> Reading<'a> {
        match self {
            Self::Extension => Reading::of(head.extensions.get().map(RoutingKey::as_bytes)),
            Self::Claim(name) => {
                let claims = head.extensions.get::<VerifiedClaims>();
                Reading::of(claims.and_then(|claims| claims.get(name)))
            }
            Self::Header(name) => joined(&head.headers.get_all(name), max_len),
            Self::Binary(name) => binary::decoded(&head.headers.get_all(name), max_len),
            Self::Cookie(name) => Reading::of(cookie::find(head.headers, name)),
            Self::Query(name) => head
                .query
                .and_then(|query| query::find(query, name))
                .map_or(Reading::Absent, Reading::Key),
            Self::PathSegment(index) => {
                let path = head.path.strip_prefix('/').unwrap_or(head.path);
                Reading::of(path.split('/').nth(*index).map(str::as_bytes))
            }
            Self::Peer => match head.extensions.get::<PeerAddress>() {
                Some(peer) => Reading::Key(octets(peer.get())),
                None => Reading::Absent,
            },
            Self::Function(_, function) => match function(head) {
                Some(key) => Reading::Key(KeyBytes::shared(key)),
                None => Reading::Absent,
            },
            Self::All(sources) => all(sources, head, max_len),
        }
    }
}

fn joined<'a>(values: &GetAll<'a, HeaderValue>, max_len: usize) -> Reading<'a> {
    let mut values = values.iter().map(HeaderValue::as_bytes);
    let Some(first) = values.next() else {
        return Reading::Absent;
    };
    let mut key = KeyBytes::borrowed(first);
    for value in values {
        key.push(BETWEEN);
        key.extend(value);
        if key.len() > max_len {
            return Reading::TooLong;
        }
    }
    Reading::Key(key)
}

fn octets(address: IpAddr) -> KeyBytes<'static> {
    let mut key = KeyBytes::empty();
    match address {
        IpAddr::V4(address) => key.extend(&address.octets()),
        IpAddr::V6(address) => key.extend(&address.octets()),
    }
    key
}

fn all<'a>(sources: &'a [NormalisedSource], head: &RequestHead<'a>, max_len: usize) -> Reading<'a> {
    let mut key = KeyBytes::empty();
    for source in sources {
        match source.read(head, max_len) {
            Reading::Key(part) => push_with_length(&mut key, &part),
            other => return other,
        }
        if key.len() > max_len {
            return Reading::TooLong;
        }
    }
    Reading::Key(key)
}

/// The length in four bytes, least first, then the bytes.
pub(super) fn push_with_length(key: &mut KeyBytes<'_>, part: &[u8]) {
    // Parts are bounded far below.
    let len = u32::try_from(part.len()).unwrap_or(u32::MAX);
    key.extend(&len.to_le_bytes());
    key.extend(part);
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Source {
    /// `header x-user`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Extension => f.write_str("extension"),
            Self::Claim(name) => write!(f, "claim {name}"),
            Self::Header(name) | Self::Binary(name) => write!(f, "header {name}"),
            Self::Cookie(name) => write!(f, "cookie {name}"),
            Self::Query(name) => write!(f, "query {name}"),
            Self::PathSegment(index) => write!(f, "path segment {index}"),
            Self::Peer => f.write_str("peer"),
            Self::Function(name, _) => write!(f, "function {name}"),
            Self::All(sources) => {
                f.write_str("all of ")?;
                for (i, source) in sources.iter().enumerate() {
                    let plus = if i == 0 { "" } else { " + " };
                    write!(f, "{plus}{}", source.source)?;
                }
                Ok(())
            }
        }
    }
}
