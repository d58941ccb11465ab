use std::{collections::BTreeSet, path::Path, sync::Arc};

use ringfence_core::{Instance, Pool, Ring, RingConfig, Selector, Snapshot, did_you_mean};
use ringfence_discovery::parse_instances_file;
use ringfence_policy::{RingAlgorithm, RingSettings};

use super::read_text;
use crate::{
    args::RingArgs,
    failure::Failure,
    source::{Reading, Source, warn},
};

/// Instances in the order in which they are listed.
#[derive(Clone, Debug)]
pub(crate) struct Fleet {
    /// The service that they are of.
    pub(crate) service: String,
    pub(crate) instances: Vec<Instance>,
}

/// How keys are mapped.
#[derive(Clone, Debug)]
pub(crate) enum Algorithm {
    Ring(Box<RingConfig>),
    /// Of the simulator alone.
    Modulo,
}

impl Fleet {
    /// The instances of one service of a file. A record that is no instance is a fault here, since whatever is told without it
    /// would be of another fleet.
    pub(crate) fn of_file(path: &Path, service: Option<&str>) -> Result<Self, Failure> {
        let text = read_text(path)?;
        let file = parse_instances_file(&text);
        let file = file.map_err(|error| Failure::at(path, error.line(), error.reason()))?;
        let fault = |fault: String| Failure::at(path, None, fault);
        let names = || {
            let names: Vec<&str> = file.services().iter().map(|s| s.name()).collect();
            names.join(", ")
        };
        let found = match (service, file.services()) {
            (Some(name), _) => file
                .service(name)
                .ok_or_else(|| fault(format!("no service `{name}`; the file has: {}", names())))?,
            (None, [only]) => only,
            (None, []) => return Err(fault("the file has no service".to_owned())),
            (None, _) => {
                let all = names();
                let several = format!("several services, choose one with --service: {all}");
                return Err(fault(several));
            }
        };
        if let Some(rejected) = found.rejected().first() {
            let reason = match &rejected.id {
                Some(id) => format!("instance `{id}`: {}", rejected.reason),
                None => rejected.reason.clone(),
            };
            return Err(Failure::at(path, rejected.line, reason));
        }
        Ok(Self {
            service: found.name().to_owned(),
            instances: found.instances().to_vec(),
        })
    }

    /// The instances of a source of any kind, which may be none. What a registry has besides instances is told on standard error and
    /// left out, as clients do it.
    pub(crate) fn read(place: &Path, service: Option<&str>) -> Result<Self, Failure> {
        Self::read_of(&Source::parse(place)?, service).map(|reading| reading.fleet)
    }

    fn read_of(source: &Source, service: Option<&str>) -> Result<Reading, Failure> {
        let reading = source.read(service)?;
        for record in &reading.rejected {
            let id = record.id.as_deref().unwrap_or("(no id)");
            let reason = &record.reason;
            warn(format_args!("{}: left out: {id}: {reason}", source.told()));
        }
        Ok(reading)
    }

    /// The same of the instances that a command is about, of which there must be some.
    pub(crate) fn of(args: &RingArgs) -> Result<Self, Failure> {
        let source = Source::parse(&args.instances)?;
        let reading = Self::read_of(&source, args.service.as_deref())?;
        reading.check(&source)?;
        Ok(reading.fleet)
    }

    pub(crate) fn pool(&self) -> Pool {
        let snapshot = Snapshot::new(self.instances.iter().cloned());
        Pool::select(&Arc::new(snapshot), &Selector::any())
    }

    /// Fails where nobody can own a key.
    pub(crate) fn check_takers(&self, path: &Path) -> Result<(), Failure> {
        if self.instances.iter().any(Instance::takes_traffic) {
            return Ok(());
        }
        let fault = "no instance takes traffic: all are disabled or have weight 0";
        Err(Failure::at(path, None, fault))
    }
}

impl Algorithm {
    pub(crate) const MODULO: &'static str = "modulo";

    /// The settings of a ring.
    pub(crate) fn ring_of(args: &RingArgs) -> Result<RingConfig, Failure> {
        let algorithm = &args.algorithm;
        if !RingAlgorithm::NAMES.contains(&algorithm.as_str()) {
            let hint = did_you_mean(algorithm, RingAlgorithm::NAMES.iter().copied());
            let fault = format!("--algorithm: no algorithm `{algorithm}`{hint}");
            return Err(Failure::new(fault));
        }
        let mut settings = RingSettings::default();
        let set = |settings: &mut RingSettings, name: &str, value: &str| {
            let done = settings.set(name, value);
            done.map_err(|e| Failure::new(format_args!("--set {name}: {}", e.reason())))
        };
        set(&mut settings, "algorithm", algorithm)?;
        let mut known = BTreeSet::new();
        for text in &args.settings {
            let Some((name, value)) = text.split_once('=') else {
                let fault = format!("--set {text}: expected KEY=VALUE, such as probes=5");
                return Err(Failure::new(fault));
            };
            if name == "algorithm" {
                return Err(Failure::new("--set algorithm: use --algorithm"));
            }
            if !known.insert(name) {
                return Err(Failure::new(format_args!(
                    "--set {name}: it is there twice"
                )));
            }
            set(&mut settings, name, value)?;
        }
        let config = RingConfig::try_from(&settings);
        config.map_err(|error| {
            let (path, reason) = (error.path(), error.reason());
            Failure::new(format_args!("--set {path}: {reason}"))
        })
    }

    pub(crate) fn of(args: &RingArgs) -> Result<Self, Failure> {
        if args.algorithm == Self::MODULO {
            if let Some(setting) = args.settings.first() {
                let fault = format!("--set {setting}: modulo has no settings");
                return Err(Failure::new(fault));
            }
            return Ok(Self::Modulo);
        }
        Self::ring_of(args).map(Box::new).map(Self::Ring)
    }
}

/// A pool with its ring.
pub(crate) fn ring(fleet: &Fleet, config: &RingConfig) -> (Pool, Arc<Ring>) {
    let pool = fleet.pool();
    let ring = Ring::build(&pool, config);
    (pool, Arc::new(ring))
}
