//! The naming service of `nacos-sdk`, of which only reading is used.

mod cache;
mod connection;

use std::sync::Arc;

use nacos_sdk::api::naming::{NamingChangeEvent, NamingEventListener, ServiceInstance};
use ringfence_discovery::BoxFuture;
use tokio::sync::watch;

pub(crate) use self::connection::Connection;
use crate::{
    failure::Failure,
    naming::{Naming, Record, Target, Wake},
};

/// Reading through a connection of the client library.
pub(crate) struct SdkNaming(pub(crate) Connection);

impl Naming for SdkNaming {
    fn links(&self) -> Option<watch::Receiver<u64>> {
        self.0.links()
    }

    fn list<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Vec<Record>, Failure>> {
        Box::pin(async move {
            let service = self.0.ready().await?;
            // Without clusters, which the library mixes up, and never from its cache, which turns errors into empty lists
            // and keeps instances that are gone.
            let listed = service
                .get_all_instances(
                    target.service.to_string(),
                    Some(target.group.to_string()),
                    Vec::new(),
                    false,
                )
                .await;
            let instances = listed.map_err(|error| self.0.judge(error))?;
            Ok(instances.into_iter().map(Record::from).collect())
        })
    }

    fn subscribe<'a>(
        &'a self,
        target: &'a Target,
        wake: &'a Arc<Wake>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let service = self.0.ready().await?;
            let listener = wake.clone() as Arc<dyn NamingEventListener>;
            let (name, group) = (target.service.to_string(), target.group.to_string());
            // A subscription that is ended first has the library read the list a second later. One that is only repeated leaves
            // it with what it knew before an outage, and a push that says the same is announced to nobody.
            let ended = service.unsubscribe(
                name.clone(),
                Some(group.clone()),
                Vec::new(),
                listener.clone(),
            );
            if let Err(error) = ended.await {
                tracing::debug!(service = %target, reason = Failure::from(error).message(), "no old subscription ended");
            }
            let subscribed = service.subscribe(name, Some(group), Vec::new(), listener);
            subscribed.await.map_err(Failure::from)
        })
    }

    fn unsubscribe<'a>(
        &'a self,
        target: &'a Target,
        wake: &'a Arc<Wake>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            // Without a token, since a refused login must not keep the listener here.
            let service = self.0.service().await?;
            let listener = wake.clone() as Arc<dyn NamingEventListener>;
            let (name, group) = (target.service.to_string(), target.group.to_string());
            let ended = service.unsubscribe(name, Some(group), Vec::new(), listener);
            ended.await.map_err(Failure::from)
        })
    }
}

impl NamingEventListener for Wake {
    /// Called on the only thread of the library, which must not be held up.
    fn event(&self, _: Arc<NamingChangeEvent>) {
        self.announce();
    }
}

impl From<ServiceInstance> for Record {
    fn from(instance: ServiceInstance) -> Self {
        Self {
            ip: instance.ip,
            port: instance.port.into(),
            weight: instance.weight,
            healthy: instance.healthy,
            enabled: instance.enabled,
            cluster: instance.cluster_name.unwrap_or_default(),
            metadata: {
                let mut metadata: Vec<_> = instance.metadata.into_iter().collect();
                // A hash map's order differs from read to read.
                metadata.sort();
                metadata
            },
        }
    }
}
