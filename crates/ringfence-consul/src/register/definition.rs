//! From an instance to a service definition.

use std::{collections::HashMap, time::Duration};

use consulrs::api::{
    check::common::AgentServiceCheck,
    service::{common::AgentWeights, requests::RegisterServiceRequest},
};
use ringfence_core::{Instance, Weight};
use ringfence_discovery::{DiscoveryError, ErrorKind, FieldMapping};

use super::ConsulRegisterConfig;
use crate::NAME;

/// Limits of Consul's metadata.
const MAX_KEYS: usize = 64;
const MAX_KEY: usize = 128;
const MAX_VALUE: usize = 512;
const MAX_WEIGHT: u64 = 65_535;

/// Longer than any server runs: this check is changed by hand alone.
const FOR_EVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// What the agent knows an instance by. An id there is one of the whole agent, so that instances of two services with the same
/// id would take each other's place by turns.
pub(super) fn service_id(service: &str, instance: &Instance) -> String {
    format!("{service}:{}", instance.id())
}

/// The check that heartbeats keep passing.
pub(super) fn heartbeat_check(service_id: &str) -> String {
    format!("service:{service_id}")
}

/// The check that is there, and critical, while the instance calls itself unhealthy. It is apart from the heartbeat, since
/// Consul takes out what misses that for long.
pub(super) fn health_check(service_id: &str) -> String {
    format!("service:{service_id}:health")
}

pub(super) fn is_drained(instance: &Instance) -> bool {
    !instance.takes_traffic()
}

pub(super) fn definition(
    service: &str,
    instance: &Instance,
    mapping: &FieldMapping,
    config: &ConsulRegisterConfig,
) -> Result<RegisterServiceRequest, DiscoveryError> {
    let refused = |message: String| DiscoveryError::new(ErrorKind::Config, NAME, message);
    let labels = mapping
        .describe(instance)
        .map_err(|error| refused(error.to_string()))?;
    let (mut meta, mut tags) = (HashMap::new(), Vec::new());
    // Fields have no other place than the metadata, so they come first.
    let (fields, labels): (Vec<_>, Vec<_>) = labels
        .into_iter()
        .partition(|(key, _)| !instance.tags().iter().any(|(name, _)| name == key));
    let field_count = fields.len();
    for (at, (key, value)) in fields.into_iter().chain(labels).enumerate() {
        if meta.len() < MAX_KEYS && is_legal_meta(&key, &value) {
            meta.insert(key, value);
        } else if at < field_count || key.contains('=') {
            return Err(refused(format!(
                "Consul has no place for the metadata `{key}`"
            )));
        } else {
            tags.push(format!("{key}={value}"));
        }
    }
    let id = service_id(service, instance);
    let mut checks = vec![AgentServiceCheck {
        check_id: Some(heartbeat_check(&id)),
        name: Some("heartbeat".to_owned()),
        ttl: Some(go_duration(config.ttl())),
        status: Some("passing".to_owned()),
        deregister_critical_service_after: config.deregister_after.map(go_duration),
        ..AgentServiceCheck::default()
    }];
    if !instance.is_healthy() {
        checks.push(AgentServiceCheck {
            check_id: Some(health_check(&id)),
            name: Some("health as told by the instance".to_owned()),
            ttl: Some(go_duration(FOR_EVER)),
            status: Some("critical".to_owned()),
            ..AgentServiceCheck::default()
        });
    }
    let weight = registry_weight(instance.weight(), mapping);
    Ok(RegisterServiceRequest {
        id: Some(id),
        name: Some(service.to_owned()),
        address: Some(instance.address().host().to_owned()),
        port: Some(instance.address().port().into()),
        meta: Some(meta),
        tags: Some(tags),
        weights: Some(AgentWeights {
            passing: Some(weight),
            warning: Some(weight),
        }),
        checks: Some(checks),
        ..RegisterServiceRequest::default()
    })
}

/// The nearest weight that Consul has; it has no 0.
fn registry_weight(weight: Weight, mapping: &FieldMapping) -> u64 {
    let ordinary = mapping.registry_ordinary_weight().map_or(1, |n| n.get());
    let default = u64::from(Weight::DEFAULT.get());
    let scaled = (u64::from(weight.get()) * u64::from(ordinary) + default / 2) / default;
    scaled.clamp(1, MAX_WEIGHT)
}

fn is_legal_meta(key: &str, value: &str) -> bool {
    !key.is_empty()
        && key.len() <= MAX_KEY
        && value.len() <= MAX_VALUE
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        // Consul keeps this beginning for itself.
        && !key.starts_with("consul-")
}

fn go_duration(duration: Duration) -> String {
    format!("{}ms", duration.as_millis())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn what_is_no_metadata_becomes_a_tag() {
        let instance = Instance::builder("a", "[::1]:80")
            .version("v1")
            .tag("lane", "blue")
            .tag("app.kubernetes.io/name", "order")
            .tag("note", "x".repeat(600))
            .build()
            .expect("legal");
        let definition = definition(
            "order",
            &instance,
            &FieldMapping::default(),
            &ConsulRegisterConfig::default(),
        )
        .expect("all has a place");
        let meta = definition.meta.expect("some");
        assert_eq!(meta.get("version").map(String::as_str), Some("v1"));
        assert_eq!(meta.get("lane").map(String::as_str), Some("blue"));
        assert_eq!(meta.get("ringfence-id").map(String::as_str), Some("a"));
        assert_eq!(meta.len(), 3);
        let tags = definition.tags.expect("some");
        assert_eq!(tags[0], "app.kubernetes.io/name=order");
        assert_eq!(tags[1].len(), 605);
        assert_eq!(definition.address.as_deref(), Some("::1"));
    }

    #[test]
    fn many_tags_and_impossible_ones() {
        let tags = (0..100).map(|n| (format!("k{n:03}"), "v"));
        let instance = Instance::builder("a", "10.0.0.1:80").tags(tags);
        let instance = instance.build().expect("legal");
        let define = |instance: &Instance| {
            let mapping = FieldMapping::default();
            definition(
                "order",
                instance,
                &mapping,
                &ConsulRegisterConfig::default(),
            )
        };
        let many = define(&instance).expect("all has a place");
        assert_eq!(many.meta.map(|meta| meta.len()), Some(64));
        assert_eq!(many.tags.map(|tags| tags.len()), Some(37));
        let odd = instance
            .to_builder()
            .tag("a=b", "c")
            .build()
            .expect("legal");
        assert!(define(&odd).is_err());
        let long = "v".repeat(256);
        let versioned = instance.to_builder().version(long).build().expect("legal");
        assert!(define(&versioned).is_ok());
    }

    #[test]
    fn weights_are_brought_to_the_registrys_scale() {
        let default = FieldMapping::default();
        let kitex = FieldMapping::default().with_registry_ordinary_weight(NonZeroU32::new(10));
        for (weight, mapping, expected) in [
            (0, &default, 1),
            (1, &default, 1),
            (100, &default, 1),
            (149, &default, 1),
            (150, &default, 2),
            (1_000_000, &default, 10_000),
            (100, &kitex, 10),
            (1_000_000, &kitex, 65_535),
        ] {
            let weight = Weight::try_new(weight).expect("legal");
            assert_eq!(registry_weight(weight, mapping), expected, "{weight}");
        }
    }
}
