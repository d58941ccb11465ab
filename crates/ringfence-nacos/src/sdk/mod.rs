//! The naming service of `nacos-sdk`, of which only reading is used.

mod cache;

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{FutureExt as _, Shared};
use nacos_sdk::api::{
    naming::{
        NamingChangeEvent, NamingEventListener, NamingService, NamingServiceBuilder,
        ServiceInstance,
    },
    props::ClientProps,
};
use ringfence_discovery::{BoxFuture, ErrorKind};
use tokio::runtime::Handle;

use crate::{
    NacosConfig,
    auth::Auth,
    failure::Failure,
    naming::{Naming, Record, Target, Wake},
};

type Building = Shared<BoxFuture<'static, Result<NamingService, Failure>>>;

/// A connection of the client library. It is made with the first call and never ends: the library has no way to end one.
pub(crate) struct SdkNaming {
    props: ClientProps,
    auth: Option<Arc<Auth>>,
    building: Mutex<Option<Building>>,
}

impl SdkNaming {
    pub(crate) fn new(config: &NacosConfig, auth: Option<Arc<Auth>>) -> Self {
        let servers: Vec<String> = config.servers.iter().map(ToString::to_string).collect();
        let mut props = ClientProps::new()
            // The environment would win over what is set here.
            .env_first(false)
            .server_addr(servers.join(","))
            .namespace(config.namespace.as_str())
            .app_name("ringfence")
            // Whether an empty list is believed is decided in one place for all sources, and not there.
            .naming_push_empty_protection(false)
            // Makes building succeed without a server, from where the library connects by itself: of builds that fail each
            // would leave its tasks behind. What it loads is an empty folder.
            .naming_load_cache_at_start(true)
            .cache_dir(cache::dir(config.cache_dir.as_deref()));
        if let Some(port) = config.grpc_port {
            props = props.remote_grpc_port(port);
        }
        Self {
            props,
            auth,
            building: Mutex::default(),
        }
    }

    /// The naming service, built once however many ask, and however many of them give up waiting.
    async fn service(&self) -> Result<NamingService, Failure> {
        let building = {
            let mut slot = self.building.lock().unwrap_or_else(PoisonError::into_inner);
            match &*slot {
                Some(building) if !matches!(building.peek(), Some(Err(_))) => building.clone(),
                _ => {
                    let building = self.build()?;
                    *slot = Some(building.clone());
                    building
                }
            }
        };
        building.await
    }

    fn build(&self) -> Result<Building, Failure> {
        let runtime = Handle::try_current().map_err(|error| {
            Failure::new(ErrorKind::Config, "a tokio runtime is needed").with_cause(error)
        })?;
        let mut builder = NamingServiceBuilder::new(self.props.clone());
        if let Some(auth) = &self.auth {
            builder = builder.with_auth_plugin(auth.clone());
        }
        // In a task, since a build that is dropped half way leaves its tasks and its connection behind.
        let task = runtime.spawn(builder.build());
        let building = async move {
            match task.await {
                Ok(built) => built.map_err(Failure::from),
                Err(error) => Err(Failure::new(
                    ErrorKind::Unavailable,
                    "the client library could not be started",
                )
                .with_cause(error)),
            }
        };
        Ok(building.boxed().shared())
    }
}

impl Naming for SdkNaming {
    fn list<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Vec<Record>, Failure>> {
        Box::pin(async move {
            if let Some(auth) = &self.auth {
                auth.ensure().await?;
            }
            let service = self.service().await?;
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
            match listed {
                Ok(instances) => Ok(instances.into_iter().map(Record::from).collect()),
                Err(error) => {
                    let failure = Failure::from(error);
                    if failure.kind() == ErrorKind::Unauthorized
                        && let Some(auth) = &self.auth
                    {
                        auth.doubt();
                    }
                    Err(failure)
                }
            }
        })
    }

    fn subscribe<'a>(
        &'a self,
        target: &'a Target,
        wake: &'a Arc<Wake>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            if let Some(auth) = &self.auth {
                auth.ensure().await?;
            }
            let service = self.service().await?;
            let listener = wake.clone() as Arc<dyn NamingEventListener>;
            let (name, group) = (target.service.to_string(), target.group.to_string());
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
            let service = self.service().await?;
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
