use std::{borrow::Cow, collections::BTreeMap};

use ringfence_core::{Instance, Scheme};
use ringfence_discovery::ServiceKey;
use serde::{Deserialize, Serialize};

use super::{
    Codec, DecodeError, Record,
    escape::{escape, unescape},
};
#[cfg(feature = "register")]
use super::{EncodeError, EncodedRecord};

/// Version of the format of values. A reader refuses a higher one and ignores fields that it does not know, so a field whose
/// meaning old readers may not miss needs a new version.
const VERSION: u32 = 1;

/// Ringfence's own layout: everything that an instance has, as versioned JSON.
///
/// # Keys
/// `{root}/{namespace}/{service}/{id}`, with root `/ringfence` and namespace `default` where none is given. Each of namespace,
/// service and id is one segment: all but letters, digits and `-._~:@+` is percent-encoded.
///
/// # Values
/// ```json
/// {"v":1,"address":"10.0.0.1:8080","scheme":"http","weight":100,"version":"gray","region":"eu","zone":"az-1",
///  "tags":{"tenant":"acme"},"healthy":true,"enabled":true}
/// ```
/// Only `v` and `address` are needed; the others default to the values of [`Instance::builder`]. Unknown fields are ignored,
/// and a `v` above 1 is refused. The id is not in the value: it is the key's.
///
/// # Examples
/// ```
/// use ringfence_discovery::ServiceKey;
/// use ringfence_etcd::{Codec, NativeCodec};
///
/// let codec = NativeCodec::default();
/// let order = ServiceKey::new("shop/order").with_namespace("prod");
/// assert_eq!(codec.prefix(&order).as_deref(), Some("/ringfence/prod/shop%2Forder/"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeCodec {
    root: String,
}

impl Default for NativeCodec {
    fn default() -> Self {
        Self {
            root: "/ringfence".to_owned(),
        }
    }
}

impl NativeCodec {
    /// Puts all keys under `root` instead of `/ringfence`; a `/` at its end is ignored.
    #[must_use]
    pub fn with_root(mut self, root: impl Into<String>) -> Self {
        self.root = root.into();
        self
    }
}

#[derive(Deserialize, Serialize)]
struct Value<'a> {
    v: u32,
    #[serde(borrow)]
    address: Cow<'a, str>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    scheme: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weight: Option<u32>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    version: Option<Cow<'a, str>>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    region: Option<Cow<'a, str>>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    zone: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tags: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    healthy: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
}

#[derive(Deserialize)]
struct Versioned {
    v: u32,
}

impl Codec for NativeCodec {
    fn prefix(&self, service: &ServiceKey) -> Option<String> {
        if service.name().is_empty() {
            return None;
        }
        let root = self.root.strip_suffix('/').unwrap_or(&self.root);
        let namespace = escape(service.namespace().unwrap_or("default"));
        Some(format!("{root}/{namespace}/{}/", escape(service.name())))
    }

    fn decode(&self, record: &Record<'_>) -> Result<Option<Instance>, DecodeError> {
        if record.name().contains('/') {
            return Ok(None);
        }
        let id = unescape(record.name())
            .ok_or_else(|| DecodeError::new("the key's percent-encoding is broken"))?;
        let text = record.text()?;
        // The version first: a later one may have other types for the same names.
        let Versioned { v } = serde_json::from_str(text)?;
        if v != VERSION {
            let reason = format!("version {v} of the format is not known, only {VERSION}");
            return Err(DecodeError::new(reason));
        }
        let value: Value<'_> = serde_json::from_str(text)?;
        let mut builder = Instance::builder(id, value.address).tags(value.tags.unwrap_or_default());
        if let Some(scheme) = value.scheme {
            builder = builder.scheme(scheme.parse::<Scheme>()?);
        }
        if let Some(weight) = value.weight {
            builder = builder.weight(weight);
        }
        if let Some(version) = value.version {
            builder = builder.version(version);
        }
        if let Some(region) = value.region {
            builder = builder.region(region);
        }
        if let Some(zone) = value.zone {
            builder = builder.zone(zone);
        }
        builder = builder
            .healthy(value.healthy.unwrap_or(true))
            .enabled(value.enabled.unwrap_or(true));
        Ok(Some(builder.build()?))
    }

    #[cfg(feature = "register")]
    fn encode(
        &self,
        _: &ServiceKey,
        instance: &Instance,
    ) -> Result<Option<EncodedRecord>, EncodeError> {
        let tags = instance.tags().iter();
        let value = Value {
            v: VERSION,
            address: instance.address().to_string().into(),
            scheme: Some(instance.scheme().as_str().into()),
            weight: Some(instance.weight().get()),
            version: instance.version().map(Cow::from),
            region: instance.region().map(Cow::from),
            zone: instance.zone().map(Cow::from),
            tags: Some(
                tags.map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .collect(),
            ),
            healthy: Some(instance.is_healthy()),
            enabled: Some(instance.is_enabled()),
        };
        Ok(Some(EncodedRecord::new(serde_json::to_vec(&value)?)))
    }

    #[cfg(feature = "register")]
    fn record_name(&self, instance: &Instance) -> Result<String, EncodeError> {
        Ok(escape(instance.id().as_str()))
    }
}
