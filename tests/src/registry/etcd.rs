use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::Arc,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ringfence::{Discovery, Instance, discovery::Registrar};
use ringfence_etcd::{EtcdConfig, EtcdDiscovery, EtcdRegistrar};
use ringfence_testkit::registry::{Etcd, RegistryServer};
use serde_json::{Value, json};

use super::Registry;
use crate::client::service;

/// A single etcd node, with records in Ringfence's own layout.
#[derive(Debug)]
pub struct OnEtcd(Etcd);

impl OnEtcd {
    /// The server.
    #[must_use]
    pub fn etcd(&self) -> &Etcd {
        &self.0
    }

    /// What the keys of the service begin with.
    #[must_use]
    pub fn prefix() -> String {
        format!("/ringfence/default/{}/", service().name())
    }

    /// The key of an instance.
    #[must_use]
    pub fn key(instance: &Instance) -> String {
        Self::prefix() + instance.id().as_str()
    }

    /// The value of an instance: address and weight, which are all that differs in these tests.
    #[must_use]
    pub fn value(instance: &Instance) -> String {
        let (address, weight) = (instance.address().to_string(), instance.weight().get());
        json!({ "v": 1, "address": address, "weight": weight }).to_string()
    }

    /// The records of the service by the ids of their instances, as this node has them.
    ///
    /// # Errors
    /// Those of etcd; a key or value that is no text.
    pub async fn records(node: &Etcd) -> io::Result<BTreeMap<String, Value>> {
        let prefix = Self::prefix();
        // The key after all that begin with the prefix.
        let end = prefix.trim_end_matches('/').to_owned() + "0";
        let range = json!({
            "key": BASE64_STANDARD.encode(&prefix), "range_end": BASE64_STANDARD.encode(end),
        });
        let answer = node.call("kv/range", range).await?;
        let records = answer["kvs"].as_array().into_iter().flatten();
        let records = records.map(|kv| {
            let key = decoded(&kv["key"])?;
            let value = serde_json::from_str(&decoded(&kv["value"])?)?;
            Ok((key.trim_start_matches(&prefix).to_owned(), value))
        });
        records.collect()
    }
}

fn decoded(text: &Value) -> io::Result<String> {
    let bytes = BASE64_STANDARD.decode(text.as_str().unwrap_or_default());
    String::from_utf8(bytes.map_err(io::Error::other)?).map_err(io::Error::other)
}

impl Registry for OnEtcd {
    const NAME: &'static str = "etcd";
    const REMEMBERS: bool = true;

    async fn start() -> io::Result<Self> {
        Etcd::start().await.map(Self)
    }

    fn server(&mut self) -> &mut dyn RegistryServer {
        &mut self.0
    }

    fn discovery(&self) -> io::Result<Arc<dyn Discovery>> {
        let source = EtcdDiscovery::new(EtcdConfig::new([self.0.url()]));
        Ok(Arc::new(source.map_err(io::Error::other)?))
    }

    fn registrar(&self) -> io::Result<Arc<dyn Registrar>> {
        let registrar = EtcdRegistrar::new(EtcdConfig::new([self.0.url()]));
        Ok(Arc::new(registrar.map_err(io::Error::other)?))
    }

    async fn put(&self, instance: &Instance) -> io::Result<()> {
        let put = self.0.put(Self::key(instance), Self::value(instance));
        put.await.map(drop)
    }

    async fn remove(&self, instance: &Instance) -> io::Result<()> {
        self.0.delete(Self::key(instance)).await.map(drop)
    }

    async fn listed(&self) -> io::Result<BTreeSet<String>> {
        let records = Self::records(&self.0).await?;
        Ok(records.into_keys().collect())
    }
}
