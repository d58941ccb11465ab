//! From the records of the health endpoint to instances.

use std::fmt::Write as _;

use ringfence_core::Instance;
use ringfence_discovery::{DiscoveryError, ErrorKind, Mapped, RegistryRecord, RejectedRecord};

use crate::{
    ConsulConfig, InstanceIdentity, NAME, WarningPolicy,
    entry::{Check, Entry, split_list},
};

const NODE_MAINTENANCE: &str = "_node_maintenance";
const SERVICE_MAINTENANCE: &str = "_service_maintenance:";

/// The worst that the checks of an instance and of its node say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Passing,
    Warning,
    /// Also what no Consul that we know says.
    Critical,
}

/// What a list says.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) instances: Vec<Instance>,
    pub(crate) rejected: Vec<RejectedRecord>,
    /// Metadata and tags that were left out or cut.
    pub(crate) altered: usize,
}

/// Reads a list. Records that are none are left out with a reason.
///
/// # Errors
/// `Malformed` when it is no list, or has records of which not one is of the right form: that is another protocol, not a
/// service without instances.
pub(crate) fn parse(body: &[u8], config: &ConsulConfig) -> Result<Parsed, DiscoveryError> {
    let mut parsed = Parsed::default();
    let records = split_list(body)?;
    let mut unreadable = 0;
    for record in &records {
        match serde_json::from_slice::<Entry>(record) {
            Ok(entry) => match instance(&entry, config) {
                Ok(mapped) => {
                    parsed.altered += mapped.altered_tags;
                    parsed.instances.push(mapped.instance);
                }
                Err(reason) => parsed.rejected.push(reason),
            },
            Err(error) => {
                unreadable += 1;
                // serde quotes foreign text, of any length.
                let reason: String = error.to_string().chars().take(200).collect();
                let reason = RejectedRecord::new(reason.replace(char::is_control, " "));
                parsed.rejected.push(reason);
            }
        }
    }
    if unreadable > 0 && unreadable == records.len() {
        let message = format!("none of the {unreadable} records can be read");
        return Err(DiscoveryError::new(ErrorKind::Malformed, NAME, message));
    }
    Ok(parsed)
}

fn instance(entry: &Entry, config: &ConsulConfig) -> Result<Mapped, RejectedRecord> {
    let (node, service) = (&entry.node, &entry.service);
    if service.id.is_empty() {
        return Err(RejectedRecord::new("the record has no service id"));
    }
    let id = match config.identity {
        InstanceIdentity::ServiceId => service.id.clone(),
        InstanceIdentity::Qualified => qualified(&node.datacenter, &node.node, &service.id),
    };
    let host = [&service.address, &node.address]
        .into_iter()
        .find(|address| !address.trim().is_empty())
        .map_or("", String::as_str);
    let state = entry.checks.iter().map(state).max();
    let state = state.unwrap_or(State::Passing);
    let healthy = match (state, config.warning) {
        (State::Passing, _) | (State::Warning, WarningPolicy::Healthy) => true,
        (State::Warning, WarningPolicy::Unhealthy) | (State::Critical, _) => false,
    };
    let weight = if state == State::Warning && healthy {
        service.weights.warning
    } else {
        service.weights.passing
    };
    let either =
        |own: &'_ str, of_node: &'_ str| if own.is_empty() { of_node } else { own }.to_owned();
    let zone = either(&service.locality.zone, &node.locality.zone);
    let region = either(&service.locality.region, &node.locality.region);
    let record = RegistryRecord::new(&id, host, service.port)
        .weight(weight, 1.0)
        .zone(Some(&*zone))
        .region(Some(&*region))
        .healthy(healthy)
        .enabled(!entry.checks.iter().any(is_maintenance));
    let metadata = service.meta.iter().map(|(key, value)| (&**key, &**value));
    let tags = service.tags.iter().map(String::as_str);
    config.mapping.apply(&record, metadata, tags)
}

fn state(check: &Check) -> State {
    match check.status.as_str() {
        "passing" => State::Passing,
        "warning" => State::Warning,
        _ => State::Critical,
    }
}

fn is_maintenance(check: &Check) -> bool {
    state(check) == State::Critical
        && (check.id == NODE_MAINTENANCE || check.id.starts_with(SERVICE_MAINTENANCE))
}

/// Only the last part may hold a `/`, so no two triples give one text.
fn qualified(datacenter: &str, node: &str, service_id: &str) -> String {
    let mut id = String::with_capacity(datacenter.len() + node.len() + service_id.len() + 2);
    for part in [datacenter, node] {
        for c in part.chars() {
            if matches!(c, '/' | '%') {
                // Writing to a string does not fail.
                let _ = write!(id, "%{:02X}", u32::from(c));
            } else {
                id.push(c);
            }
        }
        id.push('/');
    }
    id + service_id
}

#[cfg(test)]
mod tests;
