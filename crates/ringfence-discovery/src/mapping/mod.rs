//! From what a registry holds to the fields of an instance.

mod apply;
#[cfg(feature = "register")]
mod describe;
mod record;
mod source;
#[cfg(test)]
mod tests;
mod weight;

use std::num::NonZeroU32;

#[cfg(feature = "register")]
pub use self::describe::UnmappedField;
pub use self::{
    record::{Mapped, RegistryRecord},
    source::{Field, FieldSource, TagPolicy},
};

/// Metadata key under which the registrars of Ringfence keep the id of an instance, where the registry has no room for one.
pub const ID_KEY: &str = "ringfence-id";

/// Which metadata keys and tags of a registry give which field of an instance: one table for all registries.
///
/// Each field has an ordered list of [`FieldSource`]s; the first that has a non-empty value gives it. A field without sources,
/// or whose sources have no value, is absent (the weight is then 100, the scheme plain text, the id the registry's own).
///
/// # The default table
/// | field | asked in this order | value |
/// |---|---|---|
/// | id | metadata `ringfence-id`, registry | as it is; what the registry's own identity is, each adapter says |
/// | version | metadata `version`, tag `version=`, registry | as it is |
/// | zone | metadata `zone`, tag `zone=`, registry | as it is |
/// | region | metadata `region`, tag `region=`, registry | as it is |
/// | tenant | metadata `tenant`, tag `tenant=`, registry | as it is |
/// | weight | metadata `weight`, tag `weight=`, registry | a number, fractions allowed, of which an ordinary instance has 100 (in metadata and tags) or what the registry's convention has. Scaled to 100, rounded, above 0 at least 1, at most 1,000,000. **A registry weight of 0 drains, whatever the metadata says**, if the registry is asked at all |
/// | scheme | metadata `secure`, tag `secure=`, registry, metadata `scheme`, `protocol`, `kind`, tag `scheme=` | `true`, `yes`, `on`, `1`, `https`, `grpcs` are TLS; `false`, `no`, `off`, `0`, `http`, `grpc`, `h2c` plain text; anything else (`dubbo`, `tri`) says nothing, and the next source is asked |
///
/// [`FieldMapping::for_nacos`] differs in one line: there the weight is the registry's alone, since every Nacos instance has
/// one, operators change it there, and kratos and dubbo copy their metadata's into it.
///
/// What these conventions register is understood as it is:
/// | convention | what it has | becomes |
/// |---|---|---|
/// | Spring Cloud | metadata `secure`, `zone`, `version`; Nacos: `nacos.*`, `preserved.*` | scheme, zone, version; not routed on. Where the zone is read from another key, such as `spring-zone`, `zone` is a tag |
/// | kratos | Consul tag `version=`, Nacos and etcd metadata `version`, `kind`, `weight` | version, scheme, weight |
/// | kitex | weight of which 10 is ordinary, tags as metadata | weight, tags |
/// | dubbo | parameters of the URL as metadata: `version`, `weight`, `protocol`, `zone`; `tag`, `group` and so on | the fields; the others tags |
///
/// # The rest
/// Metadata keys and `key=value` tags that feed no field become tags of the instance (a tag that is only a key has the value
/// `true`); of equal names metadata wins, then the first tag. Names that begin with a reserved prefix (`preserved.`, `nacos.`,
/// `ringfence-`) are the registry's own business and never become tags. [`TagPolicy`] changes this.
///
/// # Bad values
/// A record is rejected, with a reason, when the address or the id is illegal, when the value of version, zone, region or
/// tenant is (it decides who may be sent there), and when the weight is negative or no number. Any other metadata is kept
/// if it can be: a name that is empty, too long or has control characters is left out, a value that is too long is cut and its
/// control characters become spaces, and of more than 256 tags the first by name stay. [`Mapped::altered_tags`] counts these.
///
/// # Examples
/// ```
/// use ringfence_core::Scheme;
/// use ringfence_discovery::{Field, FieldMapping, FieldSource, RegistryRecord};
///
/// let mapping = FieldMapping::default()
///     .with_sources(Field::Zone, [FieldSource::meta("availability-zone"), FieldSource::Registry]);
/// let record = RegistryRecord::new("order-1", "10.0.0.1", 8443).weight(0.5, 1.0);
/// let metadata = [("availability-zone", "az-1"), ("secure", "true"), ("lane", "blue")];
///
/// let instance = mapping.apply(&record, metadata, ["version=v2"])?.instance;
/// assert_eq!((instance.zone(), instance.version()), (Some("az-1"), Some("v2")));
/// assert_eq!((instance.scheme(), instance.weight().get()), (Scheme::Https, 50));
/// assert_eq!(instance.tag("lane"), Some("blue"));
///
/// let bad = mapping.apply(&RegistryRecord::new("order-2", "10.0.0.2", 70_000), [], []);
/// assert!(bad.is_err());
/// # Ok::<(), ringfence_discovery::RejectedRecord>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldMapping {
    sources: [Vec<FieldSource>; Field::COUNT],
    tags: TagPolicy,
    reserved: Vec<String>,
    ordinary_weight: NonZeroU32,
    registry_ordinary_weight: Option<NonZeroU32>,
}

impl Default for FieldMapping {
    fn default() -> Self {
        let labelled = |key: &'static str| {
            [
                FieldSource::meta(key),
                FieldSource::tag(key),
                FieldSource::Registry,
            ]
        };
        Self {
            sources: Default::default(),
            tags: TagPolicy::Rest,
            reserved: ["preserved.", "nacos.", "ringfence-"]
                .map(Into::into)
                .into(),
            ordinary_weight: NonZeroU32::MIN.saturating_add(99),
            registry_ordinary_weight: None,
        }
        .with_sources(
            Field::Id,
            [FieldSource::meta(ID_KEY), FieldSource::Registry],
        )
        .with_sources(Field::Version, labelled("version"))
        .with_sources(Field::Zone, labelled("zone"))
        .with_sources(Field::Region, labelled("region"))
        .with_sources(Field::Tenant, labelled("tenant"))
        .with_sources(Field::Weight, labelled("weight"))
        .with_sources(
            Field::Scheme,
            labelled("secure").into_iter().chain([
                FieldSource::meta("scheme"),
                FieldSource::meta("protocol"),
                FieldSource::meta("kind"),
                FieldSource::tag("scheme"),
            ]),
        )
    }
}

impl FieldMapping {
    /// The default table, but with the registry's own weight alone.
    #[must_use]
    pub fn for_nacos() -> Self {
        Self::default().with_sources(Field::Weight, [FieldSource::Registry])
    }

    /// Where the value of a field is looked for, in order.
    #[must_use]
    pub fn sources(&self, field: Field) -> &[FieldSource] {
        &self.sources[field as usize]
    }

    /// Sets where the value of a field is looked for, in order; nothing means that the field is absent. Keys that no field
    /// reads any more become tags.
    #[must_use]
    pub fn with_sources(
        mut self,
        field: Field,
        sources: impl IntoIterator<Item = FieldSource>,
    ) -> Self {
        self.sources[field as usize] = sources.into_iter().collect();
        self
    }

    /// Which metadata keys and tags become tags of the instance. Default [`TagPolicy::Rest`].
    #[must_use]
    pub fn tag_policy(&self) -> &TagPolicy {
        &self.tags
    }

    /// Sets which metadata keys and tags become tags of the instance.
    #[must_use]
    pub fn with_tag_policy(mut self, tags: TagPolicy) -> Self {
        self.tags = tags;
        self
    }

    /// Beginnings of names that never become tags unless [`TagPolicy::Only`] lists them. Default `preserved.`, `nacos.` and
    /// `ringfence-`.
    #[must_use]
    pub fn reserved_prefixes(&self) -> &[String] {
        &self.reserved
    }

    /// Sets the beginnings of names that never become tags.
    #[must_use]
    pub fn with_reserved_prefixes<P: Into<String>>(
        mut self,
        prefixes: impl IntoIterator<Item = P>,
    ) -> Self {
        self.reserved = prefixes.into_iter().map(Into::into).collect();
        self
    }

    /// The number that an ordinary instance has as its weight in metadata and tags. Default 100.
    #[must_use]
    pub fn ordinary_weight(&self) -> NonZeroU32 {
        self.ordinary_weight
    }

    /// Sets the number that an ordinary instance has as its weight in metadata and tags.
    #[must_use]
    pub fn with_ordinary_weight(mut self, ordinary: NonZeroU32) -> Self {
        self.ordinary_weight = ordinary;
        self
    }

    /// The number that an ordinary instance has as its weight in the registry's own field; `None`, the default, is what is
    /// usual there (1 in Consul and Nacos).
    #[must_use]
    pub fn registry_ordinary_weight(&self) -> Option<NonZeroU32> {
        self.registry_ordinary_weight
    }

    /// Sets the number that an ordinary instance has as its weight in the registry's own field: 100 for services that kratos
    /// registers in Nacos.
    #[must_use]
    pub fn with_registry_ordinary_weight(
        mut self,
        ordinary: impl Into<Option<NonZeroU32>>,
    ) -> Self {
        self.registry_ordinary_weight = ordinary.into();
        self
    }

    /// Whether a name feeds a field, and so is no tag.
    fn feeds_a_field(&self, name: &str) -> bool {
        // The tenant is a tag, so a foreign `tenant` must not become one where another key was chosen for it.
        name == ringfence_core::TENANT_TAG
            || self
                .sources
                .iter()
                .flatten()
                .any(|source| source.key() == Some(name))
    }

    fn is_reserved(&self, name: &str) -> bool {
        self.reserved
            .iter()
            .any(|prefix| name.starts_with(prefix.as_str()))
    }
}

/// Bounds what a reason keeps of foreign text.
fn clip(text: &str) -> String {
    text.chars().take(64).collect()
}
