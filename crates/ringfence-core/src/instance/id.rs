use std::{fmt, sync::Arc};

use super::{InstanceError, error::has_control};

/// The stable identity of an instance inside its service.
///
/// It is the only field of an instance that is hashed onto the ring, so it must survive restarts and re-registrations of
/// the same logical server (a registry's own id, a `StatefulSet` ordinal); an id made of a pod's address moves the keys of
/// every redeployed pod.
///
/// # Examples
/// ```
/// use ringfence_core::InstanceId;
///
/// let id = InstanceId::try_new("order-svc-1")?;
/// assert_eq!(id.as_str(), "order-svc-1");
/// assert!(InstanceId::try_new("").is_err());
/// # Ok::<(), ringfence_core::InstanceError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(Arc<str>);

impl InstanceId {
    /// Longest legal id, in bytes.
    pub const MAX_LEN: usize = 255;

    /// Checks `id`: 1 to 255 bytes of UTF-8 without control characters. Nothing is trimmed or folded, since the bytes are
    /// what is hashed.
    ///
    /// # Errors
    /// [`InstanceError::Id`] when the text is empty, too long, or has a control character.
    pub fn try_new(id: impl AsRef<str>) -> Result<Self, InstanceError> {
        let id = id.as_ref();
        if id.is_empty() || id.len() > Self::MAX_LEN || has_control(id) {
            return Err(InstanceError::Id { len: id.len() });
        }
        Ok(Self(id.into()))
    }

    /// The id as it was registered.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether they are equal; that copies of one are costs no look at the text.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self == other
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl AsRef<str> for InstanceId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}
