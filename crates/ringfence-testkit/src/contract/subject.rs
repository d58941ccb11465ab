use std::{fmt, io, sync::Arc, time::Duration};

use ringfence_core::Instance;
use ringfence_discovery::{BoxFuture, Discovery, ServiceKey};

use super::Scenario;

/// Whose credentials a source is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Those that the registry expects of a consumer, or none if it expects none.
    Ordinary,
    /// Some that it refuses.
    Wrong,
    /// Some that may read and write nothing.
    ReadOnly,
}

/// What is done to the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// It is gone, at once.
    Kill,
    /// It is back, with the data that it had. If its kind forgets what providers registered, they register again.
    Restart,
    /// It is back on empty data, and its counter begins low again.
    Wipe,
    /// It takes connections and answers nothing.
    Freeze,
    /// It goes on.
    Thaw,
}

/// A source and its registry, fresh for one scenario.
///
/// Only the first four methods are for all; the others are asked for in scenarios that a subject may
/// [declare impossible](Self::cannot).
pub trait Subject: fmt::Debug + Send {
    /// A source on the registry. Asked after the first [`set`](Self::set), if the scenario begins with one.
    ///
    /// # Errors
    /// Those of setting it up; never because the registry is away.
    fn discovery(&mut self, access: Access) -> io::Result<Arc<dyn Discovery>>;

    /// The service that the scenario is about; nobody else's.
    fn service(&self) -> ServiceKey;

    /// Makes these the instances that the registry has for the service, and returns when it has them. New ones are added before
    /// others are removed.
    ///
    /// # Errors
    /// Those of the registry.
    fn set<'a>(&'a mut self, instances: &'a [Instance]) -> BoxFuture<'a, io::Result<()>>;

    /// Scenarios that make no sense for this source or that its registry cannot be made to do, each with the reason. They are
    /// told, not run.
    fn cannot(&self) -> Vec<(Scenario, &'static str)> {
        Vec::new()
    }

    /// What is to be seen of an instance that was set: `None` if its registry hides it, another one if the registry cannot
    /// hold all of it.
    fn seen(&self, instance: Instance) -> Option<Instance> {
        Some(instance)
    }

    /// Adds a record to the service that is no instance.
    ///
    /// # Errors
    /// Those of the registry.
    fn add_malformed(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(unsupported("malformed records"))
    }

    /// Does something to the registry, and returns when it is done.
    ///
    /// # Errors
    /// Those of doing it.
    fn fault(&mut self, fault: Fault) -> BoxFuture<'_, io::Result<()>> {
        let _ = fault;
        Box::pin(unsupported("faults"))
    }

    /// Tries to write with the credentials of [`Access::ReadOnly`]: whether the registry let it.
    ///
    /// # Errors
    /// When that cannot be found out.
    fn write_read_only(&mut self) -> BoxFuture<'_, io::Result<bool>> {
        Box::pin(unsupported("credentials"))
    }

    /// How many watches, connections or whatever a watch takes are open now.
    ///
    /// # Errors
    /// When that cannot be found out.
    fn open(&mut self) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// How long a change may take to be seen; after a fault twice as long. Default 10 s.
    fn patience(&self) -> Duration {
        Duration::from_secs(10)
    }
}

async fn unsupported<T>(what: &str) -> io::Result<T> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        format!("the subject does not support {what}, and does not say that it cannot"),
    ))
}

impl<S: Subject + ?Sized> Subject for Box<S> {
    fn discovery(&mut self, access: Access) -> io::Result<Arc<dyn Discovery>> {
        (**self).discovery(access)
    }

    fn service(&self) -> ServiceKey {
        (**self).service()
    }

    fn set<'a>(&'a mut self, instances: &'a [Instance]) -> BoxFuture<'a, io::Result<()>> {
        (**self).set(instances)
    }

    fn cannot(&self) -> Vec<(Scenario, &'static str)> {
        (**self).cannot()
    }

    fn seen(&self, instance: Instance) -> Option<Instance> {
        (**self).seen(instance)
    }

    fn add_malformed(&mut self) -> BoxFuture<'_, io::Result<()>> {
        (**self).add_malformed()
    }

    fn fault(&mut self, fault: Fault) -> BoxFuture<'_, io::Result<()>> {
        (**self).fault(fault)
    }

    fn write_read_only(&mut self) -> BoxFuture<'_, io::Result<bool>> {
        (**self).write_read_only()
    }

    fn open(&mut self) -> io::Result<usize> {
        (**self).open()
    }

    fn patience(&self) -> Duration {
        (**self).patience()
    }
}
