use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use ringfence::{Balancer, Health, Instance, MemoryRegistry, ServiceKey, core::InstanceBuilder};
use ringfence_echo::EchoServer;
use tokio::time::{Instant, sleep};

use crate::BoxError;

/// A change must have come to a balancer by then.
const APPLY_LIMIT: Duration = Duration::from_secs(5);

/// Real echo servers on loopback ports, and a registry in memory that knows them. In production each is a process of its own.
#[derive(Debug)]
pub struct Cluster {
    registry: MemoryRegistry,
    service: ServiceKey,
    running: BTreeMap<String, EchoServer>,
    addresses: BTreeMap<String, SocketAddr>,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            registry: MemoryRegistry::new(),
            service: ServiceKey::new("echo"),
            running: BTreeMap::new(),
            addresses: BTreeMap::new(),
        }
    }
}

impl Cluster {
    /// Where the instances are registered.
    #[must_use]
    pub fn registry(&self) -> &MemoryRegistry {
        &self.registry
    }

    /// The service that they belong to.
    #[must_use]
    pub fn service(&self) -> &ServiceKey {
        &self.service
    }

    /// Starts a server and registers it as `describe` says.
    ///
    /// # Errors
    /// When no port can be had, or the description is not legal.
    pub async fn start(
        &mut self,
        id: &str,
        describe: impl FnOnce(InstanceBuilder) -> InstanceBuilder,
    ) -> Result<(), BoxError> {
        let server = EchoServer::bind(id).await?;
        let address = server.address();
        let instance = describe(Instance::builder(id, address.to_string())).build()?;
        self.registry.register(&self.service, instance);
        self.addresses.insert(id.to_owned(), address);
        self.running.insert(id.to_owned(), server);
        Ok(())
    }

    /// Cuts servers off in the middle of their calls, and has the registry find them dead, as its health checks would.
    ///
    /// # Errors
    /// When there is no such server.
    pub async fn crash(&mut self, ids: &[&str]) -> Result<(), BoxError> {
        for id in ids {
            self.kill(id).await?;
            self.registry
                .set_health(&self.service, id, Health::Unhealthy)?;
        }
        Ok(())
    }

    /// Cuts a server off in the middle of its calls; the registry knows nothing of it.
    ///
    /// # Errors
    /// When there is no such server.
    pub async fn kill(&mut self, id: &str) -> Result<(), BoxError> {
        let server = self.running.remove(id).ok_or("no such server")?;
        server.kill().await;
        Ok(())
    }

    /// Takes a server out of the registry and ends it, once its calls are over.
    ///
    /// # Errors
    /// When there is no such server.
    pub async fn stop(&mut self, id: &str) -> Result<(), BoxError> {
        let server = self.running.remove(id).ok_or("no such server")?;
        self.registry.deregister(&self.service, id);
        server.stop().await;
        Ok(())
    }

    /// Starts crashed servers where they were.
    ///
    /// # Errors
    /// When there was no such server, or its port is taken.
    pub async fn restart(&mut self, ids: &[&str]) -> Result<(), BoxError> {
        for id in ids {
            let address = *self.addresses.get(*id).ok_or("no such server")?;
            let server = EchoServer::bind_to(id, address).await?;
            self.running.insert((*id).to_owned(), server);
            self.registry
                .set_health(&self.service, id, Health::Healthy)?;
        }
        Ok(())
    }

    /// What the running servers themselves counted, by id.
    #[must_use]
    pub fn requests(&self) -> BTreeMap<String, u64> {
        let servers = self.running.iter();
        servers
            .map(|(id, server)| (id.clone(), server.requests()))
            .collect()
    }

    /// Waits until a balancer sees the instances as they are registered now.
    ///
    /// # Errors
    /// When it takes longer than five seconds.
    pub async fn seen_by(&self, balancer: &Balancer) -> Result<(), BoxError> {
        let registered = self.registry.list(&self.service).unwrap_or_default();
        until("the balancer sees what is registered", || {
            balancer
                .view()
                .is_some_and(|view| view.snapshot().instances() == registered.instances())
        })
        .await
    }
}

/// Waits until it is so.
///
/// # Errors
/// When it takes longer than five seconds.
pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) -> Result<(), BoxError> {
    let started = Instant::now();
    while !is_so() {
        if started.elapsed() > APPLY_LIMIT {
            return Err(format!("it takes too long until {what}").into());
        }
        sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}
