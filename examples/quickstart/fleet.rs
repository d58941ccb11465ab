//! The servers and the registry that knows them.

use std::{collections::BTreeMap, error::Error, net::SocketAddr};

use ringfence::{Instance, MemoryRegistry, ServiceKey};
use ringfence_echo::EchoServer;

/// Release that ordinary tenants use.
pub(crate) const STABLE: &str = "stable";
/// Release that only gray tenants may use.
pub(crate) const GRAY: &str = "gray";

/// Id, version, zone and weight of each instance.
type Role = (&'static str, &'static str, &'static str, u32);

const AT_START: [Role; 8] = [
    ("stable-1", STABLE, "zone-a", 100),
    ("stable-2", STABLE, "zone-b", 100),
    ("stable-3", STABLE, "zone-a", 100),
    ("stable-4", STABLE, "zone-b", 100),
    ("stable-5", STABLE, "zone-a", 100),
    ("stable-6", STABLE, "zone-b", 200),
    ("gray-1", GRAY, "zone-a", 100),
    ("gray-2", GRAY, "zone-b", 100),
];

/// The instance that joins later.
const NEWCOMER: Role = ("stable-7", STABLE, "zone-a", 100);

pub(crate) struct Fleet {
    registry: MemoryRegistry,
    service: ServiceKey,
    servers: BTreeMap<String, EchoServer>,
}

impl Fleet {
    pub(crate) async fn start() -> Result<Self, Box<dyn Error>> {
        let mut fleet = Self {
            registry: MemoryRegistry::new(),
            service: ServiceKey::new("echo"),
            servers: BTreeMap::new(),
        };
        for role in AT_START {
            fleet.add(role).await?;
        }
        Ok(fleet)
    }

    /// Starts one more server and registers it; returns its id.
    pub(crate) async fn scale_out(&mut self) -> Result<&'static str, Box<dyn Error>> {
        self.add(NEWCOMER).await?;
        Ok(NEWCOMER.0)
    }

    async fn add(&mut self, (id, version, zone, weight): Role) -> Result<(), Box<dyn Error>> {
        let server = EchoServer::bind(id).await?;
        let instance = Instance::builder(id, server.address().to_string())
            .version(version)
            .zone(zone)
            .weight(weight)
            .build()?;
        self.registry.register(&self.service, instance);
        self.servers.insert(id.to_owned(), server);
        Ok(())
    }

    /// Cuts a server off in the middle of its calls. It stays registered, as after a crash.
    pub(crate) async fn kill(&mut self, id: &str) -> Result<SocketAddr, Box<dyn Error>> {
        let server = self.servers.remove(id).ok_or("no such server")?;
        let address = server.address();
        server.kill().await;
        Ok(address)
    }

    /// Starts a server again where it was.
    pub(crate) async fn restart(
        &mut self,
        id: &str,
        address: SocketAddr,
    ) -> Result<(), Box<dyn Error>> {
        self.servers
            .insert(id.to_owned(), EchoServer::bind_to(id, address).await?);
        Ok(())
    }

    pub(crate) fn registry(&self) -> &MemoryRegistry {
        &self.registry
    }

    pub(crate) fn service(&self) -> &ServiceKey {
        &self.service
    }

    /// Zone that an instance is registered in.
    pub(crate) fn zone(&self, id: &str) -> Option<String> {
        let snapshot = self.registry.list(&self.service)?;
        snapshot.get(id)?.zone().map(str::to_owned)
    }

    /// What the servers themselves counted, by id.
    pub(crate) fn requests(&self) -> BTreeMap<String, u64> {
        self.servers
            .iter()
            .map(|(id, server)| (id.clone(), server.requests()))
            .collect()
    }

    /// Share of the keys that each registered instance of a version should have, by its weight.
    pub(crate) fn ideal_shares(&self, version: &str) -> BTreeMap<String, f64> {
        let snapshot = self.registry.list(&self.service).unwrap_or_default();
        let weights: BTreeMap<String, f64> = snapshot
            .instances()
            .iter()
            .filter(|instance| instance.version() == Some(version))
            .map(|instance| {
                (
                    instance.id().to_string(),
                    f64::from(instance.weight().get()),
                )
            })
            .collect();
        let total: f64 = weights.values().sum();
        weights
            .into_iter()
            .map(|(id, weight)| (id, weight / total))
            .collect()
    }
}
