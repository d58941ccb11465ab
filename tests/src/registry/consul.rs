use std::{collections::BTreeSet, io, sync::Arc};

use ringfence::{
    Discovery, Instance,
    discovery::{FieldMapping, Registrar},
};
use ringfence_consul::{ConsulConfig, ConsulDiscovery, ConsulRegisterConfig, ConsulRegistrar};
use ringfence_testkit::registry::{Consul, RegistryServer};
use serde_json::{Value, json};

use super::{Registry, metadata};
use crate::client::service;

/// Consul.
#[derive(Debug)]
pub struct OnConsul(Consul);

impl OnConsul {
    /// The server.
    #[must_use]
    pub fn consul(&self) -> &Consul {
        &self.0
    }

    async fn ask(&self, method: &str, path: &str, body: Value) -> io::Result<Value> {
        match self.0.request(method, path, body).await? {
            (200, answer) => Ok(answer),
            other => Err(io::Error::other(format!("{path}: {other:?}"))),
        }
    }
}

impl Registry for OnConsul {
    const NAME: &'static str = "Consul";
    const REMEMBERS: bool = true;

    async fn start() -> io::Result<Self> {
        Consul::start().await.map(Self)
    }

    fn server(&mut self) -> &mut dyn RegistryServer {
        &mut self.0
    }

    fn discovery(&self) -> io::Result<Arc<dyn Discovery>> {
        let source = ConsulDiscovery::new(ConsulConfig::new(self.0.url()));
        Ok(Arc::new(source.map_err(io::Error::other)?))
    }

    fn registrar(&self) -> io::Result<Arc<dyn Registrar>> {
        let config = ConsulConfig::new(self.0.url());
        let registrar = ConsulRegistrar::new(config, ConsulRegisterConfig::default());
        Ok(Arc::new(registrar.map_err(io::Error::other)?))
    }

    async fn put(&self, instance: &Instance) -> io::Result<()> {
        let address = instance.address();
        let definition = json!({
            "ID": instance.id().as_str(), "Name": service().name(),
            "Address": address.host(), "Port": address.port(),
            "Meta": metadata(&FieldMapping::default(), instance)?,
        });
        let path = "/v1/agent/service/register";
        self.ask("PUT", path, definition).await.map(drop)
    }

    async fn remove(&self, instance: &Instance) -> io::Result<()> {
        let path = format!("/v1/agent/service/deregister/{}", instance.id());
        self.ask("PUT", &path, Value::Null).await.map(drop)
    }

    async fn listed(&self) -> io::Result<BTreeSet<String>> {
        let path = format!("/v1/health/service/{}?passing=1", service().name());
        let list = self.ask("GET", &path, Value::Null).await?;
        let ids = list.as_array().into_iter().flatten();
        let ids = ids.filter_map(|entry| entry["Service"]["ID"].as_str());
        Ok(ids.map(str::to_owned).collect())
    }
}
