use std::sync::Arc;

use super::{
    Address, Health, Instance, InstanceError, InstanceId, Scheme, TENANT_TAG, Tags, Weight,
    error::has_control,
};

/// Collects the fields of an [`Instance`]; all checks happen in [`build`](InstanceBuilder::build).
#[derive(Clone, Debug)]
#[must_use]
pub struct InstanceBuilder {
    id: String,
    address: String,
    scheme: Scheme,
    weight: u32,
    version: Option<String>,
    region: Option<String>,
    zone: Option<String>,
    tags: Vec<(String, String)>,
    health: Health,
    enabled: bool,
}

impl InstanceBuilder {
    pub(super) fn new(id: &str, address: &str) -> Self {
        Self {
            id: id.to_owned(),
            address: address.to_owned(),
            scheme: Scheme::default(),
            weight: Weight::DEFAULT.get(),
            version: None,
            region: None,
            zone: None,
            tags: Vec::new(),
            health: Health::default(),
            enabled: true,
        }
    }

    pub(super) fn from_instance(instance: &Instance) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Self {
            id: instance.id().as_str().to_owned(),
            address: instance.address().to_string(),
            scheme: instance.scheme(),
            weight: instance.weight().get(),
            version: owned(instance.version()),
            region: owned(instance.region()),
            zone: owned(instance.zone()),
            tags: instance
                .tags()
                .iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            health: instance.health(),
            enabled: instance.is_enabled(),
        }
    }

    /// Plain text or TLS; default plain text.
    pub fn scheme(mut self, scheme: Scheme) -> Self {
        self.scheme = scheme;
        self
    }

    /// Relative capacity; default 100, range 0..=1,000,000; 0 drains.
    pub fn weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// Release that the instance runs: at most 256 bytes without control characters, trimmed; empty means none.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Region that the instance runs in; limits as for the [version](Self::version).
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// Zone that the instance runs in; limits as for the [version](Self::version).
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.zone = Some(zone.into());
        self
    }

    /// Dedicates the instance to a tenant: the tag `tenant`.
    pub fn tenant(self, tenant: impl Into<String>) -> Self {
        self.tag(TENANT_TAG, tenant)
    }

    /// Adds a tag, or replaces the one of this name; an empty value removes it.
    pub fn tag(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.push((name.into(), value.into()));
        self
    }

    /// Adds tags.
    pub fn tags<N, V>(mut self, tags: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<String>,
        V: Into<String>,
    {
        self.tags
            .extend(tags.into_iter().map(|(n, v)| (n.into(), v.into())));
        self
    }

    /// What the registry says of its health; default healthy.
    pub fn health(mut self, health: Health) -> Self {
        self.health = health;
        self
    }

    /// Shorthand for [`health`](Self::health).
    pub fn healthy(self, healthy: bool) -> Self {
        self.health(if healthy {
            Health::Healthy
        } else {
            Health::Unhealthy
        })
    }

    /// Whether an operator lets it take traffic; default true. A disabled instance gets none, not even in panic.
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Checks every field.
    ///
    /// # Errors
    /// The first [`InstanceError`] found.
    pub fn build(self) -> Result<Instance, InstanceError> {
        Ok(Instance {
            id: InstanceId::try_new(&self.id)?,
            address: self.address.parse::<Address>()?,
            scheme: self.scheme,
            weight: Weight::try_new(self.weight)?,
            version: label("version", self.version)?,
            region: label("region", self.region)?,
            zone: label("zone", self.zone)?,
            tags: Tags::try_new(self.tags)?,
            health: self.health,
            enabled: self.enabled,
        })
    }
}

/// Longest version, region or zone, in bytes.
pub(super) const MAX_LABEL: usize = 256;

fn label(field: &'static str, value: Option<String>) -> Result<Option<Arc<str>>, InstanceError> {
    let Some(value) = value else { return Ok(None) };
    let value = value.trim();
    if value.len() > MAX_LABEL || has_control(value) {
        return Err(InstanceError::Label { field });
    }
    Ok((!value.is_empty()).then(|| value.into()))
}
