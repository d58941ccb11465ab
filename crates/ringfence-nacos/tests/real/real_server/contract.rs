//! The contract of all sources, on a server that asks for a login.

use std::{io, sync::Arc};

use ringfence_core::Instance;
use ringfence_discovery::{BoxFuture, Discovery, FieldMapping, ServiceKey};
use ringfence_nacos::{NacosDiscovery, NacosLogin};
use ringfence_testkit::{
    contract::{Access, Fault, Registered, Scenario, Subject},
    registry::{Nacos, NacosOptions, RegistryServer as _, secret},
};
use tokio::runtime::Handle;

use super::support::config;

#[derive(Debug)]
struct OnNacos {
    nacos: Nacos,
    registered: Registered,
}

async fn start() -> io::Result<OnNacos> {
    Ok(OnNacos {
        nacos: Nacos::start_with(NacosOptions::default().with_auth()).await?,
        registered: Registered::default(),
    })
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

impl OnNacos {
    async fn call(&self, method: &str, host: &str, port: u32, more: &str) -> io::Result<()> {
        let form = format!("serviceName=contract&ip={host}&port={port}&ephemeral=false{more}");
        match self
            .nacos
            .request(method, "/nacos/v1/ns/instance", &form)
            .await?
        {
            (200, _) => Ok(()),
            other => Err(io::Error::other(format!("{method} {form}: {other:?}"))),
        }
    }

    // Over HTTP, so that reading is not only held against our own writing.
    async fn register(&self, instance: &Instance) -> io::Result<()> {
        let metadata = FieldMapping::for_nacos().describe(instance);
        let metadata = serde_json::to_string(&metadata.map_err(io::Error::other)?)?;
        // rnacos takes 1 for "not given" and keeps what it had; this rounds to the same.
        let weight = match instance.weight().get() {
            100 => 1.0001,
            other => f64::from(other) / 100.0,
        };
        let more = format!(
            "&weight={weight}&enabled={}&metadata={}",
            instance.is_enabled(),
            encoded(&metadata)
        );
        let address = instance.address();
        self.call("POST", address.host(), address.port().into(), &more)
            .await
    }
}

impl Subject for OnNacos {
    fn discovery(&mut self, access: Access) -> io::Result<Arc<dyn Discovery>> {
        let admin = self.nacos.admin().expect("with auth");
        let password = match access {
            Access::Wrong => secret(),
            Access::Ordinary | Access::ReadOnly => admin.password.clone(),
        };
        let login = NacosLogin::new(admin.user.as_str(), password);
        Ok(Arc::new(NacosDiscovery::new(
            config(&self.nacos).with_login(login),
        )))
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
                let address = instance.address();
                self.call("DELETE", address.host(), address.port().into(), "")
                    .await?;
            }
            Ok(())
        })
    }

    fn cannot(&self) -> Vec<(Scenario, &'static str)> {
        vec![(
            Scenario::ReadOnly,
            "rnacos knows no users that may only read",
        )]
    }

    fn seen(&self, instance: Instance) -> Option<Instance> {
        // rnacos leaves disabled instances out of its lists.
        instance.is_enabled().then_some(instance)
    }

    fn add_malformed(&mut self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(self.call("POST", "10.9.9.9", 70_000, ""))
    }

    fn fault(&mut self, fault: Fault) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            match fault {
                Fault::Kill => self.nacos.kill(),
                Fault::Restart => {
                    self.nacos.restart().await?;
                    for instance in self.registered.iter() {
                        self.register(instance).await?;
                    }
                    Ok(())
                }
                Fault::Wipe => {
                    self.registered.clear();
                    self.nacos.wipe().await
                }
                Fault::Freeze => self.nacos.pause(),
                Fault::Thaw => self.nacos.resume(),
            }
        })
    }

    /// Tasks of this runtime. The connection stays, whoever watches.
    fn open(&mut self) -> io::Result<usize> {
        Ok(Handle::current().metrics().num_alive_tasks())
    }
}

ringfence_testkit::contract_tests!(of_nacos, start);
