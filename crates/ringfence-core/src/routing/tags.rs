use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::pool::Attribute;

/// What a request asks of the instances that may serve it. Put into the request's extensions by the program (its
/// authentication layer, say), never read from the wire.
///
/// Values are trimmed of white space and otherwise compared exactly; an empty value asks for nothing.
///
/// # Examples
/// ```
/// use ringfence_core::RequestTags;
///
/// let tags = RequestTags::new().with_tenant("acme").with_version("gray");
/// assert_eq!(tags.to_string(), "version=gray, tenant=acme");
/// assert_eq!(tags, RequestTags::new().with_version(" gray").with_tenant("acme").with_zone(""));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[must_use]
pub struct RequestTags(BTreeMap<Attribute, Arc<str>>);

impl RequestTags {
    /// Asks for nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for a version.
    pub fn with_version(self, version: impl AsRef<str>) -> Self {
        self.with(Attribute::Version, version)
    }

    /// Names the zone that the caller prefers.
    pub fn with_zone(self, zone: impl AsRef<str>) -> Self {
        self.with(Attribute::Zone, zone)
    }

    /// Names the region that the caller prefers.
    pub fn with_region(self, region: impl AsRef<str>) -> Self {
        self.with(Attribute::Region, region)
    }

    /// Names the tenant on whose behalf the request is made.
    pub fn with_tenant(self, tenant: impl AsRef<str>) -> Self {
        self.with(Attribute::tenant(), tenant)
    }

    /// Asks for a value of a tag.
    pub fn with_tag(self, name: impl AsRef<str>, value: impl AsRef<str>) -> Self {
        self.with(Attribute::tag(name.as_ref()), value)
    }

    /// Asks for a value of an attribute, in place of one asked for before.
    pub fn with(mut self, attribute: Attribute, value: impl AsRef<str>) -> Self {
        self.put(attribute, value.as_ref());
        self
    }

    pub(super) fn put(&mut self, attribute: Attribute, value: &str) {
        match value.trim() {
            "" => self.0.remove(&attribute),
            value => self.0.insert(attribute, value.into()),
        };
    }

    /// What is asked of an attribute.
    #[must_use]
    pub fn get(&self, attribute: &Attribute) -> Option<&str> {
        self.0.get(attribute).map(|value| &**value)
    }

    /// All that is asked, in a fixed order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Attribute, &str)> {
        self.0
            .iter()
            .map(|(attribute, value)| (attribute, &**value))
    }

    /// Whether nothing is asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of all names and values: what keeping them costs.
    #[must_use]
    pub fn text_len(&self) -> usize {
        self.iter()
            .map(|(attribute, value)| {
                let name = if let Attribute::Tag(name) = attribute {
                    name.len()
                } else {
                    0
                };
                name + value.len()
            })
            .sum()
    }
}

impl fmt::Display for RequestTags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("untagged");
        }
        for (i, (attribute, value)) in self.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{attribute}={value}")?;
        }
        Ok(())
    }
}
