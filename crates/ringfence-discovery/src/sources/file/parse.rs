//! The instances file: its form, its faults and their lines.

use std::collections::{BTreeMap, btree_map::Entry};

use ringfence_core::{Address, Instance, InstanceId, Scheme, Snapshot, Weight, clip};
use serde_saphyr::Spanned;

use super::{
    error::InstancesFileError,
    form::{self, Document, Record},
};
use crate::RejectedRecord;

/// Services and their instances as an instances file lists them, in the order of the file.
///
/// See [`parse_instances_file`] for the form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstancesFile {
    services: Vec<FileService>,
}

impl InstancesFile {
    /// The services in the order of the file. Names are unique.
    #[must_use]
    pub fn services(&self) -> &[FileService] {
        &self.services
    }

    /// The service of this name.
    #[must_use]
    pub fn service(&self, name: &str) -> Option<&FileService> {
        self.services.iter().find(|service| service.name == name)
    }
}

/// One service of an [`InstancesFile`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileService {
    name: String,
    line: u64,
    instances: Vec<Instance>,
    rejected: Vec<RejectedRecord>,
}

impl FileService {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The line of its name, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Its instances in the order of the file; ids are unique.
    #[must_use]
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// The records that are no instances and were left out, in the order of the file.
    #[must_use]
    pub fn rejected(&self) -> &[RejectedRecord] {
        &self.rejected
    }

    /// Its instances as a snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.instances.iter().cloned())
    }
}

/// Reads an instances file, in YAML or in JSON (the same reader takes both).
///
/// Under `services`, each name has a list of records. `id` and `address` are required; the other fields are `scheme` (`http` or
/// `https`), `weight` (0 to 1,000,000, default 100), `version`, `region`, `zone`, `tags`, `enabled` and `healthy` (`true` or
/// `false`, default true). A field without a value is as if absent. Texts need no quotes: `version: 1.10` and `id: 007` keep
/// their spelling, and so do numbers and booleans as values of tags. Anchors, aliases and merge keys work.
///
/// A record with a wrong value (a bad address, a weight out of range, no id, an id that another record of the service has)
/// is left out and told in [`FileService::rejected`]. A service without instances is written `[]`.
///
/// # Errors
/// [`InstancesFileError`] for a fault of the document: its syntax, a value of the wrong shape, an unknown field, a field or
/// service that is there twice.
///
/// # Examples
/// ```
/// use ringfence_discovery::parse_instances_file;
///
/// let file = parse_instances_file(r#"
/// services:
///   order:
///     - { id: order-1, address: "10.0.0.1:8080", zone: az-1, tags: { env: prod } }
///     - { id: order-2, address: "10.0.0.2" }
/// "#)?;
/// let order = file.service("order").expect("it is there");
/// assert_eq!(order.instances().len(), 1);
/// assert_eq!(order.rejected()[0].line, Some(5));
///
/// let error = parse_instances_file("services:\n  order:\n    - adress: 10.0.0.1:80\n").unwrap_err();
/// assert_eq!(error.to_string(), "line 3, column 7: unknown field `adress`, did you mean `address`?");
/// # Ok::<(), ringfence_discovery::InstancesFileError>(())
/// ```
pub fn parse_instances_file(text: &str) -> Result<InstancesFile, InstancesFileError> {
    let document: Document = form::read(text)?;
    let services = document.services.0.into_iter();
    Ok(InstancesFile {
        services: services
            .map(|(name, records)| service(name, records))
            .collect(),
    })
}

fn service(name: Spanned<String>, records: Vec<Spanned<Record>>) -> FileService {
    let mut service = FileService {
        name: name.value,
        line: name.referenced.line(),
        instances: Vec::with_capacity(records.len()),
        rejected: Vec::new(),
    };
    // Where each id is in `instances`, and on which line it was read.
    let mut known: BTreeMap<InstanceId, (usize, u64)> = BTreeMap::new();
    for record in records {
        let line = record.referenced.line();
        let instance = match instance(&record) {
            Ok(instance) => instance,
            Err(rejected) => {
                service.rejected.push(rejected);
                continue;
            }
        };
        match known.entry(instance.id().clone()) {
            Entry::Vacant(entry) => {
                entry.insert((service.instances.len(), line));
                service.instances.push(instance);
            }
            Entry::Occupied(mut entry) => {
                let (at, earlier_line) = *entry.get();
                let mut rejected_line = line;
                if let Some(earlier) = service.instances.get_mut(at)
                    && wins(&instance, earlier)
                {
                    *earlier = instance;
                    entry.insert((at, line));
                    rejected_line = earlier_line;
                }
                let reason =
                    "the id is there twice; clients use the record with the lowest address";
                service.rejected.push(
                    RejectedRecord::new(reason)
                        .with_id(entry.key().as_str())
                        .with_line(rejected_line),
                );
            }
        }
    }
    service
}

/// Which of two records of one id all clients use: the snapshot's rule.
fn wins(later: &Instance, earlier: &Instance) -> bool {
    let kept = Snapshot::new([earlier.clone(), later.clone()]);
    kept.instances()
        .first()
        .is_some_and(|kept| **kept != *earlier)
}

fn instance(record: &Spanned<Record>) -> Result<Instance, RejectedRecord> {
    let fields = &record.value;
    let line = record.referenced.line();
    let reject = |line: u64, reason: String| {
        let rejected = RejectedRecord::new(reason).with_line(line);
        match &fields.id {
            Some(id) => rejected.with_id(clip(&id.value)),
            None => rejected,
        }
    };
    let id = fields.id.as_ref();
    let id = id.ok_or_else(|| reject(line, "the record has no `id`".to_owned()))?;
    let address = fields.address.as_ref();
    let address = address.ok_or_else(|| reject(line, "the record has no `address`".to_owned()))?;
    // Checked one by one, so that a fault has the line of its field.
    InstanceId::try_new(&id.value).map_err(|e| reject(at(id), e.to_string()))?;
    if let Err(error) = address.value.parse::<Address>() {
        return Err(reject(at(address), error.to_string()));
    }
    let mut builder = Instance::builder(&id.value, &address.value);
    if let Some(scheme) = &fields.scheme {
        let parsed = scheme.value.parse::<Scheme>();
        builder = builder.scheme(parsed.map_err(|e| reject(at(scheme), e.to_string()))?);
    }
    if let Some(weight) = &fields.weight {
        let parsed = weight.value.parse().ok().map(Weight::try_new);
        let Some(Ok(parsed)) = parsed else {
            let text = clip(&weight.value);
            let reason = format!(
                "weight `{text}` is no whole number from 0 to {}",
                Weight::MAX
            );
            return Err(reject(at(weight), reason));
        };
        builder = builder.weight(parsed.get());
    }
    for (name, value) in [("enabled", &fields.enabled), ("healthy", &fields.healthy)] {
        let Some(value) = value else { continue };
        let Some(flag) = boolean(&value.value) else {
            let text = clip(&value.value);
            let reason = format!("{name} is `{text}`, expected true or false");
            return Err(reject(at(value), reason));
        };
        builder = match name {
            "enabled" => builder.enabled(flag),
            _ => builder.healthy(flag),
        };
    }
    if let Some(version) = &fields.version {
        builder = builder.version(&*version.value);
    }
    if let Some(region) = &fields.region {
        builder = builder.region(&*region.value);
    }
    if let Some(zone) = &fields.zone {
        builder = builder.zone(&*zone.value);
    }
    for (name, value) in fields.tags.iter().flat_map(|tags| &tags.0) {
        builder = builder.tag(&*name.value, value.as_deref().unwrap_or_default());
    }
    builder.build().map_err(|e| reject(line, e.to_string()))
}

fn at<T>(field: &Spanned<T>) -> u64 {
    field.referenced.line()
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod deep;
#[cfg(test)]
mod tests;
