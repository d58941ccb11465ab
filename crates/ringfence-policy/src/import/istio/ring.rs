use ringfence_core::{EnvoyRing, Maglev, RingConfig};
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
        let allowed = format!("a prime number in 2..={}", Maglev::MAX_TABLE_SIZE);
        let number = |size| number(size, &at(path), &allowed);
        let settings = RingSettings {
            table_size: maglev.table_size.as_ref().map(number).transpose()?,
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
        let allowed = format!("1..={}", EnvoyRing::MAX_RING_SIZE);
        let number = |size| number(size, &at(path), &allowed);
        let settings = RingSettings {
            min_ring_size: size.map(number).transpose()?,
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
fn number(value: &Value, path: &str, allowed: &str) -> Result<u32, PolicyError> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    let number = number.and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| {
        let reason = format!("{value} is out of range, allowed is {allowed}");
        PolicyError::new(path, reason)
    })
}
