use ringfence_core::Instance;
use ringfence_discovery::{FieldMapping, RegistryRecord, ServiceKey};
use serde::Deserialize;
#[cfg(feature = "register")]
use serde::Serialize;
use serde_json::Value;

use super::{Codec, DecodeError, Record, instance_of, loose, plain_prefix};
#[cfg(feature = "register")]
use super::{EncodeError, EncodedRecord};

/// The layout of etcd's own gRPC naming (its `endpoints` manager).
///
/// - Key `{target}/{anything}`, where the target is the service name, below the namespace of the service key if it has one.
///   Unlike the manager, which also finds `target2` when it looks for `target`, only what is below `{target}/` is read.
/// - Value `{"Op":0,"Addr":"host:port","Metadata":anything}`.
/// - The id is the key after the target, even with a `/` in it, unless the metadata has `ringfence-id`. A value whose `Op` is
///   not 0 is left out.
/// - The other fields come from `Metadata` where it is a map, by a [`FieldMapping`]. Other clients know no weight 0, so a
///   drained instance is not listed.
///
/// # Examples
/// ```
/// use ringfence_discovery::ServiceKey;
/// use ringfence_etcd::{Codec, GrpcNamingCodec, Record};
///
/// let service = ServiceKey::new("shop/order");
/// let value = br#"{"Op":0,"Addr":"10.0.0.1:50051","Metadata":{"weight":50}}"#;
/// let instance = GrpcNamingCodec::default().decode(&Record::new(&service, "e1", value))?.expect("an instance");
/// assert_eq!((instance.id().as_str(), instance.weight().get()), ("e1", 50));
/// # Ok::<(), ringfence_etcd::DecodeError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct GrpcNamingCodec {
    mapping: FieldMapping,
}

impl GrpcNamingCodec {
    /// Reads the fields of `Metadata` by `mapping`.
    #[must_use]
    pub fn with_mapping(mut self, mapping: FieldMapping) -> Self {
        self.mapping = mapping;
        self
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Update {
    #[serde(default)]
    op: Option<u64>,
    addr: String,
    #[serde(default)]
    metadata: Option<Value>,
}

impl Codec for GrpcNamingCodec {
    fn prefix(&self, service: &ServiceKey) -> Option<String> {
        plain_prefix("", service)
    }

    fn decode(&self, record: &Record<'_>) -> Result<Option<Instance>, DecodeError> {
        let update: Update = serde_json::from_str(record.text()?)?;
        if let Some(op) = update.op.filter(|op| *op != 0) {
            return Err(DecodeError::new(format!(
                "`Op` is {op}, which adds nothing"
            )));
        }
        let metadata = loose::texts_of_value(update.metadata);
        let own = RegistryRecord::with_authority(record.name(), &update.addr);
        let mapped = self.mapping.apply(&own, loose::pairs(&metadata), [])?;
        Ok(Some(instance_of(record, mapped)))
    }

    #[cfg(feature = "register")]
    fn encode(
        &self,
        _: &ServiceKey,
        instance: &Instance,
    ) -> Result<Option<EncodedRecord>, EncodeError> {
        #[derive(Serialize)]
        #[serde(rename_all = "PascalCase")]
        struct Written {
            op: u64,
            addr: String,
            metadata: std::collections::BTreeMap<String, String>,
        }
        if !instance.takes_traffic() || !instance.is_healthy() {
            return Ok(None);
        }
        let value = Written {
            op: 0,
            addr: instance.address().to_string(),
            metadata: self.mapping.describe(instance)?,
        };
        Ok(Some(EncodedRecord::new(serde_json::to_vec(&value)?)))
    }

    #[cfg(feature = "register")]
    fn record_name(&self, instance: &Instance) -> Result<String, EncodeError> {
        Ok(instance.id().as_str().to_owned())
    }
}
