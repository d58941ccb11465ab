//! Version 1 of the file: written, and read with distrust.

use std::{borrow::Cow, collections::BTreeMap};

use ringfence_core::{Instance, InstanceError, Snapshot};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::ServiceKey;

const MAGIC: &str = "ringfence-snapshot";
const VERSION: &str = "1";
/// Longest first line that is looked at.
const MAX_HEADER: usize = 100;

/// What a file says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) registry: String,
    pub(super) service: ServiceKey,
    /// When the registry confirmed it, in milliseconds since 1970.
    pub(super) written_at: u64,
    pub(super) snapshot: Snapshot,
}

/// Why bytes are no document.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("it does not begin like a snapshot")]
    Header,
    #[error("it is of format version `{version}`, this program knows {VERSION}")]
    Version { version: String },
    #[error("it has {has} bytes instead of {expected}")]
    Length { has: usize, expected: String },
    #[error("its digest is wrong")]
    Digest,
    #[error("its document is not of the right form: {0}")]
    Form(#[from] serde_json::Error),
    #[error("one of its instances is illegal: {0}")]
    Instance(#[from] InstanceError),
}

#[derive(Serialize, Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    registry: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    service: Cow<'a, str>,
    written_at: u64,
    #[serde(borrow)]
    instances: Vec<Record<'a>>,
}

#[derive(Serialize, Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    address: String,
    #[serde(borrow)]
    scheme: Cow<'a, str>,
    weight: u32,
    #[serde(borrow)]
    version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    region: Option<Cow<'a, str>>,
    #[serde(borrow)]
    zone: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tags: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    healthy: bool,
    enabled: bool,
}

impl<'a> Record<'a> {
    fn of(instance: &'a Instance) -> Self {
        let tags = instance.tags().iter();
        Self {
            id: instance.id().as_str().into(),
            address: instance.address().to_string(),
            scheme: instance.scheme().as_str().into(),
            weight: instance.weight().get(),
            version: instance.version().map(Into::into),
            region: instance.region().map(Into::into),
            zone: instance.zone().map(Into::into),
            tags: tags
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            healthy: instance.is_healthy(),
            enabled: instance.is_enabled(),
        }
    }

    fn instance(self) -> Result<Instance, InstanceError> {
        let mut builder = Instance::builder(&self.id, &self.address)
            .scheme(self.scheme.parse()?)
            .weight(self.weight)
            .tags(self.tags)
            .healthy(self.healthy)
            .enabled(self.enabled);
        if let Some(version) = self.version {
            builder = builder.version(version);
        }
        if let Some(region) = self.region {
            builder = builder.region(region);
        }
        if let Some(zone) = self.zone {
            builder = builder.zone(zone);
        }
        builder.build()
    }
}

pub(super) fn encode(
    registry: &str,
    service: &ServiceKey,
    written_at: u64,
    snapshot: &Snapshot,
) -> serde_json::Result<Vec<u8>> {
    let body = serde_json::to_vec(&Body {
        registry: registry.into(),
        namespace: service.namespace().map(Into::into),
        service: service.name().into(),
        written_at,
        // As they were given: some algorithms depend on it.
        instances: snapshot
            .given_order()
            .filter_map(|place| snapshot.instances().get(place as usize))
            .map(|i| Record::of(i))
            .collect(),
    })?;
    let mut bytes = header(VERSION, &body).into_bytes();
    bytes.extend(body);
    Ok(bytes)
}

fn header(version: &str, body: &[u8]) -> String {
    format!("{MAGIC} {version} {} {}\n", digest(body), body.len())
}

fn digest(body: &[u8]) -> String {
    format!("{:016x}", xxh3_64(body))
}

pub(super) fn decode(bytes: &[u8]) -> Result<Document, Unreadable> {
    let line_end = bytes.iter().take(MAX_HEADER).position(|b| *b == b'\n');
    let (header, body) = line_end
        .and_then(|end| Some((bytes.get(..end)?, bytes.get(end + 1..)?)))
        .ok_or(Unreadable::Header)?;
    let header = std::str::from_utf8(header).map_err(|_| Unreadable::Header)?;
    let mut words = header.split(' ');
    if words.next() != Some(MAGIC) {
        return Err(Unreadable::Header);
    }
    let version = words.next().unwrap_or_default();
    if version != VERSION {
        let version = version.to_owned();
        return Err(Unreadable::Version { version });
    }
    let (Some(claimed), Some(length), None) = (words.next(), words.next(), words.next()) else {
        return Err(Unreadable::Header);
    };
    // As text, since numbers can be written in several ways and only one of them is ours.
    if length != body.len().to_string() {
        return Err(Unreadable::Length {
            has: body.len(),
            expected: length.to_owned(),
        });
    }
    if claimed != digest(body) {
        return Err(Unreadable::Digest);
    }
    let body: Body<'_> = serde_json::from_slice(body)?;
    let service = ServiceKey::new(body.service);
    let instances: Result<Vec<_>, _> = body.instances.into_iter().map(Record::instance).collect();
    Ok(Document {
        registry: body.registry.into_owned(),
        service: match body.namespace {
            Some(namespace) => service.with_namespace(namespace),
            None => service,
        },
        written_at: body.written_at,
        snapshot: Snapshot::new(instances?),
    })
}

#[cfg(test)]
mod tests;
