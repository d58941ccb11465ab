//! One look at a source.

use std::{
    io::{self, Write as _},
    time::Duration,
};

use ringfence_core::Instance;
use ringfence_discovery::{Provenance, RejectedRecord, Revision, ServiceState};

use super::Source;
use crate::{failure::Failure, input::Fleet, output::printable};

/// How long a registry may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A service as its source has it.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) fleet: Fleet,
    /// Records that are no instances, which clients leave out too.
    pub(crate) rejected: Vec<RejectedRecord>,
    pub(crate) duplicates: usize,
    pub(crate) revision: Option<Revision>,
    pub(crate) provenance: Provenance,
}

impl Reading {
    /// Fails where there is no instance, of which nothing could be told.
    pub(crate) fn check(&self, source: &Source) -> Result<(), Failure> {
        let service = &self.fleet.service;
        match (self.fleet.instances.is_empty(), self.rejected.len()) {
            (false, _) => Ok(()),
            (true, 0) => Err(source.without_instances(service)),
            (true, records) => Err(Failure::unreached(format_args!(
                "{}: no record of `{service}` is an instance: {records} left out",
                source.told()
            ))),
        }
    }
}

impl Source {
    /// Reads it once. Of a file each record must be right; of a registry the bad ones are listed.
    pub(crate) fn read(&self, service: Option<&str>) -> Result<Reading, Failure> {
        let at_hand = |fleet: Fleet, origin: &str| Reading {
            fleet,
            rejected: Vec::new(),
            duplicates: 0,
            revision: None,
            provenance: Provenance::live(origin),
        };
        match self {
            Self::File(path) => Fleet::of_file(path, service).map(|fleet| at_hand(fleet, "file")),
            Self::Static(instances) => {
                let service = service.unwrap_or("static").to_owned();
                let instances = instances.clone();
                Ok(at_hand(Fleet { service, instances }, "static"))
            }
            Self::Registry(_) => runtime()?.block_on(self.fetched(service)),
        }
    }

    async fn fetched(&self, service: Option<&str>) -> Result<Reading, Failure> {
        let (source, key) = self.connect(service)?;
        let told = self.told();
        let read = tokio::time::timeout(PATIENCE, source.fetch(&key)).await;
        let read = read.map_err(|_| {
            Failure::unreached(format_args!("{told}: no answer within {PATIENCE:?}"))
        })?;
        let update = read.map_err(|error| Failure::unreached(format_args!("{told}: {error}")))?;
        let ServiceState::Instances(snapshot) = update.state else {
            let kind = source.name();
            return Err(Failure::unreached(format_args!(
                "{told}: {kind} knows no service `{key}`"
            )));
        };
        // In the order of the registry, on which some algorithms depend.
        let places = snapshot.given_order();
        let instances = places.filter_map(|place| snapshot.instances().get(place as usize));
        let instances: Vec<Instance> = instances.map(|i| Instance::clone(i)).collect();
        Ok(Reading {
            fleet: Fleet {
                service: key.to_string(),
                instances,
            },
            rejected: update.rejected,
            duplicates: snapshot.duplicates(),
            revision: update.revision,
            provenance: update.provenance,
        })
    }
}

/// Where clients of registries run.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let built = builder.worker_threads(2).enable_all().build();
    built.map_err(|error| Failure::new(format_args!("no runtime: {error}")))
}

/// A line on standard error, beside an answer that is given all the same.
pub(crate) fn warn(message: impl std::fmt::Display) {
    // Where nobody reads it, the answer is given all the same.
    let _ = writeln!(
        io::stderr(),
        "ringfence: {}",
        printable(&message.to_string())
    );
}
