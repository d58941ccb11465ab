//! Four HTTP servers that register themselves with a real Nacos, and hyper-util's pooled client that finds them there.
//!
//! The servers log in as a user who may write, the client as one who may only read (rnacos has no such users, so there both are
//! one). Start a Nacos first:
//!
//! ```console
//! $ eval "$(tests/registries/up)"                                      # without Docker, or
//! $ docker compose up --detach && eval "$(docker/credentials)"        # with it
//! $ cargo run --example nacos_hyper --features nacos
//! ```
//!
//! Where Nacos is, `NACOS_SERVER_ADDR` says (default `127.0.0.1:8848`, gRPC 1000 above); users and passwords are the files
//! `nacos-reader` and `nacos-registrar` in the folder of `RINGFENCE_CREDENTIALS` (default `ringfence-registries/credentials` in the
//! folder for temporary files).

mod server;

use std::{path::Path, process::ExitCode};

use bytes::Bytes;
use http::{HeaderName, Request};
use http_body_util::{BodyExt as _, Empty};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use ringfence::{
    Balancer, Instance, KeySource, RequestTags, Ringfence, RingfenceLayer, ServiceKey,
    discovery::Registrar as _,
    nacos::{NacosConfig, NacosDiscovery, NacosLogin, NacosRegistrar},
};
use ringfence_examples::{BoxError, Caller, Fleet, Registry, Report, Role, judge, tour};
use tower::{Service as _, ServiceExt as _};

use self::server::HttpServer;

/// Name and version of each server.
const SERVERS: [(&str, &str); 4] = [
    ("stable-1", "stable"),
    ("stable-2", "stable"),
    ("stable-3", "stable"),
    ("gray-1", "gray"),
];

#[tokio::main]
async fn main() -> ExitCode {
    judge(run).await
}

async fn run(report: &mut Report) -> Result<(), BoxError> {
    let registry = Registry::nacos();
    registry.check().await?;
    // Names of its own for each run, so that runs do not meet.
    let run = std::process::id();
    let service = ServiceKey::new(format!("nacos-hyper-{run}"));
    // Nacos's client library writes copies of the lists, which go with this.
    let cache = tempfile::tempdir()?;

    // What a server does: it listens, registers itself, and keeps its registration until it goes.
    let registrar = NacosRegistrar::new(config(&registry, Role::Registrar, cache.path())?);
    let mut fleet = Fleet::default();
    for (name, version) in SERVERS {
        let id = format!("{name}-{run}");
        let server = HttpServer::bind(&id).await?;
        let instance = Instance::builder(&id, server.address().to_string())
            .version(version)
            .build()?;
        let registration = registrar.register(&service, instance).await?;
        fleet.add(server, registration);
    }

    // What a client does: a balancer for the service, and the layer around its HTTP client. A user is sent to the same server each
    // time, by the header that names him.
    let discovery = NacosDiscovery::new(config(&registry, Role::Reader, cache.path())?);
    let balancer = Balancer::builder(discovery.clone(), service.clone()).build()?;
    let layer = RingfenceLayer::new(balancer.clone())
        .with_key(KeySource::header(HeaderName::from_static("x-user-id")));
    let mut client = HttpClient(layer.wrap(Client::builder(TokioExecutor::new()).build_http()));

    tour(&balancer, &discovery, &mut client, fleet, report).await
}

fn config(registry: &Registry, role: Role, cache: &Path) -> Result<NacosConfig, BoxError> {
    let (user, password) = registry.login(role)?;
    Ok(NacosConfig::new([registry.address()])?
        .with_login(NacosLogin::new(user, password))
        .with_cache_dir(cache))
}

struct HttpClient(Ringfence<Client<HttpConnector, Empty<Bytes>>>);

impl Caller for HttpClient {
    async fn call(&mut self, user: &str, tags: RequestTags) -> Result<String, BoxError> {
        let mut request = Request::get("http://cart/items?page=1")
            .header("x-user-id", user)
            .body(Empty::new())?;
        // Set by the program and never read from the wire, so that nobody outside can ask for the gray release.
        request.extensions_mut().insert(tags);
        let response = self.0.ready().await?.call(request).await?;
        let body = response.into_body().collect().await?.to_bytes();
        Ok(String::from_utf8(body.to_vec())?)
    }
}
