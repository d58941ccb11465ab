//! The adapter against an etcd that misbehaves on demand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::field_reassign_with_default,
    reason = "helpers of tests are tests, and the client's messages cannot be built otherwise"
)]

mod access;
mod compaction;
mod documents;
mod failover;
mod records;
#[cfg(feature = "register")]
mod registration;
mod secrets;
mod server;

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use ringfence_discovery::{BoxStream, DiscoveryError, ServiceKey, ServiceState, Update};
use ringfence_etcd::{EtcdConfig, EtcdDiscovery};

use self::server::FakeEtcd;

type Watch = BoxStream<'static, Result<Update, DiscoveryError>>;

const PREFIX: &str = "/ringfence/default/order/";

fn config(servers: &[&FakeEtcd]) -> EtcdConfig {
    EtcdConfig::new(servers.iter().map(|server| server.endpoint()))
        .with_request_timeout(Duration::from_millis(500))
        .with_silence_timeout(Duration::from_millis(200))
}

fn discovery(config: EtcdConfig) -> Arc<EtcdDiscovery> {
    Arc::new(EtcdDiscovery::new(config).expect("legal"))
}

fn order() -> ServiceKey {
    ServiceKey::new("order")
}

fn key(id: &str) -> String {
    format!("{PREFIX}{id}")
}

fn value(port: u32) -> String {
    format!(r#"{{"v":1,"address":"127.0.0.1:{port}"}}"#)
}

fn ids(update: &Update) -> Vec<&str> {
    let ServiceState::Instances(snapshot) = &update.state else {
        panic!("{:?}", update.state);
    };
    snapshot
        .instances()
        .iter()
        .map(|instance| instance.id().as_str())
        .collect()
}

async fn next(watch: &mut Watch) -> Result<Update, DiscoveryError> {
    let item = tokio::time::timeout(Duration::from_secs(10), watch.next()).await;
    item.expect("in time").expect("not ended")
}

/// Goes on until the instances are these.
async fn until(watch: &mut Watch, wanted: &[&str]) -> Update {
    loop {
        let update = next(watch).await.expect("an update");
        if ids(&update) == wanted {
            return update;
        }
    }
}
