use std::{collections::BTreeSet, fmt, sync::Arc};

/// A field of an instance that a [`FieldMapping`](crate::FieldMapping) fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Field {
    /// The identity, which is what the ring hashes.
    Id,
    /// The release that it runs.
    Version,
    /// The zone that it runs in.
    Zone,
    /// The region that it runs in.
    Region,
    /// The tenant that it is dedicated to.
    Tenant,
    /// The relative capacity.
    Weight,
    /// Plain text or TLS.
    Scheme,
}

impl Field {
    pub(super) const COUNT: usize = 7;

    /// The field as one lower-case word, as reasons of rejection name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Version => "version",
            Self::Zone => "zone",
            Self::Region => "region",
            Self::Tenant => "tenant",
            Self::Weight => "weight",
            Self::Scheme => "scheme",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A place where the value of a field may be found. Names are compared exactly; an empty value is no value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldSource {
    /// The value of a metadata key.
    Meta(Arc<str>),
    /// The value of a `key=value` tag. A tag that is only the key has the value `true`.
    Tag(Arc<str>),
    /// What the registry itself says, such as Consul's datacenter for the region or Nacos's cluster for the zone.
    Registry,
    /// This text, always: what comes after it is never asked.
    Fixed(Arc<str>),
}

impl FieldSource {
    /// The value of the metadata key `key`.
    pub fn meta(key: impl Into<Arc<str>>) -> Self {
        Self::Meta(key.into())
    }

    /// The value of a tag `key=value`.
    pub fn tag(key: impl Into<Arc<str>>) -> Self {
        Self::Tag(key.into())
    }

    /// Always `value`.
    pub fn fixed(value: impl Into<Arc<str>>) -> Self {
        Self::Fixed(value.into())
    }

    /// The key that it reads, if it reads one.
    pub(super) fn key(&self) -> Option<&str> {
        match self {
            Self::Meta(key) | Self::Tag(key) => Some(key),
            Self::Registry | Self::Fixed(_) => None,
        }
    }
}

/// Which metadata keys and tags of a registry become tags of the instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TagPolicy {
    /// All that feed no field and are not reserved (default).
    #[default]
    Rest,
    /// These names, even where they feed a field or are reserved.
    Only(BTreeSet<String>),
    /// None.
    Nothing,
}
