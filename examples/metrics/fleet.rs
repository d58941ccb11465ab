//! Servers, and the file that lists them: a registry that can be broken by hand.

use std::{fmt::Write as _, fs, path::PathBuf, time::Duration};

use ringfence::FileDiscovery;
use ringfence_echo::{EchoServer, Fault};
use ringfence_examples::BoxError;
use tempfile::TempDir;

/// Id, zone and version of each.
const SERVERS: [(&str, &str, Option<&str>); 6] = [
    ("echo-1", "az-1", None),
    ("echo-2", "az-1", None),
    ("echo-3", "az-1", None),
    ("echo-4", "az-2", None),
    ("echo-5", "az-2", None),
    ("echo-6", "az-1", Some("gray")),
];

pub(crate) struct Fleet {
    folder: TempDir,
    servers: Vec<Option<EchoServer>>,
    addresses: Vec<std::net::SocketAddr>,
    weights: [u32; SERVERS.len()],
}

impl Fleet {
    pub(crate) async fn start() -> Result<Self, BoxError> {
        let (mut servers, mut addresses) = (Vec::new(), Vec::new());
        for (id, _, _) in SERVERS {
            let server = EchoServer::bind(id).await?;
            addresses.push(server.address());
            servers.push(Some(server));
        }
        let fleet = Self {
            folder: TempDir::new()?,
            servers,
            addresses,
            weights: [100; SERVERS.len()],
        };
        fleet.list()?;
        Ok(fleet)
    }

    pub(crate) fn source(&self) -> Result<FileDiscovery, BoxError> {
        Ok(FileDiscovery::new(self.file()).with_poll_interval(Duration::from_millis(100))?)
    }

    /// Does this wrong with the requests at one server, or at all.
    pub(crate) fn set_fault(&self, place: Option<usize>, fault: Fault) {
        for (at, server) in self.servers.iter().enumerate() {
            if place.is_none_or(|place| place == at)
                && let Some(server) = server
            {
                server.set_fault(fault);
            }
        }
    }

    /// Cuts a server off.
    pub(crate) async fn kill(&mut self, place: usize) {
        if let Some(server) = self.servers.get_mut(place).and_then(Option::take) {
            server.kill().await;
        }
    }

    /// Starts one that was killed, where it was.
    pub(crate) async fn restart(&mut self, place: usize) -> Result<(), BoxError> {
        let (id, _, _) = *SERVERS.get(place).ok_or("no such server")?;
        let address = *self.addresses.get(place).ok_or("no such server")?;
        let server = EchoServer::bind_to(id, address).await?;
        if let Some(slot) = self.servers.get_mut(place) {
            *slot = Some(server);
        }
        Ok(())
    }

    /// Changes a weight in the list.
    pub(crate) fn set_weight(&mut self, place: usize, weight: u32) -> Result<(), BoxError> {
        if let Some(slot) = self.weights.get_mut(place) {
            *slot = weight;
        }
        self.list()
    }

    /// Writes the list as it is.
    pub(crate) fn list(&self) -> Result<(), BoxError> {
        let mut text = "services:\n  echo:\n".to_owned();
        let places = SERVERS.iter().zip(&self.addresses).zip(self.weights);
        for (((id, zone, version), address), weight) in places {
            write!(
                text,
                "    - {{ id: {id}, address: \"{address}\", zone: {zone}, weight: {weight}"
            )?;
            if let Some(version) = version {
                write!(text, ", version: {version}")?;
            }
            text.push_str(" }\n");
        }
        self.write(&text)
    }

    /// Writes something else, at once, so that no half of it is ever read.
    pub(crate) fn write(&self, text: &str) -> Result<(), BoxError> {
        let new = self.folder.path().join("services.yaml.new");
        fs::write(&new, text)?;
        Ok(fs::rename(new, self.file())?)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("services.yaml")
    }
}
