//! One client of each kind.

use std::{error::Error, time::Duration};

use ringfence_balancer::Balancer;
use ringfence_core::{Instance, InstanceError, RingConfig};
use ringfence_discovery::{MemoryRegistry, ServiceKey};
use ringfence_echo::{EchoClient, EchoRequest};
use ringfence_tower::{KeySource, Ringfence, RingfenceLayer, RoutingKey, TonicConnector};
use tonic::{
    Request, Status,
    transport::{Channel, Endpoint},
};

use super::Mode;

/// What is echoed: 100 bytes.
const PAYLOAD: &str = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";
/// The header that Envoy hashes.
pub(crate) const KEY_HEADER: &str = "x-key";

#[derive(Clone)]
pub(crate) enum Client {
    One(EchoClient<Channel>),
    Map(Vec<EchoClient<Channel>>, RingConfig),
    Ringfence(EchoClient<Ringfence<TonicConnector>>),
    Envoy(EchoClient<Channel>),
}

impl Client {
    pub(crate) async fn connect(mode: Mode, ports: &[u16]) -> Result<Self, Box<dyn Error>> {
        let endpoints: Vec<_> = ports.iter().map(|&port| endpoint(port)).collect();
        let first = endpoints.first().cloned().ok_or("no port")?;
        Ok(match mode {
            Mode::Raw | Mode::Timerless => Self::One(EchoClient::new(first.connect().await?)),
            Mode::Pinging => {
                let pinging = first
                    .http2_keep_alive_interval(Duration::from_secs(10))
                    .keep_alive_timeout(Duration::from_secs(5))
                    .keep_alive_while_idle(true);
                Self::One(EchoClient::new(pinging.connect().await?))
            }
            Mode::BalanceList => Self::One(EchoClient::new(Channel::balance_list(
                endpoints.into_iter(),
            ))),
            Mode::Map => {
                let mut clients = Vec::new();
                for endpoint in endpoints {
                    clients.push(EchoClient::new(endpoint.connect().await?));
                }
                Self::Map(clients, RingConfig::default())
            }
            Mode::Ringfence | Mode::Alike => {
                let (registry, service) = (MemoryRegistry::new(), ServiceKey::new("echo"));
                let instances = ports.iter().map(|port| {
                    Instance::builder(format!("echo-{port}"), format!("127.0.0.1:{port}")).build()
                });
                let instances: Vec<_> = instances.collect::<Result<_, InstanceError>>()?;
                registry.replace(&service, instances);
                let balancer = Balancer::builder(registry, service).build()?;
                balancer.ready().await?;
                let layer = RingfenceLayer::new(balancer).with_key(KeySource::extension());
                let connector = TonicConnector::new();
                let connector = match mode {
                    Mode::Alike => connector.without_keepalive().without_idle_timeout(),
                    _ => connector,
                };
                Self::Ringfence(EchoClient::new(layer.wrap(connector)))
            }
            Mode::Envoy => Self::Envoy(EchoClient::new(first.connect().await?)),
        })
    }

    /// One call for the user of this number.
    pub(crate) async fn call(&mut self, n: u32) -> Result<(), Status> {
        let mut request = Request::new(EchoRequest::new(PAYLOAD));
        let key = n.to_le_bytes();
        let answer = match self {
            Self::One(client) => client.unary(request).await,
            Self::Map(clients, config) => {
                let hash = usize::try_from(config.hash_key(&key).get() >> 32).unwrap_or(0);
                let place = hash % clients.len();
                clients[place].unary(request).await
            }
            Self::Ringfence(client) => {
                request.extensions_mut().insert(RoutingKey::copy_from(key));
                client.unary(request).await
            }
            Self::Envoy(client) => {
                request.metadata_mut().insert(KEY_HEADER, n.into());
                client.unary(request).await
            }
        };
        let echoed = answer?.into_inner().payload;
        if echoed != PAYLOAD {
            return Err(Status::data_loss("not what was sent"));
        }
        Ok(())
    }
}

fn endpoint(port: u16) -> Endpoint {
    Channel::from_shared(format!("http://127.0.0.1:{port}")).expect("a legal address")
}
