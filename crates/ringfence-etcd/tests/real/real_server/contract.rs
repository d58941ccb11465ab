//! The scenarios that all sources go through, on a server that wants a login.

use std::io;

use etcd_client::{Client, ConnectOptions};
use ringfence_core::Instance;
use ringfence_discovery::{BoxFuture, Discovery};
use ringfence_testkit::{
    contract::{Access, Fault, Subject},
    contract_tests,
    registry::{Credentials, Etcd, RegistryServer as _},
};
use serde_json::json;

use super::*;

#[derive(Debug)]
struct EtcdSubject {
    etcd: Etcd,
    reader: Credentials,
    ids: Vec<String>,
}

async fn start() -> io::Result<EtcdSubject> {
    let mut etcd = Etcd::start().await?;
    etcd.enable_auth().await?;
    let reader = etcd.user(PREFIX, false).await?;
    let ids = Vec::new();
    Ok(EtcdSubject { etcd, reader, ids })
}

/// Written by hand, so that reading is not only held against our own writing.
fn record(instance: &Instance) -> String {
    let tags: std::collections::BTreeMap<_, _> = instance.tags().iter().collect();
    json!({
        "v": 1,
        "address": instance.address().to_string(),
        "weight": instance.weight().get(),
        "version": instance.version(),
        "zone": instance.zone(),
        "tags": tags,
        "enabled": instance.is_enabled(),
    })
    .to_string()
}

impl Subject for EtcdSubject {
    fn discovery(&mut self, access: Access) -> io::Result<Arc<dyn Discovery>> {
        let config =
            EtcdConfig::new([self.etcd.url()]).with_silence_timeout(Duration::from_secs(2));
        let config = match access {
            Access::Wrong => config.with_user(&self.reader.user, "wrong"),
            _ => config.with_user(&self.reader.user, &self.reader.password),
        };
        Ok(discovery(config))
    }

    fn service(&self) -> ServiceKey {
        order()
    }

    fn set<'a>(&'a mut self, instances: &'a [Instance]) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            for instance in instances {
                self.etcd
                    .put(key(instance.id().as_str()), record(instance))
                    .await?;
            }
            let wanted: Vec<String> = instances
                .iter()
                .map(|instance| instance.id().to_string())
                .collect();
            for id in self.ids.iter().filter(|id| !wanted.contains(id)) {
                self.etcd.delete(key(id)).await?;
            }
            self.ids = wanted;
            Ok(())
        })
    }

    fn add_malformed(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            self.etcd.put(key("malformed"), "{").await?;
            Ok(())
        })
    }

    fn fault(&mut self, fault: Fault) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            match fault {
                Fault::Kill => self.etcd.kill(),
                Fault::Restart => self.etcd.restart().await,
                // Its users are gone as well: the login is answered by "not enabled".
                Fault::Wipe => {
                    self.ids.clear();
                    self.etcd.wipe().await
                }
                Fault::Freeze => self.etcd.pause(),
                Fault::Thaw => self.etcd.resume(),
            }
        })
    }

    fn write_read_only(&mut self) -> BoxFuture<'_, io::Result<bool>> {
        Box::pin(async move {
            let options = ConnectOptions::new().with_user(&self.reader.user, &self.reader.password);
            let client = Client::connect([self.etcd.url()], Some(options)).await;
            let client = client.map_err(io::Error::other)?;
            Ok(client
                .kv_client()
                .put(key("intruder"), value(1), None)
                .await
                .is_ok())
        })
    }

    fn open(&mut self) -> io::Result<usize> {
        Ok(connections(self.etcd.address().port()))
    }
}

contract_tests!(etcd, start);
