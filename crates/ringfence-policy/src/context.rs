use std::{collections::BTreeMap, fmt, sync::Arc};

use bytes::Bytes;

use crate::{RequestHead, TagAuthority};

pub(crate) type KeyFunction = Arc<dyn Fn(&RequestHead<'_>) -> Option<Bytes> + Send + Sync>;

/// What a policy needs that no document can say: where the client is, whom to believe, and code.
///
/// # Examples
/// ```
/// use bytes::Bytes;
/// use ringfence_policy::{KeySecret, PolicyContext, PolicyDocument};
///
/// let context = PolicyContext::new()
///     .with_zone("az-1")
///     .with_function("shard", |head| head.path.rsplit('/').next().map(|s| Bytes::copy_from_slice(s.as_bytes())));
/// let policy = PolicyDocument::parse_and_compile(
///     "{ ringfence: 1, rules: [{ name: all, key: [{ function: shard }] }] }",
///     &context,
/// )?;
/// # let _ = policy;
/// # Ok::<(), ringfence_policy::PolicyError>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct PolicyContext {
    pub(crate) zone: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) functions: BTreeMap<String, KeyFunction>,
    pub(crate) secrets: BTreeMap<String, KeySecret>,
    pub(crate) authority: Option<TagAuthority>,
}

impl PolicyContext {
    /// Nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// The zone of this client; empty stands for none.
    pub fn with_zone(mut self, zone: impl Into<String>) -> Self {
        self.zone = known(&zone.into());
        self
    }

    /// The region of this client; empty stands for none.
    pub fn with_region(mut self, region: impl Into<String>) -> Self {
        self.region = known(&region.into());
        self
    }

    /// A function that documents can name as a key source; one of the same name is replaced. It is called while a request is
    /// decided, so it must not block, and where it panics the caller's request does.
    pub fn with_function<F>(mut self, name: impl Into<String>, key: F) -> Self
    where
        F: Fn(&RequestHead<'_>) -> Option<Bytes> + Send + Sync + 'static,
    {
        self.functions.insert(name.into(), Arc::new(key));
        self
    }

    /// A secret that documents can name for keyed hashes; one of the same name is replaced.
    pub fn with_secret(mut self, name: impl Into<String>, secret: KeySecret) -> Self {
        self.secrets.insert(name.into(), secret);
        self
    }

    /// Whose tokens are believed; default nobody's.
    pub fn with_authority(mut self, authority: &TagAuthority) -> Self {
        self.authority = Some(authority.clone());
        self
    }
}

fn known(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

impl fmt::Debug for PolicyContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyContext")
            .field("zone", &self.zone)
            .field("region", &self.region)
            .field("functions", &self.functions.keys())
            .field("secrets", &self.secrets.keys())
            .field("authority", &self.authority)
            .finish()
    }
}

/// A secret of 16 bytes for keyed hashes. All clients of a service must have the same one to agree on the owners of keys.
#[derive(Clone, PartialEq, Eq)]
pub struct KeySecret([u8; 16]);

impl KeySecret {
    /// These bytes.
    #[must_use]
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// SipHash-2-4 of a key, least byte first.
    pub(crate) fn mac(&self, key: &[u8]) -> [u8; 8] {
        siphasher::sip::SipHasher24::new_with_key(&self.0)
            .hash(key)
            .to_le_bytes()
    }
}

impl fmt::Debug for KeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeySecret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mac_is_siphash_2_4() {
        // The first vectors of its reference implementation: key 00..0f, messages of 0 and 1 byte.
        let secret = KeySecret::new(std::array::from_fn(|i| u8::try_from(i).unwrap()));
        assert_eq!(
            secret.mac(&[]),
            [0x31, 0x0e, 0x0e, 0xdd, 0x47, 0xdb, 0x6f, 0x72]
        );
        assert_eq!(
            secret.mac(&[0]),
            [0xfd, 0x67, 0xdc, 0x93, 0xc5, 0x39, 0xf8, 0x74]
        );
    }

    #[test]
    fn secrets_are_not_shown() {
        let context = PolicyContext::new().with_secret("pepper", KeySecret::new([65; 16]));
        assert!(!format!("{context:?}").contains("65"));
        assert!(format!("{context:?}").contains("pepper"));
    }
}
