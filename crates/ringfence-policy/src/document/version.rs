use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The version of the document's format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DocumentVersion {
    /// `ringfence: 1`
    #[default]
    V1,
}

impl Serialize for DocumentVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::V1 => serializer.serialize_u32(1),
        }
    }
}

impl<'de> Deserialize<'de> for DocumentVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            1 => Ok(Self::V1),
            other => Err(D::Error::custom(format_args!(
                "version {other} of the format is not known here, only 1 is"
            ))),
        }
    }
}
