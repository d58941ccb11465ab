use std::{collections::BTreeSet, io, sync::Arc};

use ringfence::{
    Discovery, Instance,
    discovery::{FieldMapping, Registrar},
};
use ringfence_nacos::{NacosConfig, NacosDiscovery, NacosRegistrar};
use ringfence_testkit::registry::{Nacos, RegistryServer};
use serde_json::Value;

use super::{Registry, metadata};
use crate::client::service;

const INSTANCE: &str = "/nacos/v1/ns/instance";

/// rnacos, which speaks Nacos's protocol.
#[derive(Debug)]
pub struct OnNacos(Nacos);

impl OnNacos {
    /// The server.
    #[must_use]
    pub fn nacos(&self) -> &Nacos {
        &self.0
    }

    fn config(&self) -> io::Result<NacosConfig> {
        NacosConfig::new([self.0.address().to_string()]).map_err(io::Error::other)
    }

    async fn ask(&self, method: &str, path: &str, form: &str) -> io::Result<Value> {
        match self.0.request(method, path, form).await? {
            (200, answer) => Ok(answer),
            other => Err(io::Error::other(format!("{path} {form}: {other:?}"))),
        }
    }

    fn form(instance: &Instance) -> String {
        let (name, address) = (service(), instance.address());
        let (ip, port) = (address.host(), address.port());
        format!(
            "serviceName={}&ip={ip}&port={port}&ephemeral=false",
            name.name()
        )
    }
}

impl Registry for OnNacos {
    const NAME: &'static str = "Nacos";
    // rnacos keeps ephemeral instances only, whatever it is told.
    const REMEMBERS: bool = false;

    async fn start() -> io::Result<Self> {
        Nacos::start().await.map(Self)
    }

    fn server(&mut self) -> &mut dyn RegistryServer {
        &mut self.0
    }

    fn discovery(&self) -> io::Result<Arc<dyn Discovery>> {
        Ok(Arc::new(NacosDiscovery::new(self.config()?)))
    }

    fn registrar(&self) -> io::Result<Arc<dyn Registrar>> {
        Ok(Arc::new(NacosRegistrar::new(self.config()?)))
    }

    async fn put(&self, instance: &Instance) -> io::Result<()> {
        let metadata = metadata(&FieldMapping::for_nacos(), instance)?.to_string();
        let metadata: String = metadata
            .bytes()
            .map(|byte| format!("%{byte:02X}"))
            .collect();
        // rnacos takes 1 for "not given" and keeps what it had; this rounds to the same.
        let weight = f64::from(instance.weight().get()) / 100.0 + 0.0001;
        let form = format!(
            "{}&weight={weight}&metadata={metadata}",
            Self::form(instance)
        );
        self.ask("POST", INSTANCE, &form).await.map(drop)
    }

    async fn remove(&self, instance: &Instance) -> io::Result<()> {
        let form = Self::form(instance);
        self.ask("DELETE", INSTANCE, &form).await.map(drop)
    }

    async fn listed(&self) -> io::Result<BTreeSet<String>> {
        let form = format!("serviceName={}", service().name());
        let path = format!("{INSTANCE}/list");
        let list = self.ask("GET", &path, &form).await?;
        let hosts = list["hosts"].as_array().into_iter().flatten();
        let usable = hosts.filter(|host| host["healthy"] == true && host["enabled"] == true);
        let ids = usable.filter_map(|host| host["metadata"]["ringfence-id"].as_str());
        Ok(ids.map(str::to_owned).collect())
    }
}
