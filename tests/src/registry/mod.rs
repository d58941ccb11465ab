//! Real registries behind one face: the product's adapters with their default settings, and what an operator does by hand.

mod consul;
mod etcd;
mod nacos;

use std::{collections::BTreeSet, fmt, io, sync::Arc};

use ringfence::{
    Discovery, Instance,
    discovery::{FieldMapping, Registrar},
};
use ringfence_testkit::registry::RegistryServer;

pub use self::{consul::OnConsul, etcd::OnEtcd, nacos::OnNacos};

/// A running registry server of one kind, which nobody else uses.
///
/// Writing and listing go by the server's HTTP interface, so that neither passes what is under test.
pub trait Registry: fmt::Debug + Sized {
    /// What it is called.
    const NAME: &'static str;

    /// Whether what was put by hand is still there after a restart.
    const REMEMBERS: bool;

    /// Starts one.
    ///
    /// # Errors
    /// When it is not on this machine, or does not become ready.
    fn start() -> impl Future<Output = io::Result<Self>>;

    /// The server, to do something to it.
    fn server(&mut self) -> &mut dyn RegistryServer;

    /// A source of its own on it.
    ///
    /// # Errors
    /// Those of setting it up.
    fn discovery(&self) -> io::Result<Arc<dyn Discovery>>;

    /// Registers instances with it.
    ///
    /// # Errors
    /// Those of setting it up.
    fn registrar(&self) -> io::Result<Arc<dyn Registrar>>;

    /// Puts or replaces an instance of the [service](crate::client::service), once and without a sign of life to follow.
    ///
    /// # Errors
    /// Those of the registry.
    fn put(&self, instance: &Instance) -> impl Future<Output = io::Result<()>>;

    /// Takes an instance out that was put by hand.
    ///
    /// # Errors
    /// Those of the registry.
    fn remove(&self, instance: &Instance) -> impl Future<Output = io::Result<()>>;

    /// The ids of the instances that the registry lists as usable now.
    ///
    /// # Errors
    /// Those of the registry.
    fn listed(&self) -> impl Future<Output = io::Result<BTreeSet<String>>>;
}

fn metadata(mapping: &FieldMapping, instance: &Instance) -> io::Result<serde_json::Value> {
    let metadata = mapping.describe(instance).map_err(io::Error::other)?;
    serde_json::to_value(metadata).map_err(io::Error::other)
}
