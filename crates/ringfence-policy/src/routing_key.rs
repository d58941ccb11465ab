//! The key that the program itself gives a request.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

use bytes::Bytes;

/// Keys of up to so many bytes, the text of a UUID among them, lie in the value itself.
const INLINE: usize = 38;

/// Request extension: the key of this request, set by the program itself.
///
/// Keys of up to 38 bytes, the text of a UUID among them, are held without an allocation. Longer ones are [`Bytes`], whose clones
/// share them.
///
/// ```
/// use ringfence_policy::RoutingKey;
///
/// let mut request = http::Request::get("/cart").body(())?;
/// request.extensions_mut().insert(RoutingKey::from("tenant-7"));
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone)]
pub struct RoutingKey(Held);

#[derive(Clone)]
enum Held {
    /// The first `len` of these bytes.
    Inline {
        len: u8,
        bytes: [u8; INLINE],
    },
    Shared(Bytes),
}

impl RoutingKey {
    /// A key with these bytes, for one that is only borrowed.
    ///
    /// ```
    /// use ringfence_policy::RoutingKey;
    ///
    /// let path = String::from("/carts/7");
    /// let cart = path.rsplit('/').next().unwrap_or_default();
    /// assert_eq!(RoutingKey::copy_from(cart), RoutingKey::from("7"));
    /// ```
    #[must_use]
    #[inline]
    pub fn copy_from(key: impl AsRef<[u8]>) -> Self {
        let key = key.as_ref();
        Self::inline(key).unwrap_or_else(|| Self(Held::Shared(Bytes::copy_from_slice(key))))
    }

    /// The bytes of the key.
    #[must_use]
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Held::Inline { len, bytes } => bytes.get(..usize::from(*len)).unwrap_or(bytes),
            Held::Shared(bytes) => bytes,
        }
    }

    /// `None` if it is too long for that.
    #[inline]
    fn inline(key: &[u8]) -> Option<Self> {
        let mut bytes = [0; INLINE];
        bytes.get_mut(..key.len())?.copy_from_slice(key);
        let len = u8::try_from(key.len()).ok()?;
        Some(Self(Held::Inline { len, bytes }))
    }

    #[inline]
    fn held<K: AsRef<[u8]> + Into<Bytes>>(key: K) -> Self {
        Self::inline(key.as_ref()).unwrap_or_else(|| Self(Held::Shared(key.into())))
    }
}

impl From<&'static str> for RoutingKey {
    fn from(key: &'static str) -> Self {
        Self::held(key.as_bytes())
    }
}

impl From<String> for RoutingKey {
    fn from(key: String) -> Self {
        Self::held(key)
    }
}

impl From<Bytes> for RoutingKey {
    fn from(key: Bytes) -> Self {
        Self::held(key)
    }
}

impl From<Vec<u8>> for RoutingKey {
    fn from(key: Vec<u8>) -> Self {
        Self::held(key)
    }
}

impl AsRef<[u8]> for RoutingKey {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for RoutingKey {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for RoutingKey {}

impl Hash for RoutingKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Debug for RoutingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RoutingKey(b\"{}\")", self.as_bytes().escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher as _, RandomState};

    use super::*;

    fn is_inline(key: &RoutingKey) -> bool {
        matches!(key.0, Held::Inline { .. })
    }

    #[test]
    fn keys_on_both_sides_of_the_border_are_held_exactly() {
        for len in [0, 1, INLINE - 1, INLINE, INLINE + 1, 255, 256, 257, 300] {
            let bytes: Vec<u8> = (0..len).map(|n| n.to_le_bytes()[0]).collect();
            let keys = [
                RoutingKey::copy_from(&bytes),
                RoutingKey::from(bytes.clone()),
                RoutingKey::from(Bytes::from(bytes.clone())),
            ];
            for key in keys {
                assert_eq!(key.as_bytes(), bytes);
                assert_eq!(key.clone().as_ref(), bytes);
                assert_eq!(is_inline(&key), len <= INLINE, "{len}");
            }
        }
    }

    #[test]
    fn texts_are_their_bytes() {
        const LONG: &str = "tenant-0123456789-0123456789-0123456789-0123456789";
        for text in ["", "tenant-7", LONG] {
            for key in [RoutingKey::from(text), RoutingKey::from(text.to_owned())] {
                assert_eq!(key.as_bytes(), text.as_bytes());
            }
        }
        let uuid = RoutingKey::from("67e55044-10b1-426f-9247-bb680e5fe0c8");
        assert!(is_inline(&uuid));
    }

    #[test]
    fn keys_are_equal_by_their_bytes_however_they_are_held() {
        let state = RandomState::new();
        let short = RoutingKey::from("a");
        let shared = RoutingKey(Held::Shared(Bytes::from_static(b"a")));
        assert_eq!(short, shared);
        assert_eq!(state.hash_one(&short), state.hash_one(&shared));
        assert_ne!(short, RoutingKey::from("a\0"));
        assert_ne!(short, RoutingKey::from("b"));
    }

    #[test]
    fn it_shows_as_text() {
        let key = RoutingKey::copy_from(b"a\"\xff");
        assert_eq!(format!("{key:?}"), r#"RoutingKey(b"a\"\xff")"#);
    }
}
