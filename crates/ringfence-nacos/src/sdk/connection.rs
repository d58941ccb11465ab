use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::future::{FutureExt as _, Shared};
use nacos_sdk::api::{
    error::Error as SdkError,
    naming::{NamingService, NamingServiceBuilder},
    props::ClientProps,
};
use ringfence_discovery::{BoxFuture, ErrorKind};
use tokio::sync::watch;

use super::cache;
use crate::{NacosConfig, auth::Auth, failure::Failure, relay, relay::Relay};

type Building = Shared<BoxFuture<'static, Result<NamingService, Failure>>>;

/// A connection of the client library. It is made with the first call and never ends: the library has no way to end one.
pub(crate) struct Connection {
    config: NacosConfig,
    auth: Option<Arc<Auth>>,
    relay: OnceLock<Option<Relay>>,
    building: Mutex<Option<Building>>,
}

impl Connection {
    pub(crate) fn new(config: &NacosConfig) -> Self {
        let login = config.login.clone();
        Self {
            auth: login.map(|login| Arc::new(Auth::new(login, config))),
            config: config.clone(),
            relay: OnceLock::new(),
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

    /// Tells of every connection to a server that is made or ends from now on; `None` before the first call, and where there is no relay.
    pub(crate) fn links(&self) -> Option<watch::Receiver<u64>> {
        self.relay.get()?.as_ref().map(Relay::links)
    }

    /// What a call failed with; after a refusal the token is renewed before the next.
    pub(crate) fn judge(&self, error: SdkError) -> Failure {
        if is_unregistered(&error)
            && let Some(Some(relay)) = self.relay.get()
        {
            // The server has forgotten a connection that is open. The library would go on with it.
            relay.reset();
        }
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
        let mut builder = NamingServiceBuilder::new(self.props());
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

    fn props(&self) -> ClientProps {
        let config = &self.config;
        let (servers, grpc_port) = self.way();
        let props = ClientProps::new()
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
        match grpc_port {
            Some(port) => props.remote_grpc_port(port),
            None => props,
        }
    }

    /// What the library is told: the servers, and their gRPC port where it does not follow from theirs.
    fn way(&self) -> (String, Option<u16>) {
        if let Some(relay) = self.relay() {
            return (relay.address().to_string(), Some(relay.address().port()));
        }
        let config = &self.config;
        let servers: Vec<String> = config.servers.iter().map(ToString::to_string).collect();
        (servers.join(","), config.grpc_port)
    }

    /// The way to the servers, opened at the first call.
    pub(crate) fn relay(&self) -> Option<&Relay> {
        let config = &self.config;
        let relay = self.relay.get_or_init(|| {
            let servers = config.servers.iter().filter_map(|server| {
                let port = config.grpc_port.or_else(|| server.grpc_port())?;
                Some((server.host().to_owned(), port))
            });
            Relay::open(servers.collect())
                .inspect_err(|error| {
                    tracing::warn!(%error, "no port on loopback; after an outage the servers may be noticed late");
                })
                .ok()
        });
        relay.as_ref()
    }
}

fn is_unregistered(error: &SdkError) -> bool {
    match error {
        SdkError::ErrResponse(_, _, code, _) => *code == 301,
        SdkError::ErrResult(text) => text.contains("error_code=301,"),
        _ => false,
    }
}
