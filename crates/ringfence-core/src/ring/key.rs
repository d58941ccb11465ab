use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The hash of a key: its position on a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash(u64);

impl KeyHash {
    #[inline]
    pub(super) fn of(key: &[u8], seed: u64) -> Self {
        Self(xxh3_64_with_seed(key, seed))
    }

    /// A position given as a number, for keys that were hashed elsewhere or a random one.
    #[must_use]
    pub fn from_raw(position: u64) -> Self {
        Self(position)
    }

    /// The position as a number.
    #[inline]
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

/// A key with its hash: what a walk begins from.
///
/// Where a key was hashed elsewhere, a [`KeyHash`] alone will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashedKey<'k> {
    hash: KeyHash,
    bytes: Option<&'k [u8]>,
}

impl<'k> HashedKey<'k> {
    #[inline]
    pub(super) fn new(hash: KeyHash, key: &'k [u8]) -> Self {
        Self {
            hash,
            bytes: Some(key),
        }
    }

    pub(super) fn of_parts(hash: KeyHash, bytes: Option<&'k [u8]>) -> Self {
        Self { hash, bytes }
    }

    /// The hash.
    #[inline]
    #[must_use]
    pub fn hash(self) -> KeyHash {
        self.hash
    }

    /// The hash as a number.
    #[inline]
    #[must_use]
    pub fn get(self) -> u64 {
        self.hash.get()
    }

    /// The key itself; `None` of a mere hash.
    #[inline]
    #[must_use]
    pub fn bytes(self) -> Option<&'k [u8]> {
        self.bytes
    }
}

impl From<KeyHash> for HashedKey<'_> {
    #[inline]
    fn from(hash: KeyHash) -> Self {
        Self { hash, bytes: None }
    }
}
