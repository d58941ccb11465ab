//! Real echo servers by id, which can be killed and come back where they were.

use std::{collections::BTreeMap, net::SocketAddr};

use ringfence::{Instance, InstanceBuilder};
use ringfence_echo::EchoServer;

/// Echo servers on loopback.
#[derive(Debug, Default)]
pub struct Fleet {
    servers: BTreeMap<String, EchoServer>,
    gone: BTreeMap<String, SocketAddr>,
}

impl Fleet {
    /// One server for each id.
    pub async fn start(ids: impl IntoIterator<Item: AsRef<str>>) -> Self {
        let mut fleet = Self::default();
        for id in ids {
            fleet.add(id.as_ref()).await;
        }
        fleet
    }

    /// Starts one more.
    pub async fn add(&mut self, id: &str) {
        let server = EchoServer::bind(id).await.unwrap();
        self.servers.insert(id.to_owned(), server);
    }

    /// The running server of this id.
    #[must_use]
    pub fn server(&self, id: &str) -> &EchoServer {
        &self.servers[id]
    }

    /// The instance to register for a server, for a test to add version, zone and weight.
    pub fn instance(&self, id: &str) -> InstanceBuilder {
        Instance::builder(id, self.server(id).address().to_string())
    }

    /// Requests per server since it started.
    #[must_use]
    pub fn requests(&self) -> BTreeMap<&str, u64> {
        let servers = self.servers.iter();
        servers
            .map(|(id, server)| (id.as_str(), server.requests()))
            .collect()
    }

    /// Cuts all connections of a server and closes its port.
    pub async fn kill(&mut self, id: &str) {
        let server = self.servers.remove(id).unwrap();
        self.gone.insert(id.to_owned(), server.address());
        server.kill().await;
    }

    /// Starts a killed server again, at its old address.
    pub async fn revive(&mut self, id: &str) {
        let address = self.gone.remove(id).unwrap();
        let server = EchoServer::bind_to(id, address).await.unwrap();
        self.servers.insert(id.to_owned(), server);
    }
}
