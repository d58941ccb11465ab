//! Real echo servers by id, which can be killed and come back where they were.

use std::{collections::BTreeMap, net::SocketAddr};

use ringfence::{Instance, InstanceBuilder};
use ringfence_echo::EchoServer;

/// Echo servers on loopback.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    servers: BTreeMap<String, EchoServer>,
    gone: BTreeMap<String, SocketAddr>,
}

impl Fleet {
    pub(crate) async fn start(ids: impl IntoIterator<Item: AsRef<str>>) -> Self {
        let mut fleet = Self::default();
        for id in ids {
            fleet.add(id.as_ref()).await;
        }
        fleet
    }

    pub(crate) async fn add(&mut self, id: &str) {
        let server = EchoServer::bind(id).await.unwrap();
        self.servers.insert(id.to_owned(), server);
    }

    pub(crate) fn server(&self, id: &str) -> &EchoServer {
        &self.servers[id]
    }

    /// The instance to register for a server, for a test to add version, zone and weight.
    pub(crate) fn instance(&self, id: &str) -> InstanceBuilder {
        Instance::builder(id, self.server(id).address().to_string())
    }

    /// Requests per server since it started.
    pub(crate) fn requests(&self) -> BTreeMap<&str, u64> {
        let servers = self.servers.iter();
        servers
            .map(|(id, server)| (id.as_str(), server.requests()))
            .collect()
    }

    /// Cuts all connections of a server and closes its port.
    pub(crate) async fn kill(&mut self, id: &str) {
        let server = self.servers.remove(id).unwrap();
        self.gone.insert(id.to_owned(), server.address());
        server.kill().await;
    }

    /// Starts a killed server again, at its old address.
    pub(crate) async fn revive(&mut self, id: &str) {
        let address = self.gone.remove(id).unwrap();
        let server = EchoServer::bind_to(id, address).await.unwrap();
        self.servers.insert(id.to_owned(), server);
    }
}

mod tests {
    use ringfence_echo::{EchoClient, EchoRequest};
    use tonic::transport::{Channel, Endpoint};

    use super::Fleet;

    async fn call(fleet: &Fleet, id: &str) -> String {
        let instance = fleet.instance(id).build().unwrap();
        let uri = format!("http://{}", instance.address());
        let channel: Channel = Endpoint::from_shared(uri).unwrap().connect_lazy();
        let response = EchoClient::new(channel).unary(EchoRequest::new("x")).await;
        response.unwrap().into_inner().instance
    }

    #[tokio::test]
    async fn a_server_comes_back_where_it_was() {
        let mut fleet = Fleet::start(["a", "b"]).await;
        let address = fleet.server("a").address();
        assert_eq!(call(&fleet, "a").await, "a");
        fleet.kill("a").await;
        fleet.revive("a").await;
        assert_eq!(call(&fleet, "a").await, "a");
        assert_eq!(fleet.server("a").address(), address);
        assert_eq!(fleet.requests(), [("a", 1), ("b", 0)].into());
    }
}
