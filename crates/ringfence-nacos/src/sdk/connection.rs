use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{FutureExt as _, Shared};
use nacos_sdk::api::{
    naming::{NamingService, NamingServiceBuilder},
    props::ClientProps,
};
use ringfence_discovery::{BoxFuture, ErrorKind};

use super::cache;
use crate::{NacosConfig, auth::Auth, failure::Failure, relay};

type Building = Shared<BoxFuture<'static, Result<NamingService, Failure>>>;

/// A connection of the client library. It is made with the first call and never ends: the library has no way to end one.
pub(crate) struct Connection {
    props: ClientProps,
    auth: Option<Arc<Auth>>,
    building: Mutex<Option<Building>>,
}

impl Connection {
    pub(crate) fn new(config: &NacosConfig) -> Self {
        let login = config.login.clone();
        let auth = login.map(|login| Arc::new(Auth::new(login, config)));
        let (servers, grpc_port) = way(config);
        let mut props = ClientProps::new()
            // The environment would win over what is set here.
            .env_first(false)
            .server_addr(servers)
            .namespace(config.namespace.as_str())
            .app_name("ringfence")
            // Whether an empty list is believed is decided in one place for all sources, and not there.
            .naming_push_empty_protection(false)
            // Makes building succeed without a server, from where the library connects by itself: of builds that fail each
            // would leave its tasks behind. What it loads is an empty folder.
            .naming_load_cache_at_start(true)
            .cache_dir(cache::dir(config.cache_dir.as_deref()));
        if let Some(port) = grpc_port {
            props = props.remote_grpc_port(port);
        }
        Self {
            props,
            auth,
            building: Mutex::default(),
        }
    }

    /// The naming service, with a token that is good for the next call.
    pub(crate) async fn ready(&self) -> Result<NamingService, Failure> {
        if let Some(auth) = &self.auth {
            auth.ensure().await?;
        }
        self.service().await
    }

    /// What a call failed with; after a refusal the token is renewed before the next.
    pub(crate) fn judge(&self, error: nacos_sdk::api::error::Error) -> Failure {
        let failure = Failure::from(error);
        if failure.kind() == ErrorKind::Unauthorized
            && let Some(auth) = &self.auth
        {
            auth.doubt();
        }
        failure
    }

    /// The naming service, built once however many ask, and however many of them give up waiting.
    pub(crate) async fn service(&self) -> Result<NamingService, Failure> {
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
        let runtime = relay::background()
            .ok_or_else(|| Failure::new(ErrorKind::Unavailable, "no thread can be started"))?;
        let mut builder = NamingServiceBuilder::new(self.props.clone());
        if let Some(auth) = &self.auth {
            builder = builder.with_auth_plugin(auth.clone());
        }
        // In a task that nobody's end can end, since a build that is dropped half way leaves its tasks and its connection behind.
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

/// What the library is told: the servers, and their gRPC port where it does not follow from theirs.
fn way(config: &NacosConfig) -> (String, Option<u16>) {
    let servers = config.servers.iter().filter_map(|server| {
        let port = config.grpc_port.or_else(|| server.grpc_port())?;
        Some((server.host().to_owned(), port))
    });
    match relay::open(servers.collect()) {
        Ok(at) => (at.to_string(), Some(at.port())),
        Err(error) => {
            tracing::warn!(%error, "no port on loopback; after an outage the servers may be noticed late");
            let servers: Vec<String> = config.servers.iter().map(ToString::to_string).collect();
            (servers.join(","), config.grpc_port)
        }
    }
}
