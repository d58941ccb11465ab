//! A copy of a request head that is cheap to make, because it is hardly ever used.

use std::mem;

use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};

/// Heads up to this size, in bytes, are copied without an allocation.
const INLINE: usize = 160;
/// Each piece of the copy is preceded by its length, whose highest bit marks a sensitive value.
const PREFIX: usize = size_of::<u32>();
const SENSITIVE: u32 = 1 << 31;

/// What a further attempt needs of a request head: all but the URI's scheme and authority, which
/// each attempt sets for itself.
///
/// Cloning a `HeaderMap` costs an allocation for the map and one for most of its values; here all
/// bytes go into one buffer, which lies in the future of the request and is filled there, because moving it would cost more.
#[derive(Default)]
pub(crate) struct SavedHead {
    method: Method,
    version: Version,
    extensions: Extensions,
    pieces: Pieces,
}

#[allow(
    clippy::large_enum_variant,
    reason = "it lies in the boxed future of a request, and the large variant is the usual one"
)]
enum Pieces {
    /// The bytes, and how many of them count.
    Inline([u8; INLINE], u8),
    Heap(Vec<u8>),
}

impl SavedHead {
    /// Becomes the copy of a head, once. False for a head that cannot be copied exactly; its request is sent once.
    #[must_use]
    pub(crate) fn fill(&mut self, head: &Parts, with_extensions: bool) -> bool {
        // What was taken out of it leaves an empty map behind, whose clone would allocate.
        if with_extensions && !head.extensions.is_empty() {
            self.extensions = head.extensions.clone();
        }
        if head.method != Method::GET {
            self.method = head.method.clone();
        }
        self.version = head.version;
        self.pieces.fill(head).is_some()
    }

    /// The head again. `None` if it cannot be made again exactly.
    pub(crate) fn restore(&self) -> Option<Parts> {
        let (mut head, ()) = Request::new(()).into_parts();
        head.method = self.method.clone();
        head.version = self.version;
        head.extensions = self.extensions.clone();
        let mut pieces = Reader(self.pieces.as_slice());
        let (path, _) = pieces.next()?;
        if !path.is_empty() {
            let path = PathAndQuery::try_from(path).ok()?;
            head.uri = Uri::from(path);
        }
        while let Some((name, _)) = pieces.next() {
            let (value, sensitive) = pieces.next()?;
            let name = HeaderName::from_bytes(name).ok()?;
            let mut value = HeaderValue::from_bytes(value).ok()?;
            value.set_sensitive(sensitive);
            head.headers.append(name, value);
        }
        Some(head)
    }
}

fn size(path: &str, headers: &HeaderMap) -> usize {
    let fields: usize = headers
        .iter()
        .map(|(name, value)| 2 * PREFIX + name.as_str().len() + value.len())
        .sum();
    PREFIX + path.len() + fields
}

impl Default for Pieces {
    fn default() -> Self {
        Self::Inline([0; INLINE], 0)
    }
}

impl Pieces {
    fn fill(&mut self, head: &Parts) -> Option<()> {
        let path = head.uri.path_and_query().map_or("", PathAndQuery::as_str);
        if let Self::Inline(room, used) = self
            && let Some(left) = Writer(room).write(path, &head.headers)
        {
            *used = u8::try_from(INLINE - left).ok()?;
            return Some(());
        }
        let mut room = vec![0; size(path, &head.headers)];
        Writer(&mut room).write(path, &head.headers)?;
        *self = Self::Heap(room);
        Some(())
    }

    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Inline(bytes, used) => bytes.get(..usize::from(*used)).unwrap_or_default(),
            Self::Heap(heap) => heap,
        }
    }
}

/// The room that is left.
struct Writer<'a>(&'a mut [u8]);

impl Writer<'_> {
    /// How much room is left then; `None` if it does not do.
    fn write(mut self, path: &str, headers: &HeaderMap) -> Option<usize> {
        self.push(path.as_bytes(), false)?;
        for (name, value) in headers {
            self.push(name.as_str().as_bytes(), false)?;
            self.push(value.as_bytes(), value.is_sensitive())?;
        }
        Some(self.0.len())
    }

    #[inline]
    fn push(&mut self, piece: &[u8], sensitive: bool) -> Option<()> {
        let length = u32::try_from(piece.len())
            .ok()
            .filter(|length| length & SENSITIVE == 0)?;
        let mark = if sensitive { SENSITIVE } else { 0 };
        let (prefix, rest) = mem::take(&mut self.0).split_first_chunk_mut()?;
        *prefix = (length | mark).to_ne_bytes();
        let (room, rest) = rest.split_at_mut_checked(piece.len())?;
        room.copy_from_slice(piece);
        self.0 = rest;
        Some(())
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<(&'a [u8], bool)> {
        let (prefix, rest) = self.0.split_first_chunk()?;
        let prefix = u32::from_ne_bytes(*prefix);
        let length = usize::try_from(prefix & !SENSITIVE).ok()?;
        let (piece, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((piece, prefix & SENSITIVE != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(head: &Parts, with_extensions: bool) -> Option<Parts> {
        let mut saved = SavedHead::default();
        assert!(saved.fill(head, with_extensions), "can be copied");
        saved.restore()
    }

    fn assert_restored(head: &Parts) {
        let restored = copied(head, true);
        let restored = restored.expect("can be copied");
        assert_eq!(restored.method, head.method);
        assert_eq!(restored.version, head.version);
        assert_eq!(restored.uri.path_and_query(), head.uri.path_and_query());
        assert_eq!(restored.headers, head.headers);
        for (name, value) in &head.headers {
            assert_eq!(restored.headers[name].is_sensitive(), value.is_sensitive());
        }
    }

    fn head(uri: &str) -> Parts {
        let (head, ()) = Request::patch(uri)
            .version(Version::HTTP_2)
            .header("te", "trailers")
            .header("x-empty", "")
            .header("x-many", "a")
            .header("x-many", "b")
            .body(())
            .expect("valid request")
            .into_parts();
        head
    }

    #[test]
    fn copies_are_exact() {
        for uri in [
            "/a?x=1&y=%2F",
            "//evil/x",
            "*",
            "http://host?q",
            "http://host",
            "/%e4",
        ] {
            assert_restored(&head(uri));
        }
    }

    #[test]
    fn values_of_any_byte_and_secrets_survive() {
        let mut head = head("/");
        let mut secret = HeaderValue::from_bytes(&[0xff, b' ', 0xe4, b'\t', 0x80]).expect("valid");
        secret.set_sensitive(true);
        head.headers.insert("authorization", secret);
        assert_restored(&head);
    }

    #[test]
    fn large_heads_survive() {
        let mut head = head("/");
        for length in [INLINE - 100, INLINE, 8_192] {
            let value = HeaderValue::try_from("x".repeat(length)).expect("valid");
            head.headers.append("x-large", value);
            assert_restored(&head);
        }
    }

    #[test]
    fn extensions_are_kept_where_they_are_wanted() {
        let mut head = head("/");
        head.extensions.insert(7_u32);
        let kept = copied(&head, true);
        assert_eq!(kept.expect("can be copied").extensions.get(), Some(&7_u32));
        let dropped = copied(&head, false);
        assert!(dropped.expect("can be copied").extensions.is_empty());
    }
}
