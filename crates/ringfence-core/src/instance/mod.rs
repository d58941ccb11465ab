//! One registered server and the checked types of its fields.

mod address;
mod attributes;
mod builder;
mod error;
mod id;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use self::{
    address::Address,
    attributes::{Health, Scheme, Tags, Weight},
    builder::InstanceBuilder,
    error::InstanceError,
    id::InstanceId,
};

/// Name of the tag that dedicates an instance to a tenant.
pub const TENANT_TAG: &str = "tenant";

/// One registered server of a service, with every field checked.
///
/// # Examples
/// ```
/// use ringfence_core::Instance;
///
/// let instance = Instance::builder("order-1", "10.0.0.1:8080")
///     .version("gray")
///     .zone("az-1")
///     .weight(200)
///     .tag("env", "prod")
///     .build()?;
/// assert_eq!(instance.tag("env"), Some("prod"));
/// assert!(instance.takes_traffic());
/// # Ok::<(), ringfence_core::InstanceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instance {
    id: InstanceId,
    address: Address,
    scheme: Scheme,
    weight: Weight,
    version: Option<Arc<str>>,
    region: Option<Arc<str>>,
    zone: Option<Arc<str>>,
    tags: Tags,
    health: Health,
    enabled: bool,
}

impl Instance {
    /// Starts an instance from its id and its `host:port`; the rest has defaults.
    pub fn builder(id: impl AsRef<str>, address: impl AsRef<str>) -> InstanceBuilder {
        InstanceBuilder::new(id.as_ref(), address.as_ref())
    }

    /// A builder with all fields of this instance, to change some.
    pub fn to_builder(&self) -> InstanceBuilder {
        InstanceBuilder::from_instance(self)
    }

    /// Stable identity; what is hashed onto the ring.
    #[must_use]
    pub fn id(&self) -> &InstanceId {
        &self.id
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Plain text or TLS.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Relative capacity.
    #[must_use]
    pub fn weight(&self) -> Weight {
        self.weight
    }

    /// Release that it runs.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Region that it runs in.
    #[must_use]
    pub fn region(&self) -> Option<&str> {
        self.region.as_deref()
    }

    /// Zone that it runs in.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    /// Tenant that it is dedicated to: the tag `tenant`.
    #[must_use]
    pub fn tenant(&self) -> Option<&str> {
        self.tag(TENANT_TAG)
    }

    /// The value of a tag.
    #[must_use]
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.tags.get(name)
    }

    /// All tags.
    #[must_use]
    pub fn tags(&self) -> &Tags {
        &self.tags
    }

    /// What the registry says of its health.
    #[must_use]
    pub fn health(&self) -> Health {
        self.health
    }

    /// Whether the registry says that it is healthy.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.health == Health::Healthy
    }

    /// Whether an operator lets it take traffic.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Whether it may own keys at all: enabled and not drained. Where this is false no traffic reaches it, not even in panic.
    #[must_use]
    pub fn takes_traffic(&self) -> bool {
        self.enabled && !self.weight.is_zero()
    }

    /// Whether requests may go to it as far as the registry tells: it [takes traffic](Self::takes_traffic) and is healthy.
    /// Whether it is ejected besides is for its client to know.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.takes_traffic() && self.is_healthy()
    }

    /// The weight that counts for the ring: 0 while disabled.
    pub(crate) fn effective_weight(&self) -> u32 {
        if self.enabled { self.weight.get() } else { 0 }
    }
}
