//! The contract of all sources, on a Consul that asks for tokens.

use std::{io, sync::Arc};

use ringfence_consul::{
    ConsulConfig, ConsulDiscovery, ConsulRegisterConfig, ConsulRegistrar, ConsulToken,
};
use ringfence_core::Instance;
use ringfence_discovery::{
    BoxFuture, Discovery, ErrorKind, FieldMapping, Registrar as _, ServiceKey,
};
use ringfence_testkit::{
    contract::{Access, Fault, Registered, Subject},
    registry::{Consul, ConsulOptions, RegistryServer as _},
};
use serde_json::{Value, json};

#[derive(Debug)]
struct OnConsul {
    consul: Consul,
    read_only: String,
    registered: Registered,
}

async fn start() -> io::Result<OnConsul> {
    let consul = Consul::start_with(ConsulOptions::default().with_acl()).await?;
    Ok(OnConsul {
        read_only: consul.read_only_token().await?,
        consul,
        registered: Registered::default(),
    })
}

impl OnConsul {
    fn config(&self, access: Access) -> ConsulConfig {
        let token = match access {
            Access::Ordinary => self.consul.management_token().expect("with ACL"),
            Access::Wrong => "00000000-1111-2222-3333-444444444444",
            Access::ReadOnly => &self.read_only,
        };
        ConsulConfig::new(self.consul.url()).with_token(ConsulToken::value(token))
    }

    async fn put(&self, path: &str, body: Value) -> io::Result<()> {
        let path = format!("/v1/agent/service/{path}");
        match self.consul.request("PUT", &path, body).await? {
            (200, _) => Ok(()),
            other => Err(io::Error::other(format!("{path}: {other:?}"))),
        }
    }

    // By hand, since the registrar's drain shows more than a weight of 0.
    async fn register(&self, instance: &Instance) -> io::Result<()> {
        let meta = FieldMapping::default().describe(instance);
        let (id, address) = (instance.id().as_str(), instance.address());
        let definition = json!({
            "ID": id, "Name": "contract", "Address": address.host(), "Port": address.port(),
            "Meta": meta.map_err(io::Error::other)?,
        });
        self.put("register", definition).await?;
        let maintenance = format!("maintenance/{id}?enable={}", !instance.is_enabled());
        self.put(&maintenance, Value::Null).await
    }
}

impl Subject for OnConsul {
    fn discovery(&mut self, access: Access) -> io::Result<Arc<dyn Discovery>> {
        let source = ConsulDiscovery::new(self.config(access)).map_err(io::Error::other)?;
        Ok(Arc::new(source))
    }

    fn service(&self) -> ServiceKey {
        ServiceKey::new("contract")
    }

    fn set<'a>(&'a mut self, instances: &'a [Instance]) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            let (put, gone) = self.registered.change_to(instances);
            for instance in put {
                self.register(&instance).await?;
            }
            for instance in gone {
                self.put(&format!("deregister/{}", instance.id()), Value::Null)
                    .await?;
            }
            Ok(())
        })
    }

    fn seen(&self, instance: Instance) -> Option<Instance> {
        // Maintenance is a critical check.
        let healthy = instance.is_enabled();
        Some(
            instance
                .to_builder()
                .healthy(healthy)
                .build()
                .expect("legal"),
        )
    }

    fn add_malformed(&mut self) -> BoxFuture<'_, io::Result<()>> {
        let definition = json!({ "ID": "malformed", "Name": "contract", "Port": 70_000 });
        Box::pin(self.put("register", definition))
    }

    fn fault(&mut self, fault: Fault) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            match fault {
                Fault::Kill => self.consul.kill(),
                Fault::Restart => self.consul.restart().await,
                Fault::Wipe => {
                    self.registered.clear();
                    self.consul.wipe().await
                }
                Fault::Freeze => self.consul.pause(),
                Fault::Thaw => self.consul.resume(),
            }
        })
    }

    fn write_read_only(&mut self) -> BoxFuture<'_, io::Result<bool>> {
        let config = self.config(Access::ReadOnly);
        Box::pin(async move {
            let registrar = ConsulRegistrar::new(config, ConsulRegisterConfig::default());
            let registrar = registrar.map_err(io::Error::other)?;
            let intruder = Instance::builder("intruder", "10.0.0.1:80").build();
            let intruder = intruder.map_err(io::Error::other)?;
            match registrar.register(&self.service(), intruder).await {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == ErrorKind::Unauthorized => Ok(false),
                Err(error) => Err(io::Error::other(error)),
            }
        })
    }

    /// Established connections to the server.
    fn open(&mut self) -> io::Result<usize> {
        let port = format!(":{:04X}", self.consul.address().port());
        let table = std::fs::read_to_string("/proc/self/net/tcp")?;
        let to_server = table.lines().filter(|line| {
            let mut columns = line.split_whitespace().skip(2);
            let remote = columns.next().is_some_and(|remote| remote.ends_with(&port));
            remote && columns.next() == Some("01")
        });
        Ok(to_server.count())
    }
}

ringfence_testkit::contract_tests!(of_consul, start);
