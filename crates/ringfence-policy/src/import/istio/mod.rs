mod ring;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    KeyFrom, KeySource, PolicyDocument, PolicyError, RingSettings, Rule,
    compile::UNMATCHED,
    document::{located, read, within},
};

/// What an Istio `DestinationRule` says of consistent hashing, see [`istio_destination_rule`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IstioImport {
    /// The host that it is for.
    pub host: Option<String>,
    /// A rule with the key source.
    pub rule: Rule,
    /// Points that the whole ring has at least.
    pub minimum_ring_size: Option<u32>,
    /// How the mesh's Envoys map keys, for a document's [`ring`](PolicyDocument::ring): with it the owners are theirs, as far as instances and
    /// weights are. Without need for that, leave it out: on the own ring fewer keys move.
    pub ring: RingSettings,
    /// What was recognised but has no counterpart here.
    pub notes: Vec<String>,
}

impl IstioImport {
    /// The points per instance that give so many `instances` a ring of the size that is asked for; `None` where none is.
    #[must_use]
    pub fn points_per_instance(&self, instances: NonZeroU32) -> Option<u32> {
        Some(self.minimum_ring_size?.div_ceil(instances.get()))
    }
}

/// Reads the `consistentHash` of an Istio `DestinationRule`, in YAML or JSON.
///
/// | there | here |
/// |---|---|
/// | `httpHeaderName` | the header |
/// | `httpCookie` | the cookie; it is only read, so `path` and `ttl` have no counterpart |
/// | `useSourceIp` | the peer's address |
/// | `httpQueryParameterName` | the parameter of the query |
/// | `ringHash`, `minimumRingSize` | [`IstioImport::ring`], or [`IstioImport::points_per_instance`] |
/// | `maglev` | [`IstioImport::ring`] |
/// | `subsets`, `portLevelSettings`, `outlierDetection`, `connectionPool`, `localityLbSetting` | not read: a note; an error where the only `consistentHash` is that of a port |
///
/// # Examples
/// ```
/// use ringfence_policy::{KeySource, import::istio_destination_rule};
///
/// let import = istio_destination_rule("
/// apiVersion: networking.istio.io/v1
/// kind: DestinationRule
/// metadata: { name: ratings }
/// spec:
///   host: ratings.prod.svc.cluster.local
///   trafficPolicy:
///     loadBalancer:
///       consistentHash: { httpHeaderName: x-user, ringHash: { minimumRingSize: 1024 } }
/// ")?;
/// assert_eq!(import.rule.key, [KeySource::header("x-user")]);
/// assert_eq!(import.points_per_instance(10.try_into()?), Some(103));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PolicyError`] with the place, for a text that is no such rule or longer than
/// [`PolicyDocument::MAX_TEXT`], and where more than one source of the key is set.
pub fn istio_destination_rule(text: &str) -> Result<IstioImport, PolicyError> {
    within(text, PolicyDocument::MAX_TEXT)?;
    let object: Object = read(text)?;
    import(object).map_err(|error| located(error, text))
}

const HASH: &str = "spec.trafficPolicy.loadBalancer.consistentHash";

fn import(object: Object) -> Result<IstioImport, PolicyError> {
    if let Some(kind) = object.kind.filter(|kind| kind != "DestinationRule") {
        return Err(PolicyError::new(
            "kind",
            format!("`{kind}` is no DestinationRule"),
        ));
    }
    let policy = object.spec.traffic_policy.unwrap_or_default();
    let mut notes = policy.notes();
    let Some(hash) = policy
        .load_balancer
        .and_then(|balancer| balancer.consistent_hash)
    else {
        let by_port = policy.port_level_settings.unwrap_or_default();
        let is_hashing = |port: &Value| !port["loadBalancer"]["consistentHash"].is_null();
        return Err(match by_port.iter().position(is_hashing) {
            Some(place) => PolicyError::new(
                format!("spec.trafficPolicy.portLevelSettings[{place}]"),
                "a consistentHash for one port is not read, because a service has one policy: move it to \
                 spec.trafficPolicy.loadBalancer",
            ),
            None => PolicyError::new(
                "spec.trafficPolicy",
                "it has no loadBalancer.consistentHash",
            ),
        });
    };
    if object
        .spec
        .subsets
        .is_some_and(|subsets| !subsets.is_empty())
    {
        notes.push("spec.subsets is not read: pools are made of the tags of instances".to_owned());
    }
    let from = key_source(&hash, &mut notes)?;
    let ring = ring::settings(&hash)?;
    let name = object.metadata.and_then(|metadata| metadata.name);
    let name = name.filter(|name| !matches!(name.trim(), "" | UNMATCHED));
    Ok(IstioImport {
        rule: Rule {
            key: from.into_iter().map(KeySource::from).collect(),
            ..Rule::named(name.unwrap_or_else(|| "istio".to_owned()))
        },
        host: object.spec.host,
        minimum_ring_size: ring.min_ring_size,
        ring,
        notes,
    })
}

fn key_source(
    hash: &ConsistentHash,
    notes: &mut Vec<String>,
) -> Result<Option<KeyFrom>, PolicyError> {
    let cookie = hash.http_cookie.as_ref();
    let sources = [
        (
            "httpHeaderName",
            hash.http_header_name.clone().map(KeyFrom::Header),
        ),
        (
            "httpCookie",
            cookie.map(|cookie| KeyFrom::Cookie(cookie.name.clone())),
        ),
        (
            "useSourceIp",
            hash.use_source_ip
                .filter(|used| *used)
                .map(|_| KeyFrom::Peer),
        ),
        (
            "httpQueryParameterName",
            hash.http_query_parameter_name.clone().map(KeyFrom::Query),
        ),
    ];
    let mut set = sources
        .into_iter()
        .filter_map(|(name, from)| Some((name, from?)));
    let first = set.next();
    if let (Some((one, _)), Some((other, _))) = (&first, set.next()) {
        let reason = format!("`{one}` is set too, and only one of them is allowed");
        return Err(PolicyError::new(format!("{HASH}.{other}"), reason));
    }
    if first.is_none() {
        notes.push(format!(
            "{HASH} names no source of the key: the program's key is used"
        ));
    }
    if let Some(cookie) = cookie
        && (cookie.ttl.is_some() || cookie.path.is_some())
    {
        notes.push(format!(
            "{HASH}.httpCookie: the cookie is only read, never set, so ttl and path are not used"
        ));
    }
    Ok(first.map(|(_, from)| from))
}

// The rule has much that is none of our business, so unknown fields are refused in its `consistentHash` only.

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Object {
    kind: Option<String>,
    metadata: Option<Metadata>,
    spec: Spec,
}

#[derive(Deserialize)]
struct Metadata {
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    host: Option<String>,
    traffic_policy: Option<TrafficPolicy>,
    subsets: Option<Vec<Value>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TrafficPolicy {
    load_balancer: Option<LoadBalancer>,
    port_level_settings: Option<Vec<Value>>,
    outlier_detection: Option<Value>,
    connection_pool: Option<Value>,
}

impl TrafficPolicy {
    /// What is there and has its counterpart elsewhere.
    fn notes(&self) -> Vec<String> {
        let balancer = self.load_balancer.as_ref();
        let locality = balancer.and_then(|balancer| balancer.locality_lb_setting.as_ref());
        let ports = self.port_level_settings.as_ref();
        let told = [
            (
                ports.is_some_and(|ports| !ports.is_empty()),
                "portLevelSettings is not read: a service has one policy",
            ),
            (
                self.outlier_detection.is_some(),
                "outlierDetection is not read: `OutlierConfig` of the balancer says when instances are ejected",
            ),
            (
                self.connection_pool.is_some(),
                "connectionPool is not read: connections and their limits are set on the transport",
            ),
            (
                locality.is_some(),
                "loadBalancer.localityLbSetting is not read: `zone` of a policy prefers the client's zone",
            ),
        ];
        told.iter()
            .filter(|(is_there, _)| *is_there)
            .map(|(_, note)| format!("spec.trafficPolicy.{note}"))
            .collect()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoadBalancer {
    consistent_hash: Option<ConsistentHash>,
    locality_lb_setting: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ConsistentHash {
    http_header_name: Option<String>,
    http_cookie: Option<HttpCookie>,
    use_source_ip: Option<bool>,
    http_query_parameter_name: Option<String>,
    ring_hash: Option<RingHash>,
    maglev: Option<Maglev>,
    minimum_ring_size: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpCookie {
    name: String,
    path: Option<String>,
    ttl: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RingHash {
    minimum_ring_size: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Maglev {
    table_size: Option<Value>,
}
