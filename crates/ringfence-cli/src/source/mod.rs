//! Where instances come from: a file, a list, or a service of a registry, named by one text.

mod address;
#[cfg(any(feature = "consul", feature = "nacos", feature = "etcd"))]
mod credentials;
mod environment;
mod kind;
mod read;
mod registry;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use ringfence_core::Instance;
use ringfence_discovery::{Discovery, FileDiscovery, ServiceKey, StaticDiscovery};

pub(crate) use self::{
    address::RegistryAddress,
    kind::Kind,
    read::{Reading, runtime, warn},
};
use crate::{failure::Failure, input::Fleet};

/// What `--instances` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file of instances; `-` is standard input.
    File(PathBuf),
    /// `static:` with addresses, each the id of its instance too.
    Static(Vec<Instance>),
    /// A service of a registry.
    Registry(RegistryAddress),
}

/// A source that can be read and watched, and the service in it.
pub(crate) type Connected = (Arc<dyn Discovery>, ServiceKey);

impl Source {
    /// Reads `file:PATH`, `static:ADDRESS,...`, `consul://...`, `nacos://...` and `etcd://...`; anything else is a path.
    ///
    /// No message repeats the text before it is known to hold no credentials.
    pub(crate) fn parse(text: &Path) -> Result<Self, Failure> {
        let Some(known) = text.to_str() else {
            return Ok(Self::File(text.to_owned()));
        };
        if let Some(path) = known.strip_prefix("file:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return file(Path::new(path));
        }
        if let Some(list) = known.strip_prefix("static:") {
            return static_list(list).map(Self::Static);
        }
        match RegistryAddress::parse(known) {
            Some(address) => address.map(Self::Registry).map_err(Failure::new),
            None => file(text),
        }
    }

    /// How it is told to people; without credentials, since it cannot hold any.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::File(path) if path.as_os_str() == "-" => "standard input".to_owned(),
            Self::File(path) => path.display().to_string(),
            Self::Static(instances) => format!("a list of {}", instances.len()),
            Self::Registry(address) => address.to_string(),
        }
    }

    /// What is wrong where a service has no instance: in a registry it may be misspelt, and elsewhere it is a wrong input.
    pub(crate) fn without_instances(&self, service: &str) -> Failure {
        match self {
            Self::File(path) => {
                let fault = format_args!("the service `{service}` has no instance");
                Failure::at(path, None, fault)
            }
            Self::Static(_) => Failure::new("static: the list has no instance"),
            Self::Registry(address) => Failure::unreached(format_args!(
                "{address}: no instance of `{service}` is listed, as of a name that is misspelt and of one that may not be read"
            )),
        }
    }

    /// The source to be watched. A file on disk is followed; standard input is read once.
    ///
    /// A registry's client starts tasks, so this needs a runtime.
    pub(crate) fn connect(&self, service: Option<&str>) -> Result<Connected, Failure> {
        match self {
            Self::File(path) => {
                // It is read here too, to tell of a file that is wrong at the start, and which service is meant.
                let found = Fleet::of_file(path, service)?;
                let key = ServiceKey::new(&found.service);
                if path.as_os_str() == "-" {
                    let list = StaticDiscovery::new().with_service(key.clone(), found.instances);
                    return Ok((Arc::new(list), key));
                }
                Ok((Arc::new(FileDiscovery::new(path)), key))
            }
            Self::Static(instances) => {
                let key = ServiceKey::new(service.unwrap_or("static"));
                let list = StaticDiscovery::new().with_service(key.clone(), instances.clone());
                Ok((Arc::new(list), key))
            }
            Self::Registry(address) => {
                let address = address
                    .clone()
                    .with_service(service)
                    .map_err(Failure::new)?;
                registry::connect(&address)
            }
        }
    }
}

/// A path, unless it looks like an address that is mistyped and has a password: no message repeats that.
fn file(path: &Path) -> Result<Source, Failure> {
    let text = path.to_string_lossy();
    let before_host = text.rsplit_once('@').map(|(before, _)| before);
    let is_plainly_path = path.is_absolute() || text.starts_with('.');
    if before_host.is_some_and(|before| before.contains(':')) && !is_plainly_path {
        return Err(Failure::new(
            "no address holds a user and password (ringfence --help says which); a path with a `:` before an `@` begins with ./",
        ));
    }
    Ok(Source::File(path.to_owned()))
}

fn static_list(list: &str) -> Result<Vec<Instance>, Failure> {
    let fault = |at: &str, fault: &dyn std::fmt::Display| {
        Failure::new(format_args!("static:{at}: {fault}"))
    };
    if list.trim().is_empty() {
        return Err(Failure::new("static: expected host:port, or id=host:port"));
    }
    let addresses: Vec<&str> = list.split(',').map(str::trim).collect();
    // `id=host:port` names the instance, as a registry does.
    let parts = |address| str::split_once(address, '=').unwrap_or((address, address));
    if addresses.contains(&"") {
        return Err(Failure::new("static: an address is missing beside a comma"));
    }
    // Before any of them is repeated: a password may have a comma.
    if addresses.iter().any(|entry| parts(entry).1.contains('@')) {
        return Err(Failure::new(
            "static: an address is host:port and holds no user and password",
        ));
    }
    let instances = addresses.iter().map(|address| {
        let (id, address) = parts(address);
        let built = Instance::builder(id, address).build();
        built.map_err(|error| fault(address, &error))
    });
    let instances: Vec<Instance> = instances.collect::<Result<_, _>>()?;
    let mut ids: Vec<&str> = instances.iter().map(|i| i.id().as_str()).collect();
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair.first() == pair.last()) {
        Some(pair) => Err(fault(
            pair.first().copied().unwrap_or_default(),
            &"it is there twice",
        )),
        None => Ok(instances),
    }
}
