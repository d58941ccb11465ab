use std::collections::BTreeSet;

use ringfence_discovery::{FieldMapping, Provenance, RegistryRecord, Update};

use crate::{
    NAME,
    names::DEFAULT_CLUSTER,
    naming::{Record, Target},
};

/// What the list of a service says, for one that wants these clusters (none: all) read by this mapping.
pub(crate) fn update(
    target: &Target,
    records: &[Record],
    clusters: &BTreeSet<String>,
    mapping: &FieldMapping,
) -> Update {
    let (mut instances, mut rejected, mut altered) = (Vec::new(), Vec::new(), 0);
    for record in records {
        let cluster = cluster(record);
        if !clusters.is_empty() && !clusters.contains(cluster) {
            continue;
        }
        let id = identity(record);
        let own = RegistryRecord::new(&id, &record.ip, record.port)
            .weight(record.weight, 1.0)
            .zone((cluster != DEFAULT_CLUSTER).then_some(cluster))
            .healthy(record.healthy)
            .enabled(record.enabled);
        let metadata = record
            .metadata
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()));
        match mapping.apply(&own, metadata, []) {
            Ok(mapped) => {
                altered += mapped.altered_tags;
                instances.push(mapped.instance);
            }
            Err(reason) => rejected.push(reason),
        }
    }
    if altered > 0 {
        tracing::debug!(service = %target, altered, "metadata entries were left out or cut");
    }
    // An unknown service and one without instances have the same answer, an empty list.
    Update::instances(instances, Provenance::live(NAME)).with_rejected(rejected)
}

fn cluster(record: &Record) -> &str {
    match record.cluster.trim() {
        "" => DEFAULT_CLUSTER,
        cluster => cluster,
    }
}

/// The identity that the server itself goes by: address and cluster. Its own text for it differs between servers.
fn identity(record: &Record) -> String {
    let Record { ip, port, .. } = record;
    let ip: String = ip.trim().chars().take(200).collect();
    match cluster(record) {
        DEFAULT_CLUSTER => format!("{ip}:{port}"),
        cluster => format!("{cluster}@{ip}:{port}"),
    }
}

#[cfg(test)]
mod tests;
