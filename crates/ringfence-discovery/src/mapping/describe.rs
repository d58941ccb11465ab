use std::collections::BTreeMap;

use ringfence_core::{Instance, Scheme, TENANT_TAG, Weight};

use super::{Field, FieldMapping, FieldSource, TagPolicy, weight};

/// Something of an instance that would not be read back if it was registered with this mapping.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnmappedField {
    /// The instance has the field, and the mapping has neither a metadata key nor the registry for it.
    #[error("the field mapping has no metadata key for the {field}")]
    Field {
        /// Which one.
        field: Field,
    },
    /// The tag's name is reserved, feeds a field, or is not kept.
    #[error("the field mapping does not read `{name}` as a tag")]
    Tag {
        /// Its name.
        name: String,
    },
}

impl FieldMapping {
    /// The metadata that gives `instance` back when it is read with this mapping: what a registrar writes.
    ///
    /// A field goes under its first metadata key. Without one it is left to the registrar if the registry's own field is
    /// among the sources. The default weight and plain text are not written where reading gives them anyway; address, health and
    /// enabled are the registrar's business.
    ///
    /// # Errors
    /// [`UnmappedField`] when something of the instance has no place.
    pub fn describe(&self, instance: &Instance) -> Result<BTreeMap<String, String>, UnmappedField> {
        let mut metadata = BTreeMap::new();
        let weight = (instance.weight() != Weight::DEFAULT)
            .then(|| weight::unparse(instance.weight().get(), self.ordinary_weight.get()));
        let secure = (instance.scheme() == Scheme::Https).then_some("true");
        for (field, value) in [
            (Field::Id, Some(instance.id().as_str())),
            (Field::Version, instance.version()),
            (Field::Zone, instance.zone()),
            (Field::Region, instance.region()),
            (Field::Tenant, instance.tenant()),
            (Field::Weight, weight.as_deref()),
            (Field::Scheme, secure),
        ] {
            let Some(value) = value else { continue };
            let sources = self.sources(field);
            let key = sources.iter().find_map(|source| match source {
                FieldSource::Meta(key) => Some(key),
                _ => None,
            });
            if let Some(key) = key {
                metadata.insert((**key).to_owned(), value.to_owned());
            } else if !sources.contains(&FieldSource::Registry) {
                return Err(UnmappedField::Field { field });
            }
        }
        for (name, value) in instance.tags().iter() {
            if name == TENANT_TAG {
                continue;
            }
            let read_back = match &self.tags {
                TagPolicy::Rest => !self.feeds_a_field(name) && !self.is_reserved(name),
                TagPolicy::Only(names) => names.contains(name),
                TagPolicy::Nothing => false,
            };
            if !read_back {
                return Err(UnmappedField::Tag {
                    name: name.to_owned(),
                });
            }
            metadata.insert(name.to_owned(), value.to_owned());
        }
        Ok(metadata)
    }
}
