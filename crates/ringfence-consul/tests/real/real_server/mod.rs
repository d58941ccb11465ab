mod access;
#[cfg(feature = "register")]
mod contract;
mod kv;
mod outage;
mod reading;
#[cfg(feature = "register")]
mod registering;

use std::{sync::Arc, time::Duration};

use ringfence_consul::{ConsulConfig, ConsulDiscovery};
use ringfence_core::{Instance, Snapshot};
use ringfence_discovery::{Discovery as _, Event, ServiceKey, Supervisor, WatchConfig};
use ringfence_testkit::registry::Consul;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

fn source(consul: &Consul) -> ConsulDiscovery {
    ConsulDiscovery::new(ConsulConfig::new(consul.url())).expect("legal")
}

/// Registers a service with the agent, whatever this crate's registrar would do.
async fn put(consul: &Consul, definition: Value) {
    let path = "/v1/agent/service/register";
    let (status, answer) = consul.request("PUT", path, definition).await.expect("up");
    assert_eq!(status, 200, "{answer}");
}

/// An instance of `order` with this service id.
async fn put_order(consul: &Consul, id: &str) {
    let definition = json!({ "Name": "order", "ID": id, "Address": "10.0.0.1", "Port": 80 });
    put(consul, definition).await;
}

async fn take(consul: &Consul, id: &str) {
    let path = format!("/v1/agent/service/deregister/{id}");
    let (status, answer) = consul.request("PUT", &path, Value::Null).await.expect("up");
    assert_eq!(status, 200, "{answer}");
}

/// The instances that a read gives, in the order of their ids.
async fn read(source: &ConsulDiscovery, service: &str) -> Vec<Arc<Instance>> {
    let update = source
        .fetch(&ServiceKey::new(service))
        .await
        .expect("a list");
    assert_eq!(update.rejected, []);
    let snapshot = update.state.as_snapshot().expect("a service");
    snapshot.instances().to_vec()
}

fn ids(snapshot: &Snapshot) -> Vec<&str> {
    let ids = snapshot.instances().iter();
    ids.map(|instance| instance.id().as_str().trim_start_matches("dc1/test/"))
        .collect()
}

fn supervise(source: ConsulDiscovery) -> Supervisor {
    let config = WatchConfig::default()
        .with_empty_hold(Duration::from_secs(1))
        .expect("legal")
        .with_backoff(Duration::from_millis(100), Duration::from_secs(2))
        .expect("legal");
    Supervisor::new(Arc::new(source), ServiceKey::new("order"), config)
}

/// Waits for these instances, and returns how long it took.
async fn until(supervisor: &mut Supervisor, wanted: &[&str]) -> Duration {
    let started = Instant::now();
    let seen = async {
        loop {
            if let Event::Snapshot(accepted) = supervisor.next().await
                && ids(&accepted.snapshot) == wanted
            {
                return;
            }
        }
    };
    let limit = Duration::from_secs(30);
    tokio::time::timeout(limit, seen).await.expect("in time");
    started.elapsed()
}

/// Waits until a condition holds that is asked for with calls.
async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !holds().await {
        assert!(Instant::now() < end, "never: {what}");
        sleep(Duration::from_millis(50)).await;
    }
}
