use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use crate::{
    NacosConfig, NacosLogin,
    hub::Hub,
    naming::Naming,
    sdk::{Connection, SdkNaming},
    server::Server,
};

/// What makes two sources share a connection.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    servers: Vec<Server>,
    grpc_port: Option<u16>,
    namespace: String,
    login: Option<NacosLogin>,
    context_path: String,
    cache_dir: Option<PathBuf>,
}

impl Key {
    pub(crate) fn of(config: &NacosConfig) -> Self {
        Self {
            servers: config.servers.clone(),
            grpc_port: config.grpc_port,
            namespace: config.namespace.clone(),
            login: config.login.clone(),
            context_path: config.context_path.clone(),
            cache_dir: config.cache_dir.clone(),
        }
    }
}

static CLIENTS: LazyLock<Mutex<HashMap<Key, Arc<Client>>>> = LazyLock::new(Mutex::default);

/// A connection to one Nacos as one user, in one namespace. There is one per process and it is never given up, since the
/// client library would keep its tasks and its socket anyway.
pub(crate) struct Client {
    hub: Arc<Hub>,
}

impl Client {
    pub(crate) fn shared(config: &NacosConfig) -> Arc<Self> {
        let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
        clients
            .entry(Key::of(config))
            .or_insert_with(|| Arc::new(Self::new(config)))
            .clone()
    }

    fn new(config: &NacosConfig) -> Self {
        let naming: Arc<dyn Naming> = Arc::new(SdkNaming(Connection::new(config)));
        Self {
            hub: Hub::new(naming),
        }
    }

    pub(crate) fn hub(&self) -> Arc<Hub> {
        self.hub.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> NacosConfig {
        NacosConfig::new(["127.0.0.1:9"]).expect("legal")
    }

    #[test]
    fn one_connection_per_servers_namespace_and_login() {
        let login = |password: &str| config().with_login(NacosLogin::new("u", password));
        let base = Client::shared(&config());
        let same = [
            config().with_namespace("").expect("legal"),
            config().with_group("G").expect("legal"),
            config().with_clusters(["C"]).expect("legal"),
        ];
        for config in &same {
            assert!(Arc::ptr_eq(&base, &Client::shared(config)), "{config:?}");
        }
        let other = [
            config().with_namespace("n").expect("legal"),
            NacosConfig::new(["127.0.0.1:10"]).expect("legal"),
            login("a"),
            login("b"),
        ];
        for (n, config) in other.iter().enumerate() {
            let client = Client::shared(config);
            assert!(!Arc::ptr_eq(&base, &client), "{config:?}");
            assert!(Arc::ptr_eq(&client, &Client::shared(config)), "{config:?}");
            for earlier in &other[..n] {
                assert!(!Arc::ptr_eq(&client, &Client::shared(earlier)));
            }
        }
    }
}
