mod access;
mod cluster;
mod contract;
mod documents;
mod offline;
#[cfg(feature = "register")]
mod registration;
mod watching;

use std::{sync::Arc, time::Duration};

use ringfence_core::Snapshot;
use ringfence_discovery::{Discovery as _, Event, ServiceKey, Supervisor, WatchConfig};
use ringfence_etcd::{EtcdConfig, EtcdDiscovery};
use tokio::time::{Instant, timeout};

const PREFIX: &str = "/ringfence/default/order/";
const PATIENCE: Duration = Duration::from_secs(40);

fn order() -> ServiceKey {
    ServiceKey::new("order")
}

fn key(id: &str) -> String {
    format!("{PREFIX}{id}")
}

fn value(port: u32) -> String {
    format!(r#"{{"v":1,"address":"127.0.0.1:{port}"}}"#)
}

fn discovery(config: EtcdConfig) -> Arc<EtcdDiscovery> {
    Arc::new(EtcdDiscovery::new(config).expect("legal"))
}

fn ids(snapshot: &Snapshot) -> Vec<&str> {
    snapshot
        .instances()
        .iter()
        .map(|instance| instance.id().as_str())
        .collect()
}

/// How many instances a new reading finds.
async fn count(source: &EtcdDiscovery) -> usize {
    let update = source.fetch(&order()).await.expect("read");
    update.state.instance_count()
}

/// What a program sees: the source under its supervisor.
struct Follower {
    supervisor: Supervisor,
    last: Option<Arc<Snapshot>>,
}

impl Follower {
    fn new(source: Arc<EtcdDiscovery>) -> Self {
        // Losing most of a small set is what these tests do all the time.
        let config = WatchConfig::default().with_empty_hold(Duration::from_millis(100));
        Self {
            supervisor: Supervisor::new(source, order(), config.expect("legal")),
            last: None,
        }
    }

    /// Goes on until the instances are these; how long that took.
    async fn until(&mut self, wanted: &[&str]) -> Duration {
        let start = Instant::now();
        let reached = timeout(PATIENCE, async {
            while self.last.as_deref().map(ids).as_deref() != Some(wanted) {
                if let Event::Snapshot(accepted) = self.supervisor.next().await {
                    self.last = Some(accepted.snapshot);
                }
            }
        });
        if reached.await.is_err() {
            panic!(
                "{wanted:?} never came: {:?}, {:#?}",
                self.last,
                self.supervisor.status()
            );
        }
        start.elapsed()
    }

    /// Goes on for a time in which nothing may change.
    async fn stays(&mut self, time: Duration) {
        let change = timeout(time, async {
            loop {
                if let Event::Snapshot(accepted) = self.supervisor.next().await {
                    return accepted.snapshot;
                }
            }
        });
        if let Ok(changed) = change.await {
            panic!("it changed to {changed:?}");
        }
    }
}

/// Connections of this process to a local port, as the system sees them.
fn connections(port: u16) -> usize {
    let own: Vec<String> = std::fs::read_dir("/proc/self/fd")
        .expect("Linux")
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter_map(|target| {
            Some(
                target
                    .to_str()?
                    .strip_prefix("socket:[")?
                    .trim_end_matches(']')
                    .to_owned(),
            )
        })
        .collect();
    let table = std::fs::read_to_string("/proc/self/net/tcp").expect("Linux");
    let remote = format!(":{port:04X}");
    table
        .lines()
        .skip(1)
        .filter(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields[2].ends_with(&remote)
                && fields[3] == "01"
                && own.iter().any(|inode| inode == fields[9])
        })
        .count()
}
