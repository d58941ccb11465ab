use std::collections::BTreeMap;

use ringfence_core::Instance;
use ringfence_discovery::{FieldMapping, RegistryRecord, ServiceKey};
use serde::Deserialize;
#[cfg(feature = "register")]
use serde::Serialize;
use serde_json::Value;

use super::{Codec, DecodeError, Record, instance_of, loose, plain_prefix};
#[cfg(feature = "register")]
use super::{EncodeError, EncodedRecord};

/// The weight of an ordinary instance in kitex, which it also takes for one that is absent or not above 0.
const ORDINARY: f64 = 10.0;

/// The layout of kitex's `registry-etcd`.
///
/// - Key `{prefix}/{service}/{address}`; the namespace of the service key, if any, is the prefix, else `kitex/registry-etcd`,
///   without a leading `/`.
/// - Value `{"network":"tcp","address":"host:port","weight":10,"tags":{..}}`.
/// - The id is the key's last part, thus the address, unless the tags have `ringfence-id`. A value without address has the
///   key's. A weight that is absent or not above 0 is 10, as kitex has it, and 10 becomes 100; so an instance cannot be drained
///   here, and a drained one is not listed.
/// - The other fields come from `tags`, by a [`FieldMapping`]; each value is read for itself.
///
/// # Examples
/// ```
/// use ringfence_discovery::ServiceKey;
/// use ringfence_etcd::{Codec, KitexCodec, Record};
///
/// let service = ServiceKey::new("order");
/// let value = br#"{"network":"tcp","address":"10.0.0.1:8888","weight":20,"tags":{"zone":"az-1"}}"#;
/// let instance = KitexCodec::default().decode(&Record::new(&service, "10.0.0.1:8888", value))?.expect("an instance");
/// assert_eq!((instance.weight().get(), instance.zone()), (200, Some("az-1")));
/// # Ok::<(), ringfence_etcd::DecodeError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct KitexCodec {
    mapping: FieldMapping,
}

impl KitexCodec {
    /// Reads the fields of `tags` by `mapping`.
    #[must_use]
    pub fn with_mapping(mut self, mapping: FieldMapping) -> Self {
        self.mapping = mapping;
        self
    }
}

#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    network: Option<String>,
    #[serde(default)]
    address: Option<String>,
    #[serde(default)]
    weight: Option<f64>,
    #[serde(default)]
    tags: Option<BTreeMap<String, Value>>,
}

impl Codec for KitexCodec {
    fn prefix(&self, service: &ServiceKey) -> Option<String> {
        plain_prefix("kitex/registry-etcd", service)
    }

    fn decode(&self, record: &Record<'_>) -> Result<Option<Instance>, DecodeError> {
        if record.name().contains('/') {
            return Ok(None);
        }
        let info: Info = serde_json::from_str(record.text()?)?;
        if let Some(network) = info.network.filter(|network| !network.starts_with("tcp")) {
            return Err(DecodeError::new(format!("network `{network}` is not tcp")));
        }
        let address = info.address.filter(|address| !address.is_empty());
        let address = address.as_deref().unwrap_or(record.name());
        let weight = info
            .weight
            .filter(|weight| *weight > 0.0)
            .unwrap_or(ORDINARY);
        let tags = loose::texts(info.tags);
        let own = RegistryRecord::with_authority(record.name(), address).weight(weight, ORDINARY);
        let mapped = self.mapping.apply(&own, loose::pairs(&tags), [])?;
        Ok(Some(instance_of(record, mapped)))
    }

    #[cfg(feature = "register")]
    fn encode(
        &self,
        _: &ServiceKey,
        instance: &Instance,
    ) -> Result<Option<EncodedRecord>, EncodeError> {
        #[derive(Serialize)]
        struct Written {
            network: &'static str,
            address: String,
            weight: u32,
            tags: BTreeMap<String, String>,
        }
        if !instance.takes_traffic() || !instance.is_healthy() {
            return Ok(None);
        }
        let value = Written {
            network: "tcp",
            address: instance.address().to_string(),
            // The tags have the exact one, for readers that look there.
            weight: (instance.weight().get() / 10).max(1),
            tags: self.mapping.describe(instance)?,
        };
        Ok(Some(EncodedRecord::new(serde_json::to_vec(&value)?)))
    }

    #[cfg(feature = "register")]
    fn record_name(&self, instance: &Instance) -> Result<String, EncodeError> {
        Ok(instance.address().to_string())
    }
}
