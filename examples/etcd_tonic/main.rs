//! Four tonic servers that register themselves with a real etcd, and a tonic client that finds them there.
//!
//! The servers log in as a user who may write, the client as one who may only read. Start an etcd first:
//!
//! ```console
//! $ eval "$(tests/registries/up)"                                      # without Docker, or
//! $ docker compose up --detach && eval "$(docker/credentials)"        # with it
//! $ cargo run --example etcd_tonic --features etcd
//! ```
//!
//! Building needs `protoc` (`protobuf-compiler` on Debian). Where etcd is, `ETCD_ENDPOINTS` says (default
//! `http://127.0.0.1:2379`); users and passwords are the files `etcd-reader` and `etcd-registrar` in the folder of
//! `RINGFENCE_CREDENTIALS` (default `ringfence-registries/credentials` in the folder for temporary files).

use std::process::ExitCode;

use ringfence::{
    Balancer, Idempotent, Instance, KeySource, RequestTags, Ringfence, RingfenceLayer, RoutingKey,
    ServiceKey, TonicConnector,
    discovery::Registrar as _,
    etcd::{EtcdConfig, EtcdDiscovery, EtcdRegistrar},
};
use ringfence_echo::{EchoClient, EchoRequest, EchoServer};
use ringfence_examples::{
    BoxError, Caller, Fleet, Registry, Report, Role, judge, tour, writes_are_refused,
};
use tonic::Request;

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
    let registry = Registry::etcd();
    registry.check().await?;
    // Names of its own for each run, so that runs do not meet.
    let run = std::process::id();
    let service = ServiceKey::new(format!("etcd-tonic-{run}"));

    // What a server does: it listens, registers itself, and keeps its registration until it goes.
    let registrar = EtcdRegistrar::new(config(&registry, Role::Registrar)?)?;
    let mut fleet = Fleet::default();
    for (name, version) in SERVERS {
        let id = format!("{name}-{run}");
        let server = EchoServer::bind(&id).await?;
        let instance = Instance::builder(&id, server.address().to_string())
            .version(version)
            .build()?;
        let registration = registrar.register(&service, instance).await?;
        fleet.add(server, registration);
    }

    // What a client does: a balancer for the service, the layer around the transport, and the generated client on top.
    let discovery = EtcdDiscovery::new(config(&registry, Role::Reader)?)?;
    let balancer = Balancer::builder(discovery.clone(), service.clone()).build()?;
    let layer = RingfenceLayer::new(balancer.clone()).with_key(KeySource::extension());
    let mut client = Client(EchoClient::new(layer.wrap(TonicConnector::new())));

    let as_client = EtcdRegistrar::new(config(&registry, Role::Reader)?)?;
    writes_are_refused(&as_client, &service, report).await?;
    tour(&balancer, &discovery, &mut client, fleet, report).await
}

fn config(registry: &Registry, role: Role) -> Result<EtcdConfig, BoxError> {
    let (user, password) = registry.login(role)?;
    Ok(EtcdConfig::new([registry.address()]).with_user(user, password))
}

struct Client(EchoClient<Ringfence<TonicConnector>>);

impl Caller for Client {
    async fn call(&mut self, user: &str, tags: RequestTags) -> Result<String, BoxError> {
        let mut request = Request::new(EchoRequest::new(user));
        let extensions = request.extensions_mut();
        extensions.insert(RoutingKey::from(user.to_owned()));
        // Set by the program and never read from the wire, so that nobody outside can ask for the gray release.
        extensions.insert(tags);
        extensions.insert(Idempotent(true));
        Ok(self.0.unary(request).await?.into_inner().instance)
    }
}
