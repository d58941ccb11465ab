//! Answers of a Consul that says what a test wants.

use std::{collections::BTreeSet, future::Future, time::Duration};

use futures_util::StreamExt as _;
use ringfence_consul::{ConsulConfig, ConsulDiscovery};
use ringfence_discovery::{BoxStream, Discovery as _, DiscoveryError, ServiceKey, Update};
use ringfence_testkit::{Answer, Backend, Recorded};

pub(crate) type Watch = BoxStream<'static, Result<Update, DiscoveryError>>;

/// A config that neither paces nor waits long.
pub(crate) fn config(backend: &Backend) -> ConsulConfig {
    at(backend.uri())
}

pub(crate) fn at(address: impl Into<String>) -> ConsulConfig {
    ConsulConfig::new(address)
        .with_wait(Duration::from_secs(1))
        .with_slack(Duration::from_millis(500))
        .with_poll_interval(Duration::from_millis(1))
}

pub(crate) fn consul(config: ConsulConfig) -> ConsulDiscovery {
    ConsulDiscovery::new(config).expect("a legal config")
}

pub(crate) fn key() -> ServiceKey {
    ServiceKey::new("order")
}

pub(crate) fn watch(config: ConsulConfig) -> Watch {
    consul(config).watch(&key())
}

/// The JSON list of instances with these ids.
pub(crate) fn list(ids: &[&str]) -> String {
    let records: Vec<String> = ids
        .iter()
        .map(|id| {
            format!(
                r#"{{"Node":{{"Node":"n","Address":"10.0.0.1","Datacenter":"dc"}},
                    "Service":{{"ID":"{id}","Service":"order","Port":80}},"Checks":[]}}"#
            )
        })
        .collect();
    format!("[{}]", records.join(","))
}

/// A list as Consul sends it.
pub(crate) fn answer(index: &str, ids: &[&str]) -> Answer {
    Answer::ok(list(ids))
        .header("content-type", "application/json")
        .header("x-consul-index", index)
        .header("x-consul-knownleader", "true")
        .header("x-consul-lastcontact", "0")
}

/// The service ids of an update, in order.
pub(crate) fn ids(update: &Update) -> Vec<&str> {
    let snapshot = update.state.as_snapshot().expect("a service");
    let ids = snapshot.instances().iter();
    ids.map(|instance| instance.id().as_str().rsplit('/').next().expect("a part"))
        .collect()
}

pub(crate) async fn next(watch: &mut Watch) -> Result<Update, DiscoveryError> {
    within(5, watch.next()).await.expect("endless")
}

/// Fails the test instead of waiting for ever.
pub(crate) async fn within<T>(seconds: u64, what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(seconds), what)
        .await
        .expect("in time")
}

/// A value of the query, decoded; `None` where the name is absent.
pub(crate) fn query(request: &Recorded, name: &str) -> Option<String> {
    values(request, name).into_iter().next()
}

pub(crate) fn values(request: &Recorded, name: &str) -> Vec<String> {
    let pairs = request.uri.query().unwrap_or_default().split('&');
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .filter(|(key, _)| *key == name)
        .map(|(_, value)| decode(value))
        .collect()
}

pub(crate) fn decode(text: &str) -> String {
    let mut bytes = text.bytes();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [bytes.next().expect("digit"), bytes.next().expect("digit")];
                let digits = std::str::from_utf8(&digits).expect("ascii");
                u8::from_str_radix(digits, 16).expect("hexadecimal")
            }
            other => other,
        });
    }
    String::from_utf8(decoded).expect("text")
}

/// The names in the query.
pub(crate) fn names(request: &Recorded) -> BTreeSet<&str> {
    let pairs = request.uri.query().unwrap_or_default().split('&');
    pairs
        .map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name))
        .filter(|name| !name.is_empty())
        .collect()
}
