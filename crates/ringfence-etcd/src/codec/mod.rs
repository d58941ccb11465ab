//! How keys and values are laid out.

mod escape;
mod kitex;
mod kratos;
mod loose;
mod naming;
mod native;
#[cfg(test)]
mod tests;

use std::fmt;

use ringfence_core::{Instance, InstanceError};
use ringfence_discovery::{Mapped, RejectedRecord, ServiceKey};

use crate::connection::clip;

pub use self::{
    kitex::KitexCodec, kratos::KratosCodec, naming::GrpcNamingCodec, native::NativeCodec,
};

/// A layout of the records of a service: which keys they have, and what their values mean.
///
/// Built in are [`NativeCodec`] (default), [`KratosCodec`], [`KitexCodec`] and [`GrpcNamingCodec`]. The key decides the
/// identity of an instance: it is what tells one record from another, while a value may lie or say nothing.
///
/// # Examples
/// Keys `/legacy/{service}/{id}` with the address as the whole value:
/// ```
/// use ringfence_core::Instance;
/// use ringfence_discovery::ServiceKey;
/// use ringfence_etcd::{Codec, DecodeError, EtcdConfig, Record};
///
/// #[derive(Debug)]
/// struct Legacy;
///
/// impl Codec for Legacy {
///     fn prefix(&self, service: &ServiceKey) -> Option<String> {
///         Some(format!("/legacy/{}/", service.name()))
///     }
///
///     fn decode(&self, record: &Record<'_>) -> Result<Option<Instance>, DecodeError> {
///         if record.name().contains('/') {
///             return Ok(None); // of a service whose name goes on
///         }
///         Ok(Some(Instance::builder(record.name(), record.text()?).build()?))
///     }
/// }
///
/// let service = ServiceKey::new("order");
/// let instance = Legacy.decode(&Record::new(&service, "order-1", b"10.0.0.1:80"))?;
/// assert_eq!(instance.map(|instance| instance.address().port()), Some(80));
/// let config = EtcdConfig::new(["127.0.0.1:2379"]).with_codec(Legacy);
/// # Ok::<(), DecodeError>(())
/// ```
pub trait Codec: fmt::Debug + Send + Sync + 'static {
    /// What the keys of all instances of `service` start with, ending in `/`. `None` when no service can have this name.
    fn prefix(&self, service: &ServiceKey) -> Option<String>;

    /// The instance of a record. `Ok(None)` for a record of something else, which is left out without being counted.
    ///
    /// It is called once per change of a record, on the task that polls the watch.
    ///
    /// # Errors
    /// Why the record is no instance; it is left out, counted and shown, and the rest is used.
    fn decode(&self, record: &Record<'_>) -> Result<Option<Instance>, DecodeError>;

    /// The record of an instance, for [`EtcdRegistrar`](crate::EtcdRegistrar). `Ok(None)` when it is not to be listed in its
    /// present state: drained, disabled or unhealthy, in a layout that has no word for that.
    ///
    /// # Errors
    /// [`EncodeError`] for an instance that the layout cannot hold. By default there is none that it can.
    #[cfg(feature = "register")]
    fn encode(
        &self,
        service: &ServiceKey,
        instance: &Instance,
    ) -> Result<Option<EncodedRecord>, EncodeError> {
        let _ = (service, instance);
        Err(EncodeError::new("this layout is read only"))
    }

    /// The key of an instance after the prefix. By default its id.
    ///
    /// # Errors
    /// [`EncodeError`] for an instance that can have no key of its own.
    #[cfg(feature = "register")]
    fn record_name(&self, instance: &Instance) -> Result<String, EncodeError> {
        let id = instance.id().as_str();
        if id.contains('/') {
            return Err(EncodeError::new(
                "an id with a `/` has no key in this layout",
            ));
        }
        Ok(id.to_owned())
    }
}

/// One key and its value.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    service: &'a ServiceKey,
    name: &'a str,
    value: &'a [u8],
}

impl<'a> Record<'a> {
    /// The record with the key `name` after the prefix of `service`.
    #[must_use]
    pub fn new(service: &'a ServiceKey, name: &'a str, value: &'a [u8]) -> Self {
        Self {
            service,
            name,
            value,
        }
    }

    /// The service that is read.
    #[must_use]
    pub fn service(&self) -> &'a ServiceKey {
        self.service
    }

    /// The key after the prefix; never empty.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The value.
    #[must_use]
    pub fn value(&self) -> &'a [u8] {
        self.value
    }

    /// The value as a text.
    ///
    /// # Errors
    /// [`DecodeError`] when it is not UTF-8.
    pub fn text(&self) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.value).map_err(|_| DecodeError::new("the value is not UTF-8"))
    }
}

/// Why a record is no instance. The text is shown in logs, cut to 200 characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct DecodeError {
    reason: String,
}

impl DecodeError {
    /// With this reason, which holds no secret.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

impl From<InstanceError> for DecodeError {
    fn from(error: InstanceError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<serde_json::Error> for DecodeError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(format!("the value is not the JSON expected: {error}"))
    }
}

impl From<RejectedRecord> for DecodeError {
    fn from(rejected: RejectedRecord) -> Self {
        Self::new(rejected.reason)
    }
}

/// The value of a record to be registered.
#[cfg(feature = "register")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedRecord {
    pub(crate) value: Vec<u8>,
}

#[cfg(feature = "register")]
impl EncodedRecord {
    /// A record with this value.
    pub fn new(value: impl Into<Vec<u8>>) -> Self {
        Self {
            value: value.into(),
        }
    }

    /// The value.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        &self.value
    }
}

/// Why an instance cannot be registered in a layout.
#[cfg(feature = "register")]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct EncodeError {
    reason: String,
}

#[cfg(feature = "register")]
impl EncodeError {
    /// With this reason, which holds no secret.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

#[cfg(feature = "register")]
impl From<serde_json::Error> for EncodeError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error.to_string())
    }
}

#[cfg(feature = "register")]
impl From<ringfence_discovery::UnmappedField> for EncodeError {
    fn from(field: ringfence_discovery::UnmappedField) -> Self {
        Self::new(field.to_string())
    }
}

/// The instance that a mapping made of a record, with a word in the log where not all of it could be kept.
fn instance_of(record: &Record<'_>, mapped: Mapped) -> Instance {
    if mapped.altered_tags > 0 {
        tracing::debug!(
            service = %record.service(), record = %clip(record.name()), altered = mapped.altered_tags,
            "metadata entries were left out or cut"
        );
    }
    mapped.instance
}

/// `{root}/{name}/`, for layouts that escape nothing.
fn plain_prefix(root: &str, service: &ServiceKey) -> Option<String> {
    let (root, name) = (service.namespace().unwrap_or(root), service.name());
    let root = root.strip_suffix('/').unwrap_or(root);
    if name.is_empty() || name.starts_with('/') || name.ends_with('/') {
        return None;
    }
    Some(if root.is_empty() {
        format!("{name}/")
    } else {
        format!("{root}/{name}/")
    })
}
