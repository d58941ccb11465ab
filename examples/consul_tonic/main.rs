//! Four tonic servers that register themselves with a real Consul, and a tonic client that finds them there.
//!
//! The servers use a token that may register, the client one that may only read. Start a Consul first:
//!
//! ```console
//! $ eval "$(tests/registries/up)"                                      # without Docker, or
//! $ docker compose up --detach && eval "$(docker/credentials)"        # with it
//! $ cargo run --example consul_tonic --features consul
//! ```
//!
//! Building needs OpenSSL's headers (`libssl-dev` and `pkg-config` on Debian). Where Consul is, `CONSUL_HTTP_ADDR` says (default
//! `http://127.0.0.1:8500`); the tokens are the files `consul-reader` and `consul-registrar` in the folder of
//! `RINGFENCE_CREDENTIALS` (default `ringfence-registries/credentials` in the folder for temporary files).

use std::process::ExitCode;

use ringfence::{
    Balancer, Idempotent, Instance, KeySource, RequestTags, Ringfence, RingfenceLayer, RoutingKey,
    ServiceKey, TonicConnector,
    consul::{ConsulConfig, ConsulDiscovery, ConsulRegisterConfig, ConsulRegistrar, ConsulToken},
    discovery::Registrar as _,
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
    let registry = Registry::consul();
    registry.check().await?;
    // Names of its own for each run, so that runs do not meet: Consul wants ids that no other service of its agent has.
    let run = std::process::id();
    let service = ServiceKey::new(format!("consul-tonic-{run}"));

    // What a server does: it listens, registers itself, and keeps its registration until it goes.
    let keeping = ConsulRegisterConfig::default();
    let registrar = ConsulRegistrar::new(config(&registry, Role::Registrar), keeping.clone())?;
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
    let discovery = ConsulDiscovery::new(config(&registry, Role::Reader))?;
    let balancer = Balancer::builder(discovery.clone(), service.clone()).build()?;
    let layer = RingfenceLayer::new(balancer.clone()).with_key(KeySource::extension());
    let mut client = Client(EchoClient::new(layer.wrap(TonicConnector::new())));

    let as_client = ConsulRegistrar::new(config(&registry, Role::Reader), keeping)?;
    writes_are_refused(&as_client, &service, report).await?;
    tour(&balancer, &discovery, &mut client, fleet, report).await
}

/// The token is read anew for each request, so one that is rotated is used at once.
fn config(registry: &Registry, role: Role) -> ConsulConfig {
    ConsulConfig::new(registry.address()).with_token(ConsulToken::file(registry.credentials(role)))
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
