//! What the registries' own clients offer to those who want to hear of changes.

use std::{any::Any, io, sync::Arc, time::Duration};

use bytes::Bytes;
use etcd_client::{Client, WatchOptions};
use http_body_util::{BodyExt as _, Empty};
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::TokioExecutor,
};
use nacos_sdk::api::{
    naming::{NamingChangeEvent, NamingEventListener, NamingServiceBuilder},
    props::ClientProps,
};
use ringfence_tests::{
    client::service,
    registry::{OnConsul, OnEtcd, OnNacos, Registry},
};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::sight::Told;

pub(crate) trait Native: Registry {
    const CHANGES: u32;
    /// Least time between two changes.
    const PERIOD: Duration;

    /// Tells every weight that the client hears of, until what is returned is dropped.
    fn listen(&self, told: Told) -> impl Future<Output = io::Result<Box<dyn Any>>>;
}

/// A blocking query after the other on one connection, as the clients of Consul do.
impl Native for OnConsul {
    const CHANGES: u32 = 80;
    // More than two changes a second would find the adapter waiting for its turn to ask.
    const PERIOD: Duration = Duration::from_millis(520);

    async fn listen(&self, told: Told) -> io::Result<Box<dyn Any>> {
        let client = legacy::Client::builder(TokioExecutor::new()).build_http();
        let url = format!("{}/v1/health/service/{}", self.consul().url(), service());
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut index = 0;
            loop {
                match blocking_query(&client, &url, index).await {
                    Ok((next, weight)) => {
                        index = next;
                        told.weight(weight);
                    }
                    Err(error) => return eprintln!("change_to_view: Consul's client: {error}"),
                }
            }
        });
        Ok(Box::new(task))
    }
}

type Http = legacy::Client<HttpConnector, Empty<Bytes>>;

async fn blocking_query(client: &Http, url: &str, index: u64) -> io::Result<(u64, u32)> {
    let uri = format!("{url}?index={index}&wait=60s");
    let response = client.get(uri.parse().map_err(io::Error::other)?);
    let response = response.await.map_err(io::Error::other)?;
    let index = response.headers().get("x-consul-index");
    let index = index.and_then(|index| index.to_str().ok()?.parse().ok());
    let body = response.into_body().collect();
    let list: Value = serde_json::from_slice(&body.await.map_err(io::Error::other)?.to_bytes())?;
    let weight = &list[0]["Service"]["Meta"]["weight"];
    let weight = weight.as_str().unwrap_or("100").parse();
    let (Some(index), Ok(weight)) = (index, weight) else {
        return Err(io::Error::other(format!("not understood: {list}")));
    };
    Ok((index, weight))
}

/// A watch on the service's prefix.
impl Native for OnEtcd {
    const CHANGES: u32 = 100;
    const PERIOD: Duration = Duration::ZERO;

    async fn listen(&self, told: Told) -> io::Result<Box<dyn Any>> {
        let client = Client::connect([self.etcd().url()], None).await;
        let mut client = client.map_err(io::Error::other)?;
        let options = WatchOptions::new().with_prefix();
        let stream = client.watch(Self::prefix(), Some(options)).await;
        let mut stream = stream.map_err(io::Error::other)?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            while let Ok(Some(message)) = stream.message().await {
                for event in message.events() {
                    let value = event.kv().map(|kv| serde_json::from_slice(kv.value()));
                    let value: Option<Value> = value.and_then(Result::ok);
                    let weight = value.and_then(|value| value["weight"].as_u64());
                    if let Some(weight) = weight.and_then(|weight| u32::try_from(weight).ok()) {
                        told.weight(weight);
                    }
                }
            }
        });
        Ok(Box::new(task))
    }
}

struct Listener(Told);

impl NamingEventListener for Listener {
    fn event(&self, event: Arc<NamingChangeEvent>) {
        for instance in event.instances.iter().flatten() {
            // A text is the rounding that loses nothing.
            let percent = format!("{:.0}", instance.weight * 100.0);
            if let Ok(weight) = percent.parse() {
                self.0.weight(weight);
            }
        }
    }
}

/// The callback of a subscription.
impl Native for OnNacos {
    // A change takes rnacos about a second to tell.
    const CHANGES: u32 = 30;
    const PERIOD: Duration = Duration::ZERO;

    async fn listen(&self, told: Told) -> io::Result<Box<dyn Any>> {
        let folder = tempfile::tempdir()?;
        let props = ClientProps::new()
            .env_first(false)
            .server_addr(self.nacos().address().to_string())
            .cache_dir(folder.path());
        let naming = NamingServiceBuilder::new(props).build().await;
        let naming = naming.map_err(io::Error::other)?;
        let (name, listener) = (service().name().to_owned(), Arc::new(Listener(told)));
        let subscribed = naming.subscribe(name, None, Vec::new(), listener).await;
        subscribed.map_err(io::Error::other)?;
        Ok(Box::new((naming, folder)))
    }
}
