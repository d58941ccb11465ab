use std::{borrow::Cow, collections::BTreeMap};

use ringfence_core::{Address, Health, Instance, InstanceError, Scheme, TENANT_TAG, Tags};

use super::{
    Field, FieldMapping, FieldSource, Mapped, RegistryRecord, TagPolicy, clip, record::Place,
    weight,
};
use crate::RejectedRecord;

const MAX_NAME: usize = 256;
const MAX_VALUE: usize = 4_096;

impl FieldMapping {
    /// Makes an instance of what a registry holds: its own fields, its metadata, and its tags (`key=value` or `key`).
    ///
    /// # Errors
    /// Why the record is no instance; the list goes on without it.
    pub fn apply<'a>(
        &self,
        record: &RegistryRecord<'a>,
        metadata: impl IntoIterator<Item = (&'a str, &'a str)>,
        tags: impl IntoIterator<Item = &'a str>,
    ) -> Result<Mapped, RejectedRecord> {
        let labels = Labels {
            metadata: metadata.into_iter().collect(),
            tags: tags.into_iter().map(split_tag).collect(),
        };
        let id = self
            .text(Field::Id, Some(record.id), &labels)
            .unwrap_or(record.id);
        self.fill(id, record, &labels)
            .map_err(|reason| RejectedRecord::new(reason).with_id(clip(id)))
    }

    fn fill(
        &self,
        id: &str,
        record: &RegistryRecord<'_>,
        labels: &Labels<'_>,
    ) -> Result<Mapped, String> {
        let address = address(record.place).map_err(|error| error.to_string())?;
        let tenant = self.text(Field::Tenant, record.tenant, labels);
        let (tags, altered_tags) = self.tags(labels, Tags::MAX_TAGS - 1);
        let mut builder = Instance::builder(id, address.to_string())
            .scheme(self.scheme(record, labels))
            .weight(self.weight(record, labels)?)
            .tags(tags)
            .health(if record.healthy {
                Health::Healthy
            } else {
                Health::Unhealthy
            })
            .enabled(record.enabled);
        if let Some(version) = self.text(Field::Version, record.version, labels) {
            builder = builder.version(version);
        }
        if let Some(zone) = self.text(Field::Zone, record.zone, labels) {
            builder = builder.zone(zone);
        }
        if let Some(region) = self.text(Field::Region, record.region, labels) {
            builder = builder.region(region);
        }
        if let Some(tenant) = tenant {
            builder = builder.tag(TENANT_TAG, tenant);
        }
        let instance = builder.build().map_err(|error| error.to_string())?;
        Ok(Mapped {
            instance,
            altered_tags,
        })
    }

    /// The first non-empty value of a field, trimmed.
    fn text<'m>(
        &'m self,
        field: Field,
        own: Option<&'m str>,
        labels: &Labels<'m>,
    ) -> Option<&'m str> {
        self.sources(field)
            .iter()
            .find_map(|source| labels.value(source, own))
    }

    fn scheme(&self, record: &RegistryRecord<'_>, labels: &Labels<'_>) -> Scheme {
        let own = record.scheme.map(Scheme::as_str);
        self.sources(Field::Scheme)
            .iter()
            .filter_map(|source| labels.value(source, own))
            .find_map(scheme)
            .unwrap_or_default()
    }

    fn weight(&self, record: &RegistryRecord<'_>, labels: &Labels<'_>) -> Result<u32, String> {
        let own = match record.weight {
            Some(own) => {
                let ordinary = self
                    .registry_ordinary_weight
                    .map_or(own.ordinary, |ordinary| f64::from(ordinary.get()));
                Some(weight::scale(own.value, ordinary))
            }
            None => None,
        };
        let sources = self.sources(Field::Weight);
        // Metadata is set with the release; an operator who drains in the registry must have the last word.
        if own == Some(Ok(0)) && sources.contains(&FieldSource::Registry) {
            return Ok(0);
        }
        for source in sources {
            if matches!(source, FieldSource::Registry) {
                if let Some(own) = own {
                    return own;
                }
            } else if let Some(text) = labels.value(source, None) {
                return weight::parse(text, self.ordinary_weight.get());
            }
        }
        Ok(ringfence_core::Weight::DEFAULT.get())
    }

    /// The tags of the instance, and how many were left out or cleaned.
    fn tags<'l>(&self, labels: &Labels<'l>, most: usize) -> (Vec<(&'l str, Cow<'l, str>)>, usize) {
        let mut kept: BTreeMap<&'l str, Cow<'l, str>> = BTreeMap::new();
        let mut altered = 0;
        for (name, value) in labels.metadata.iter().chain(&labels.tags) {
            let (name, value) = (name.trim(), value.trim());
            let wanted = match &self.tags {
                TagPolicy::Rest => !self.feeds_a_field(name) && !self.is_reserved(name),
                TagPolicy::Only(names) => names.contains(name),
                TagPolicy::Nothing => false,
            };
            if !wanted || name == TENANT_TAG || value.is_empty() || kept.contains_key(name) {
                continue;
            }
            if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
                altered += 1;
                continue;
            }
            let value = clean(value);
            altered += usize::from(matches!(value, Cow::Owned(_)));
            if !value.is_empty() {
                kept.insert(name, value);
            }
        }
        altered += kept.len().saturating_sub(most);
        (kept.into_iter().take(most).collect(), altered)
    }
}

/// Metadata and tags of one record.
struct Labels<'a> {
    metadata: Vec<(&'a str, &'a str)>,
    tags: Vec<(&'a str, &'a str)>,
}

impl<'a> Labels<'a> {
    fn value<'m>(&self, source: &'m FieldSource, own: Option<&'m str>) -> Option<&'m str>
    where
        'a: 'm,
    {
        let value = match source {
            FieldSource::Meta(key) => find(&self.metadata, key),
            FieldSource::Tag(key) => find(&self.tags, key),
            FieldSource::Registry => own,
            FieldSource::Fixed(value) => Some(&**value),
        };
        value.map(str::trim).filter(|value| !value.is_empty())
    }
}

fn find<'a>(pairs: &[(&'a str, &'a str)], key: &str) -> Option<&'a str> {
    pairs
        .iter()
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| *value)
}

fn split_tag(tag: &str) -> (&str, &str) {
    tag.split_once('=').unwrap_or((tag, "true"))
}

fn scheme(text: &str) -> Option<Scheme> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(Scheme::Https),
        "false" | "no" | "off" | "0" => Some(Scheme::Http),
        other => other.parse().ok(),
    }
}

fn address(place: Place<'_>) -> Result<Address, InstanceError> {
    match place {
        Place::Authority(text) => text.trim().parse(),
        Place::Parts { host, port } => {
            let host = host.trim();
            let bare = host
                .strip_prefix('[')
                .and_then(|host| host.strip_suffix(']'))
                .filter(|host| host.contains(':'))
                .unwrap_or(host);
            match u16::try_from(port) {
                Ok(port) => Address::try_new(bare, port),
                Err(_) => Err(InstanceError::Address {
                    text: format!("{}:{port}", clip(host)),
                    port: None,
                }),
            }
        }
    }
}

/// A legal value: control characters become spaces, and what is over the limit is cut.
fn clean(value: &str) -> Cow<'_, str> {
    if value.len() <= MAX_VALUE && !value.chars().any(char::is_control) {
        return Cow::Borrowed(value);
    }
    let mut cleaned = String::new();
    for c in value.chars() {
        if cleaned.len() + c.len_utf8() > MAX_VALUE {
            break;
        }
        cleaned.push(if c.is_control() { ' ' } else { c });
    }
    Cow::Owned(cleaned.trim().to_owned())
}
