//! A policy that observes, beside real tonic clients: targets and bytes are those without it.
#![cfg(feature = "tonic")]
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use common::{Cluster, config, policy};
use futures_util::stream;
use http::Response;
use http_body::Body as HttpBody;
use ringfence_balancer::BalancerBuilder;
use ringfence_core::Instance;
use ringfence_echo::{EchoClient, EchoRequest, EchoServer};
use ringfence_tower::{Baseline, RequestTags, RoutingKey, TonicConnector};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tonic::Request;
use tonic::body::Body;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tower_service::Service;

const SERVERS: usize = 3;

/// What the policy would do is something else: another key, a shard of one instance, and headers that are taken out.
const OBSERVE: &str = "
ringfence: 1
mode: observe
tenants: { default: { mode: shuffle_shard, size: 1 } }
rules:
  - name: all
    tags_from_headers: { x-tenant: { tag: tenant }, x-lane: { tag: lane } }
    key: [{ header: x-user }]
    limits: { max_attempts: 1 }
";

/// What clients sent on each connection, in the order of the connections.
type Wire = Arc<Mutex<Vec<Vec<u8>>>>;

/// A server, and a relay before it that keeps what clients send.
struct Recorded {
    server: EchoServer,
    address: SocketAddr,
    wire: Wire,
}

impl Recorded {
    async fn bind(id: &str) -> Self {
        let server = EchoServer::bind(id).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, behind) = (listener.local_addr().unwrap(), server.address());
        let wire = Wire::default();
        let kept = Arc::clone(&wire);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(relay(client, behind, Arc::clone(&kept)));
            }
        });
        Self {
            server,
            address,
            wire,
        }
    }

    /// The frames that carry requests, since the last call; pings and windows depend on the time.
    fn take(&self) -> Vec<Vec<Frame>> {
        let connections = std::mem::take(&mut *self.wire.lock().unwrap());
        connections.iter().map(|bytes| frames(bytes)).collect()
    }
}

async fn relay(mut client: TcpStream, behind: SocketAddr, kept: Wire) {
    let Ok(mut server) = TcpStream::connect(behind).await else {
        return;
    };
    let place = {
        let mut kept = kept.lock().unwrap();
        kept.push(Vec::new());
        kept.len() - 1
    };
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let up = async {
        let mut chunk = [0; 4_096];
        while let Ok(read @ 1..) = from_client.read(&mut chunk).await {
            if let Some(connection) = kept.lock().unwrap().get_mut(place) {
                connection.extend_from_slice(&chunk[..read]);
            }
            if to_server.write_all(&chunk[..read]).await.is_err() {
                break;
            }
        }
    };
    let down = async {
        let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
    };
    tokio::select! {
        () = up => {}
        () = down => {}
    }
}

/// Kind, flags, stream and payload.
type Frame = (u8, u8, u32, Vec<u8>);

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// DATA, HEADERS and CONTINUATION.
fn frames(bytes: &[u8]) -> Vec<Frame> {
    let mut rest = bytes.strip_prefix(PREFACE).unwrap();
    let mut frames = Vec::new();
    while let [a, b, c, kind, flags, s0, s1, s2, s3, behind @ ..] = rest {
        let len = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        let (payload, behind) = behind.split_at(len);
        if matches!(kind, 0 | 1 | 9) {
            let stream = u32::from_be_bytes([*s0, *s1, *s2, *s3]);
            frames.push((*kind, *flags, stream, payload.to_vec()));
        }
        rest = behind;
    }
    frames
}

async fn servers() -> Vec<Recorded> {
    let mut servers = Vec::new();
    for n in 0..SERVERS {
        servers.push(Recorded::bind(&format!("i-{n}")).await);
    }
    servers
}

fn instances(servers: &[Recorded]) -> Vec<Instance> {
    let each = servers.iter().map(|recorded| {
        let address = recorded.address.to_string();
        Instance::builder(recorded.server.id(), address)
            .build()
            .unwrap()
    });
    each.collect()
}

fn prepared<T>(message: T, n: usize) -> Request<T> {
    let mut request = Request::new(message);
    let metadata = request.metadata_mut();
    metadata.insert("x-user", format!("user-{}", n % 7).parse().unwrap());
    metadata.append("x-tenant", "acme".parse().unwrap());
    metadata.append("x-tenant", "globex".parse().unwrap());
    metadata.insert("x-lane", "blue".parse().unwrap());
    metadata.insert_bin("x-lane-bin", MetadataValue::from_bytes(b"\x00\xff"));
    metadata.insert("grpc-timeout", "30S".parse().unwrap());
    let extensions = request.extensions_mut();
    extensions.insert(RoutingKey::from(format!("key-{}", n % 5)));
    extensions.insert(RequestTags::new().with_zone("az-1"));
    request
}

/// Unary and streamed calls, one after the other; the instances that answered.
async fn call_all<S, R>(mut client: EchoClient<S>) -> Vec<String>
where
    S: tonic::client::GrpcService<Body, ResponseBody = R>,
    R: HttpBody<Data = bytes::Bytes> + Send + 'static,
    R::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    let mut answered = Vec::new();
    for n in 0..40 {
        let response = if n % 2 == 0 {
            let request = prepared(EchoRequest::new(format!("message {n}")), n);
            client.unary(request).await.unwrap().into_inner()
        } else {
            let parts = stream::iter(["1", "2", "3"].map(EchoRequest::new));
            let response = client.client_stream(prepared(parts, n)).await;
            response.unwrap().into_inner()
        };
        answered.push(response.instance);
    }
    answered
}

/// A client that balances by itself: channels by turns.
#[derive(Clone)]
struct Turns {
    channels: Arc<Vec<Channel>>,
    turn: Arc<AtomicUsize>,
}

impl Turns {
    fn new(servers: &[Recorded]) -> Self {
        let channels = servers.iter().map(|recorded| {
            let endpoint = Endpoint::from_shared(format!("http://{}", recorded.address));
            endpoint.unwrap().connect_lazy()
        });
        Self {
            channels: Arc::new(channels.collect()),
            turn: Arc::default(),
        }
    }
}

impl Service<http::Request<Body>> for Turns {
    type Response = Response<Body>;
    type Error = tonic::transport::Error;
    type Future = futures_util::future::BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut channel = self.channels[turn % self.channels.len()].clone();
        Box::pin(async move {
            std::future::poll_fn(|cx| channel.poll_ready(cx)).await?;
            channel.call(request).await
        })
    }
}

fn take(servers: &[Recorded]) -> Vec<Vec<Vec<Frame>>> {
    servers.iter().map(Recorded::take).collect()
}

#[tokio::test]
async fn a_client_of_channels_sends_what_it_sent_before() {
    let servers = servers().await;
    let answered = call_all(EchoClient::new(Turns::new(&servers))).await;
    let without = take(&servers);
    assert!(
        without
            .iter()
            .all(|wire| wire.len() == 1 && wire[0].len() > 26),
        "{without:?}"
    );

    let cluster = Cluster::with_policy(instances(&servers), OBSERVE).await;
    let baseline = Baseline::untouched();
    let client = cluster
        .layer()
        .with_baseline(baseline)
        .wrap(Turns::new(&servers));
    assert_eq!(call_all(EchoClient::new(client)).await, answered);
    assert!(take(&servers) == without, "bytes differ");
    let report = cluster.balancer.observe_report();
    assert_eq!((report.requests, report.unknown), (40, 40));
    assert_eq!(report.suggested_hits.hits, 40 - 7, "{report}");
    assert_eq!(cluster.balancer.status().counters.picks, 0);
}

#[tokio::test]
async fn a_connector_sends_what_it_sends_without_a_policy() {
    let servers = servers().await;
    let build = async |observed: bool| {
        let set_up = |balancer: BalancerBuilder| match observed {
            true => balancer.with_config(config()).with_policy(policy(OBSERVE)),
            false => balancer.with_config(config()),
        };
        Cluster::build(instances(&servers), set_up).await
    };
    let plain = build(false).await;
    let client = plain.layer().wrap(TonicConnector::new());
    let answered = call_all(EchoClient::new(client)).await;
    let without = take(&servers);

    let observed = build(true).await;
    let client = observed.layer().wrap(TonicConnector::new());
    assert_eq!(call_all(EchoClient::new(client)).await, answered);
    assert!(take(&servers) == without, "bytes differ");
    let report = observed.balancer.observe_report();
    assert_eq!((report.requests, report.compared), (40, 40));
    assert!(report.agreed < 40, "the policy has other keys: {report}");
}
