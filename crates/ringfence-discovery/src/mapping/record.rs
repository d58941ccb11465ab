use ringfence_core::{Instance, Scheme};

/// What a registry says of one instance in fields of its own, apart from metadata and tags. An adapter fills it with what it
/// read, unchecked: [`FieldMapping::apply`](crate::FieldMapping::apply) judges it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RegistryRecord<'a> {
    pub(super) id: &'a str,
    pub(super) place: Place<'a>,
    pub(super) version: Option<&'a str>,
    pub(super) zone: Option<&'a str>,
    pub(super) region: Option<&'a str>,
    pub(super) tenant: Option<&'a str>,
    pub(super) scheme: Option<Scheme>,
    pub(super) weight: Option<RegistryWeight>,
    pub(super) healthy: bool,
    pub(super) enabled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place<'a> {
    Parts { host: &'a str, port: i64 },
    Authority(&'a str),
}

/// A weight on the scale of a registry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RegistryWeight {
    pub(super) value: f64,
    pub(super) ordinary: f64,
}

impl<'a> RegistryRecord<'a> {
    /// A healthy, enabled record that names a host and a port. `id` is the registry's identity of it; the host may be an IPv6
    /// address with or without brackets, and the port may be any number that the registry accepts.
    #[must_use]
    pub fn new(id: &'a str, host: &'a str, port: i64) -> Self {
        Self::at(id, Place::Parts { host, port })
    }

    /// The same with the address in one text, `host:port`.
    #[must_use]
    pub fn with_authority(id: &'a str, authority: &'a str) -> Self {
        Self::at(id, Place::Authority(authority))
    }

    fn at(id: &'a str, place: Place<'a>) -> Self {
        Self {
            id,
            place,
            version: None,
            zone: None,
            region: None,
            tenant: None,
            scheme: None,
            weight: None,
            healthy: true,
            enabled: true,
        }
    }

    /// Sets the registry's own version.
    #[must_use]
    pub fn version(mut self, version: impl Into<Option<&'a str>>) -> Self {
        self.version = version.into();
        self
    }

    /// Sets the registry's own zone. Leave out a name that only says that nobody chose one, such as Nacos's `DEFAULT`.
    #[must_use]
    pub fn zone(mut self, zone: impl Into<Option<&'a str>>) -> Self {
        self.zone = zone.into();
        self
    }

    /// Sets the registry's own region.
    #[must_use]
    pub fn region(mut self, region: impl Into<Option<&'a str>>) -> Self {
        self.region = region.into();
        self
    }

    /// Sets the registry's own tenant.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<Option<&'a str>>) -> Self {
        self.tenant = tenant.into();
        self
    }

    /// Sets whether the registry itself says plain text or TLS.
    #[must_use]
    pub fn scheme(mut self, scheme: impl Into<Option<Scheme>>) -> Self {
        self.scheme = scheme.into();
        self
    }

    /// Sets the registry's own weight, with the number that an ordinary instance has there: 1 in Consul and Nacos, 10 in
    /// kitex.
    #[must_use]
    pub fn weight(mut self, value: f64, ordinary: f64) -> Self {
        self.weight = Some(RegistryWeight { value, ordinary });
        self
    }

    /// Sets whether the registry says that it is healthy. Default true.
    #[must_use]
    pub fn healthy(mut self, healthy: bool) -> Self {
        self.healthy = healthy;
        self
    }

    /// Sets whether an operator lets it take traffic. Default true.
    #[must_use]
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }
}

/// What came of a record that is an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mapped {
    /// The instance.
    pub instance: Instance,
    /// Metadata entries and tags that could not be kept as they are: left out since their name is illegal or there are too
    /// many, or cleaned since their value is illegal.
    pub altered_tags: usize,
}
