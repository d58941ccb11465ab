//! Where the key of a request comes from.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderName;
use http::request::Parts;
use ringfence_policy::RoutingKey;

type Extract = Arc<dyn Fn(&Parts) -> Option<Bytes> + Send + Sync>;

/// One place in a request head from which its key is read.
///
/// An empty key counts as absent, as does one that is longer than the balancer's `max_key_len`;
/// the next source is asked then. What clients send is not trusted: read keys from headers only
/// where the client may choose its instance.
///
/// ```
/// use bytes::Bytes;
/// use http::HeaderName;
/// use ringfence_tower::KeySource;
///
/// // Asked in this order: what the program says, then `/v1/tenants/{tenant}/...`, then the client.
/// let sources = [
///     KeySource::extension(),
///     KeySource::path_segment(2),
///     KeySource::header(HeaderName::from_static("x-session")),
///     KeySource::from_fn(|head| head.uri.query().map(|q| Bytes::copy_from_slice(q.as_bytes()))),
/// ];
/// # let _ = sources;
/// ```
#[derive(Clone)]
pub struct KeySource {
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Extension,
    Header(HeaderName),
    PathSegment(usize),
    Function(Extract),
}

impl KeySource {
    /// The request extension [`RoutingKey`].
    #[must_use]
    pub fn extension() -> Self {
        Self {
            kind: Kind::Extension,
        }
    }

    pub(crate) fn is_extension(&self) -> bool {
        matches!(self.kind, Kind::Extension)
    }

    /// The first value of this HTTP header or gRPC metadata entry, byte for byte. Binary metadata
    /// (names that end in `-bin`) is hashed as it stands in the header, without decoding.
    #[must_use]
    pub fn header(name: HeaderName) -> Self {
        Self {
            kind: Kind::Header(name),
        }
    }

    /// This segment of the path, byte for byte, counted from 0: in `/v1/users/42` segment 2 is `42`.
    #[must_use]
    pub fn path_segment(index: usize) -> Self {
        Self {
            kind: Kind::PathSegment(index),
        }
    }

    /// What this function makes of the request head.
    #[must_use]
    pub fn from_fn<F>(extract: F) -> Self
    where
        F: Fn(&Parts) -> Option<Bytes> + Send + Sync + 'static,
    {
        Self {
            kind: Kind::Function(Arc::new(extract)),
        }
    }

    #[inline]
    fn read<'a>(&self, head: &'a Parts) -> Option<Key<'a>> {
        match &self.kind {
            Kind::Extension => {
                let key: &RoutingKey = head.extensions.get()?;
                Some(Key::Borrowed(key.as_bytes()))
            }
            _ => self.read_elsewhere(head),
        }
    }

    fn read_elsewhere<'a>(&self, head: &'a Parts) -> Option<Key<'a>> {
        match &self.kind {
            Kind::Extension => None,
            Kind::Header(name) => head
                .headers
                .get(name)
                .map(|value| Key::Borrowed(value.as_bytes())),
            Kind::PathSegment(index) => {
                let path = head.uri.path();
                let path = path.strip_prefix('/').unwrap_or(path);
                path.split('/')
                    .nth(*index)
                    .map(|segment| Key::Borrowed(segment.as_bytes()))
            }
            Kind::Function(extract) => extract(head).map(Key::Owned),
        }
    }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Extension => f.write_str("Extension"),
            Kind::Header(name) => f.debug_tuple("Header").field(name).finish(),
            Kind::PathSegment(index) => f.debug_tuple("PathSegment").field(index).finish(),
            Kind::Function(_) => f.write_str("Function"),
        }
    }
}

impl fmt::Display for KeySource {
    /// As in traces: `header x-user`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Extension => f.write_str("extension"),
            Kind::Header(name) => write!(f, "header {name}"),
            Kind::PathSegment(index) => write!(f, "path segment {index}"),
            Kind::Function(_) => f.write_str("function"),
        }
    }
}

/// The bytes of a key, borrowed from the request where they stand in it.
#[derive(Debug)]
pub(crate) enum Key<'a> {
    Borrowed(&'a [u8]),
    Owned(Bytes),
}

impl Key<'_> {
    #[inline]
    fn len(&self) -> usize {
        Borrow::<[u8]>::borrow(self).len()
    }
}

impl Borrow<[u8]> for Key<'_> {
    #[inline]
    fn borrow(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// Asked where the layer names no source: a program that sets a key wants it used.
static DEFAULT_SOURCES: [KeySource; 1] = [KeySource {
    kind: Kind::Extension,
}];

/// The key that the first source yields. Where only too long ones are found, the first of them:
/// the balancer counts it and then goes on as without a key.
#[inline]
pub(crate) fn find<'a, 's>(
    sources: &'s [KeySource],
    head: &'a Parts,
    max_len: usize,
) -> Option<(Key<'a>, &'s KeySource)> {
    let sources = if sources.is_empty() {
        &DEFAULT_SOURCES
    } else {
        sources
    };
    let mut any_too_long = false;
    for source in sources {
        if let Some(key) = source.read(head) {
            let len = key.len();
            if (1..=max_len).contains(&len) {
                return Some((key, source));
            }
            any_too_long |= len > max_len;
        }
    }
    if any_too_long {
        return first_too_long(sources, head, max_len);
    }
    None
}

/// Asks them once more: it is rare, and to keep what was found would make every search dearer.
#[cold]
fn first_too_long<'a, 's>(
    sources: &'s [KeySource],
    head: &'a Parts,
    max_len: usize,
) -> Option<(Key<'a>, &'s KeySource)> {
    sources.iter().find_map(|source| {
        let key = source.read(head)?;
        (key.len() > max_len).then_some((key, source))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(uri: &str) -> Parts {
        http::Request::get(uri)
            .header("x-user", "alice")
            .header("trace-bin", "AAECAw")
            .body(())
            .expect("valid request")
            .into_parts()
            .0
    }

    fn key(sources: &[KeySource], head: &Parts) -> Option<Vec<u8>> {
        find(sources, head, 16).map(|(key, _)| {
            let bytes: &[u8] = key.borrow();
            bytes.to_vec()
        })
    }

    #[test]
    fn each_source() {
        let mut head = head("/v1/users/42?x=1");
        let user = KeySource::header(HeaderName::from_static("x-user"));
        assert_eq!(key(&[user], &head).as_deref(), Some(&b"alice"[..]));
        let binary = KeySource::header(HeaderName::from_static("trace-bin"));
        assert_eq!(key(&[binary], &head).as_deref(), Some(&b"AAECAw"[..]));
        assert_eq!(
            key(&[KeySource::path_segment(2)], &head).as_deref(),
            Some(&b"42"[..])
        );
        assert_eq!(key(&[KeySource::path_segment(3)], &head), None);
        let method = KeySource::from_fn(|head| {
            Some(Bytes::copy_from_slice(head.method.as_str().as_bytes()))
        });
        assert_eq!(key(&[method], &head).as_deref(), Some(&b"GET"[..]));
        assert_eq!(key(&[KeySource::extension()], &head), None);
        head.extensions.insert(RoutingKey::from("t"));
        assert_eq!(
            key(&[KeySource::extension()], &head).as_deref(),
            Some(&b"t"[..])
        );
    }

    #[test]
    fn the_first_that_yields_one_wins() {
        let head = head("//evil/x");
        let sources = [
            KeySource::extension(),
            KeySource::path_segment(0),
            KeySource::path_segment(1),
            KeySource::path_segment(2),
        ];
        assert_eq!(key(&sources, &head).as_deref(), Some(&b"evil"[..]));
    }

    #[test]
    fn too_long_counts_as_absent() {
        let head = head("/aaaaaaaaaaaaaaaaa/b");
        let sources = [KeySource::path_segment(0), KeySource::path_segment(1)];
        assert_eq!(key(&sources, &head).as_deref(), Some(&b"b"[..]));
        let found = key(&sources[..1], &head).expect("handed on to be counted");
        assert_eq!(found.len(), 17);
    }

    #[test]
    fn odd_paths_have_no_key() {
        for uri in ["/", "*", "http://host", "http://host?q"] {
            assert_eq!(
                key(&[KeySource::path_segment(0)], &head(uri)).filter(|key| key != b"*"),
                None,
                "{uri}"
            );
        }
    }
}
