use ringfence_core::RingConfig;
use serde_json::Value;

use super::{ConsistentHash, HASH};
use crate::{PolicyError, RingAlgorithm, RingSettings};

/// How Envoy maps keys under such a rule: on a ring, unless it says Maglev.
pub(super) fn settings(hash: &ConsistentHash) -> Result<RingSettings, PolicyError> {
    let at = |path: &str| format!("{HASH}.{path}");
    let (settings, path) = if let Some(maglev) = &hash.maglev {
        if hash.ring_hash.is_some() {
            let reason = "`ringHash` is set too, and only one of them is allowed";
            return Err(PolicyError::new(at("maglev"), reason));
        }
        let path = "maglev.tableSize";
        let size = maglev.table_size.as_ref();
        let settings = RingSettings {
            table_size: size.map(|size| number(size, &at(path))).transpose()?,
            ..RingSettings::of(RingAlgorithm::Maglev)
        };
        (settings, path)
    } else {
        let of_ring = hash
            .ring_hash
            .as_ref()
            .and_then(|ring| ring.minimum_ring_size.as_ref());
        let (path, size) = match (of_ring, &hash.minimum_ring_size) {
            (Some(size), _) => ("ringHash.minimumRingSize", Some(size)),
            (None, size) => ("minimumRingSize", size.as_ref()),
        };
        let settings = RingSettings {
            min_ring_size: size.map(|size| number(size, &at(path))).transpose()?,
            ..RingSettings::of(RingAlgorithm::EnvoyRing)
        };
        (settings, path)
    };
    match RingConfig::try_from(&settings) {
        Ok(_) => Ok(settings),
        Err(error) => Err(PolicyError::new(at(path), error.reason())),
    }
}

/// 64-bit numbers are texts in the JSON form of protobuf.
fn number(value: &Value, path: &str) -> Result<u32, PolicyError> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    let number = number.and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| {
        let reason = format!("{value} is out of range, allowed is 0..={}", u32::MAX);
        PolicyError::new(path, reason)
    })
}
