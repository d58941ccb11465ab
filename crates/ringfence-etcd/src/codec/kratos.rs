use std::collections::BTreeMap;

use ringfence_core::{Instance, Scheme};
use ringfence_discovery::{FieldMapping, RegistryRecord, ServiceKey};
use serde::Deserialize;
#[cfg(feature = "register")]
use serde::Serialize;
use serde_json::Value;

use super::{Codec, DecodeError, Record, instance_of, loose, plain_prefix};
#[cfg(feature = "register")]
use super::{EncodeError, EncodedRecord};

/// The layout of go-kratos.
///
/// - Key `{namespace}/{service}/{id}`; the namespace of the service key, if any, is used as it is, else `/microservices`.
/// - Value `{"id","name","version","metadata":{..},"endpoints":["grpc://host:port?isSecure=false", ..]}`.
/// - The id is the key's. The endpoint used is the first of the wanted protocols (`grpc`, then `http`; see
///   [`with_protocols`](Self::with_protocols)); TLS when it says `isSecure=true`, `grpcs` or `https`.
/// - The other fields come from `version` and `metadata`, by a [`FieldMapping`].
///
/// # Examples
/// ```
/// use ringfence_discovery::ServiceKey;
/// use ringfence_etcd::{Codec, KratosCodec, Record};
///
/// let service = ServiceKey::new("order");
/// let value = br#"{"id":"x","name":"order","version":"v2","metadata":{"zone":"az-1"},
///                  "endpoints":["http://10.0.0.1:8000","grpc://10.0.0.1:9000?isSecure=true"]}"#;
/// let instance = KratosCodec::default().decode(&Record::new(&service, "order-1", value))?.expect("an instance");
/// assert_eq!(instance.id().as_str(), "order-1");
/// assert_eq!(instance.address().port(), 9000);
/// assert_eq!((instance.version(), instance.zone()), (Some("v2"), Some("az-1")));
/// # Ok::<(), ringfence_etcd::DecodeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct KratosCodec {
    mapping: FieldMapping,
    protocols: Vec<String>,
}

impl Default for KratosCodec {
    fn default() -> Self {
        Self {
            mapping: FieldMapping::default(),
            protocols: vec!["grpc".to_owned(), "http".to_owned()],
        }
    }
}

impl KratosCodec {
    /// Reads the fields of `metadata` by `mapping`.
    #[must_use]
    pub fn with_mapping(mut self, mapping: FieldMapping) -> Self {
        self.mapping = mapping;
        self
    }

    /// Uses endpoints of these protocols, the first that there is; a record without one is left out and counted. Default
    /// `grpc`, `http`. The first one is what a registrar writes.
    #[must_use]
    pub fn with_protocols<P: Into<String>>(
        mut self,
        protocols: impl IntoIterator<Item = P>,
    ) -> Self {
        self.protocols = protocols.into_iter().map(Into::into).collect();
        self
    }
}

#[derive(Deserialize)]
struct Service {
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    metadata: Option<BTreeMap<String, Value>>,
    #[serde(default)]
    endpoints: Option<Vec<String>>,
}

struct Endpoint<'a> {
    protocol: &'a str,
    scheme: Scheme,
    authority: &'a str,
}

/// `grpc://host:port/path?isSecure=true`
fn endpoint(url: &str) -> Option<Endpoint<'_>> {
    let (scheme, rest) = url.split_once("://")?;
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = place.split('/').next().unwrap_or_default();
    let (protocol, secure) = match scheme {
        "grpcs" => ("grpc", true),
        "https" => ("http", true),
        other => (other, false),
    };
    let secure = secure
        || query
            .split('&')
            .any(|pair| pair.eq_ignore_ascii_case("isSecure=true"));
    let scheme = if secure { Scheme::Https } else { Scheme::Http };
    Some(Endpoint {
        protocol,
        scheme,
        authority,
    })
}

impl Codec for KratosCodec {
    fn prefix(&self, service: &ServiceKey) -> Option<String> {
        plain_prefix("/microservices", service)
    }

    fn decode(&self, record: &Record<'_>) -> Result<Option<Instance>, DecodeError> {
        if record.name().contains('/') {
            return Ok(None);
        }
        let service: Service = serde_json::from_str(record.text()?)?;
        let urls = service.endpoints.unwrap_or_default();
        let endpoints: Vec<_> = urls.iter().filter_map(|url| endpoint(url)).collect();
        let chosen = self.protocols.iter().find_map(|wanted| {
            endpoints
                .iter()
                .find(|endpoint| endpoint.protocol == wanted)
        });
        let Some(chosen) = chosen else {
            let wanted = self.protocols.join(", ");
            return Err(DecodeError::new(format!(
                "no endpoint with protocol {wanted}"
            )));
        };
        let metadata = loose::texts(service.metadata);
        let own = RegistryRecord::with_authority(record.name(), chosen.authority)
            .version(service.version.as_deref())
            .scheme(chosen.scheme);
        let mapped = self.mapping.apply(&own, loose::pairs(&metadata), [])?;
        Ok(Some(instance_of(record, mapped)))
    }

    #[cfg(feature = "register")]
    fn encode(
        &self,
        service: &ServiceKey,
        instance: &Instance,
    ) -> Result<Option<EncodedRecord>, EncodeError> {
        #[derive(Serialize)]
        struct Written<'a> {
            id: &'a str,
            name: &'a str,
            version: &'a str,
            metadata: BTreeMap<String, String>,
            endpoints: [String; 1],
        }
        if !instance.is_enabled() || !instance.is_healthy() {
            return Ok(None);
        }
        let protocol = self.protocols.first().map_or("grpc", |first| &**first);
        let secure = instance.scheme() == Scheme::Https;
        let value = Written {
            id: instance.id().as_str(),
            name: service.name(),
            version: instance.version().unwrap_or_default(),
            metadata: self.mapping.describe(instance)?,
            endpoints: [format!(
                "{protocol}://{}?isSecure={secure}",
                instance.address()
            )],
        };
        Ok(Some(EncodedRecord::new(serde_json::to_vec(&value)?)))
    }
}
