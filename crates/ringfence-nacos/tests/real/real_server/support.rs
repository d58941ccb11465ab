use std::{collections::BTreeMap, time::Duration};

use futures_util::StreamExt as _;
use ringfence_core::Snapshot;
use ringfence_discovery::{BoxStream, Discovery as _, DiscoveryError, ServiceKey, Update};
use ringfence_nacos::{NacosConfig, NacosDiscovery};
use ringfence_testkit::registry::{Nacos, NacosOptions};
use tokio::time::{Instant, timeout_at};

pub(crate) async fn server() -> Nacos {
    Nacos::start().await.expect("a server")
}

pub(crate) async fn server_with(options: NacosOptions) -> Nacos {
    Nacos::start_with(options).await.expect("a server")
}

pub(crate) fn config(nacos: &Nacos) -> NacosConfig {
    NacosConfig::new([nacos.address().to_string()]).expect("legal")
}

pub(crate) fn order() -> ServiceKey {
    ServiceKey::new("order")
}

/// What an operator does over HTTP to an instance at `10.0.0.1`, apart from `more`.
pub(crate) async fn set(nacos: &Nacos, method: &str, port: u32, more: &str) {
    let form = format!("serviceName=order&ip=10.0.0.1&port={port}&ephemeral=false{more}");
    let answer = nacos.request(method, "/nacos/v1/ns/instance", &form).await;
    let (status, body) = answer.expect("it answers");
    assert_eq!(status, 200, "{method} {form}: {body}");
}

pub(crate) async fn put(nacos: &Nacos, port: u32, more: &str) {
    set(nacos, "POST", port, more).await;
}

pub(crate) async fn delete(nacos: &Nacos, port: u32) {
    set(nacos, "DELETE", port, "").await;
}

/// Ports and weights.
pub(crate) fn shape(snapshot: &Snapshot) -> BTreeMap<u16, u32> {
    let all = snapshot.instances().iter();
    all.map(|i| (i.address().port(), i.weight().get()))
        .collect()
}

/// One who watches, with what was seen last.
pub(crate) struct Seen {
    stream: BoxStream<'static, Result<Update, DiscoveryError>>,
    pub(crate) last: Option<Result<Update, DiscoveryError>>,
}

impl Seen {
    pub(crate) fn watch(source: &NacosDiscovery) -> Self {
        Self {
            stream: source.watch(&order()),
            last: None,
        }
    }

    /// Waits until what is seen is as wanted, and returns how long it took.
    pub(crate) async fn until(
        &mut self,
        limit: Duration,
        wanted: impl Fn(&Result<Update, DiscoveryError>) -> bool,
    ) -> Duration {
        let began = Instant::now();
        if self.last.as_ref().is_some_and(&wanted) {
            return began.elapsed();
        }
        loop {
            let Ok(item) = timeout_at(began + limit, self.stream.next()).await else {
                panic!("not within {limit:?}; last: {:?}", self.last);
            };
            let item = item.expect("the stream goes on");
            let done = wanted(&item);
            self.last = Some(item);
            if done {
                return began.elapsed();
            }
        }
    }

    pub(crate) async fn until_shape<const N: usize>(
        &mut self,
        limit: Duration,
        wanted: [(u16, u32); N],
    ) -> Duration {
        let wanted = BTreeMap::from(wanted);
        self.until(limit, |item| {
            let snapshot = item.as_ref().ok().and_then(|u| u.state.as_snapshot());
            snapshot.is_some_and(|snapshot| shape(snapshot) == wanted)
        })
        .await
    }
}
