use std::{fmt, ops::Deref};

use arrayvec::ArrayVec;
use bytes::Bytes;

/// Keys up to this length are changed without an allocation.
const INLINE: usize = 128;

/// The bytes of a key: borrowed from the request where they stand in it like that.
#[derive(Clone)]
pub struct KeyBytes<'a>(Kind<'a>);

#[derive(Clone)]
#[allow(
    clippy::large_enum_variant,
    reason = "it lives on the stack for the time of one decision, so that it needs no allocation"
)]
enum Kind<'a> {
    Borrowed(&'a [u8]),
    Shared(Bytes),
    Inline(ArrayVec<u8, INLINE>),
    Heap(Vec<u8>),
}

impl<'a> KeyBytes<'a> {
    /// Borrowed bytes.
    #[must_use]
    pub fn borrowed(bytes: &'a [u8]) -> Self {
        Self(Kind::Borrowed(bytes))
    }

    pub(crate) fn shared(bytes: Bytes) -> Self {
        Self(Kind::Shared(bytes))
    }

    pub(crate) fn owned(bytes: Vec<u8>) -> Self {
        Self(Kind::Heap(bytes))
    }

    /// Nothing yet, to be written to.
    pub(crate) fn empty() -> Self {
        Self(Kind::Inline(ArrayVec::new()))
    }

    /// Without what `cut` leaves away at the ends; it is handed the bytes and returns a part of them.
    pub(crate) fn narrowed(self, cut: impl Fn(&[u8]) -> &[u8]) -> Self {
        let (from, len) = {
            let part = cut(&self);
            // An empty part may lie anywhere.
            match part.len() {
                0 => (0, 0),
                len => (
                    part.as_ptr().addr().saturating_sub(self.as_ptr().addr()),
                    len,
                ),
            }
        };
        if len == self.len() {
            return self;
        }
        Self(match self.0 {
            Kind::Borrowed(bytes) => {
                Kind::Borrowed(bytes.get(from..from + len).unwrap_or_default())
            }
            Kind::Shared(bytes) => Kind::Shared(bytes.slice(from..from + len)),
            Kind::Inline(mut bytes) => {
                bytes.truncate(from + len);
                drop(bytes.drain(..from));
                Kind::Inline(bytes)
            }
            Kind::Heap(mut bytes) => {
                bytes.truncate(from + len);
                drop(bytes.drain(..from));
                Kind::Heap(bytes)
            }
        })
    }

    /// For changing bytes in place.
    pub(crate) fn to_mut(&mut self) -> &mut [u8] {
        if let Kind::Borrowed(_) | Kind::Shared(_) = self.0 {
            let mut copy = Self::empty();
            copy.extend(self);
            *self = copy;
        }
        match &mut self.0 {
            Kind::Inline(bytes) => bytes,
            Kind::Heap(bytes) => bytes,
            Kind::Borrowed(_) | Kind::Shared(_) => &mut [],
        }
    }

    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Kind::Inline(inline) => {
                if inline.try_extend_from_slice(bytes).is_err() {
                    let mut heap = Vec::with_capacity(inline.len() + bytes.len());
                    heap.extend_from_slice(inline);
                    heap.extend_from_slice(bytes);
                    self.0 = Kind::Heap(heap);
                }
            }
            Kind::Heap(heap) => heap.extend_from_slice(bytes),
            Kind::Borrowed(_) | Kind::Shared(_) => {
                let mut copy = Self::empty();
                copy.extend(self);
                copy.extend(bytes);
                *self = copy;
            }
        }
    }

    pub(crate) fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    /// Drops what is behind this length.
    pub(crate) fn truncate(&mut self, len: usize) {
        match &mut self.0 {
            Kind::Borrowed(bytes) => *bytes = bytes.get(..len).unwrap_or(bytes),
            Kind::Shared(bytes) => bytes.truncate(len),
            Kind::Inline(bytes) => bytes.truncate(len),
            Kind::Heap(bytes) => bytes.truncate(len),
        }
    }
}

impl Deref for KeyBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Kind::Borrowed(bytes) => bytes,
            Kind::Shared(bytes) => bytes,
            Kind::Inline(bytes) => bytes,
            Kind::Heap(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for KeyBytes<'_> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for KeyBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(bytes: &[u8]) -> [KeyBytes<'_>; 4] {
        let mut inline = KeyBytes::empty();
        inline.extend(bytes);
        [
            KeyBytes::borrowed(bytes),
            KeyBytes::shared(Bytes::copy_from_slice(bytes)),
            inline,
            KeyBytes::owned(bytes.to_vec()),
        ]
    }

    #[test]
    fn all_kinds_can_be_cut_changed_and_extended() {
        for key in kinds(b" ab ") {
            let mut key = key.narrowed(|bytes| bytes.trim_ascii());
            assert_eq!(&*key, b"ab");
            key.to_mut()[0] = b'x';
            key.extend(b"cd");
            key.push(b'e');
            assert_eq!(&*key, b"xbcde");
            key.truncate(2);
            assert_eq!(&*key, b"xb");
            assert_eq!(&*key.narrowed(|_| &[]), b"");
        }
    }

    #[test]
    fn long_ones_go_to_the_heap() {
        let long = [7; INLINE + 1];
        for mut key in kinds(&long) {
            key.to_mut()[0] = 8;
            key.push(9);
            assert_eq!(
                (key.len(), key[0], key[INLINE], key[INLINE + 1]),
                (INLINE + 2, 8, 7, 9)
            );
        }
    }
}
