//! When the connector makes connections and when it closes them, against real servers on loopback.
#![cfg(feature = "tonic")]
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::collections::HashMap;
use std::io::{Error as IoError, ErrorKind as Io};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{Cluster, config, instance, until};
use futures_util::future::join_all;
use ringfence_balancer::Balancer;
use ringfence_echo::{EchoClient, EchoRequest, EchoResponse, EchoServer};
use ringfence_testkit::{Answer, Backend, Behaviour, OnConnect, SilentAddress};
use ringfence_tower::{Idempotent, Resolve, ResolveFuture, Ringfence, RoutingKey, TonicConnector};
use tokio::time::sleep;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Request, Status, Streaming};

type Client = EchoClient<Ringfence<TonicConnector>>;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn unary(key: &RoutingKey) -> Request<EchoRequest> {
    let mut request = Request::new(EchoRequest::new("x"));
    request.extensions_mut().insert(key.clone());
    request
}

fn again(key: &RoutingKey) -> Request<EchoRequest> {
    let mut request = unary(key);
    request.extensions_mut().insert(Idempotent(true));
    request
}

async fn two() -> (EchoServer, EchoServer, Cluster) {
    let a = EchoServer::bind("a").await.unwrap();
    let b = EchoServer::bind("b").await.unwrap();
    let (at_a, at_b) = (a.address().to_string(), b.address().to_string());
    let cluster = Cluster::start(&[("a", &at_a), ("b", &at_b)]).await;
    (a, b, cluster)
}

fn client(cluster: &Cluster, connector: TonicConnector) -> Client {
    EchoClient::new(cluster.layer().wrap(connector))
}

/// A call in both directions that stays open.
struct Call {
    sender: tokio::sync::mpsc::UnboundedSender<EchoRequest>,
    responses: Streaming<EchoResponse>,
}

impl Call {
    async fn open(client: &mut Client, key: &RoutingKey) -> Self {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        let mut request = Request::new(UnboundedReceiverStream::new(receiver));
        request.extensions_mut().insert(key.clone());
        let responses = client.bidi_stream(request).await.unwrap().into_inner();
        Self { sender, responses }
    }

    async fn ask(&mut self) -> Result<EchoResponse, Status> {
        self.sender.send(EchoRequest::new("still there?")).unwrap();
        Ok(self.responses.message().await?.unwrap())
    }
}

#[tokio::test]
async fn a_connection_that_nobody_uses_is_closed_and_the_next_request_makes_another() {
    let (a, _b, cluster) = two().await;
    let connector = TonicConnector::new().with_idle_timeout(ms(200));
    let mut client = client(&cluster, connector);
    let key = cluster.key(&["a"]);
    for n in 1..=3 {
        let start = Instant::now();
        client.unary(unary(&key)).await.unwrap();
        assert_eq!(a.connections(), n);
        until(|| a.open_connections() == 0).await;
        assert!(start.elapsed() >= ms(150), "{:?}", start.elapsed());
    }
    // A call that is quiet for longer is no idle connection.
    let mut call = Call::open(&mut client, &key).await;
    sleep(ms(600)).await;
    assert_eq!(call.ask().await.unwrap().instance, "a");
    assert_eq!(a.connections(), 4);
    drop(call);
    until(|| a.open_connections() == 0).await;
    // Nor is one that is used often.
    for _ in 0..10 {
        client.unary(unary(&key)).await.unwrap();
        sleep(ms(60)).await;
    }
    assert_eq!(a.connections(), 5);
    assert_eq!(cluster.balancer.status().counters.failures_reset, 0);
}

/// A call that outlives its instance (B39).
#[tokio::test]
async fn what_runs_on_a_removed_instance_ends_with_the_drain_limit() {
    let (a, _b, cluster) = two().await;
    let connector = TonicConnector::new().with_drain_limit(ms(400));
    let mut client = client(&cluster, connector);
    let key = cluster.key(&["a"]);
    let mut call = Call::open(&mut client, &key).await;
    let start = Instant::now();
    cluster.registry.deregister(&cluster.service, "a");
    cluster
        .until(|balancer| balancer.status().instances == 1)
        .await;
    assert_eq!(call.ask().await.unwrap().instance, "a");
    let response = client.unary(unary(&key)).await.unwrap();
    assert_eq!(response.into_inner().instance, "b", "no new calls");
    let status = call.responses.message().await.unwrap_err();
    let elapsed = start.elapsed();
    assert!(
        (ms(400)..ms(2_000)).contains(&elapsed),
        "{elapsed:?}: {status}"
    );
    drop(call);
    until(|| a.open_connections() == 0).await;
    sleep(ms(300)).await;
    assert_eq!(a.connections(), 1, "not dialled again");
}

#[tokio::test]
async fn a_short_absence_leaves_what_runs_untouched() {
    let (a, b, cluster) = two().await;
    let connector = TonicConnector::new().with_drain_limit(ms(300));
    let mut client = client(&cluster, connector);
    let key = cluster.key(&["a"]);
    let mut call = Call::open(&mut client, &key).await;
    for _ in 0..3 {
        cluster.registry.deregister(&cluster.service, "a");
        cluster
            .until(|balancer| balancer.status().instances == 1)
            .await;
        sleep(ms(90)).await;
        cluster.register("a", &a.address().to_string());
        cluster
            .until(|balancer| balancer.status().instances == 2)
            .await;
    }
    sleep(ms(600)).await;
    assert_eq!(call.ask().await.unwrap().instance, "a");
    client.unary(unary(&key)).await.unwrap();
    assert_eq!(a.connections(), 1);

    // The whole list is replaced by others, and comes back.
    let at = |id, server: &EchoServer| instance(id, &server.address().to_string());
    for list in [[at("c", &b), at("d", &b)], [at("a", &a), at("b", &b)]] {
        let wanted = list[0].id().clone();
        cluster.registry.replace(&cluster.service, list);
        let has_come = |balancer: &Balancer| {
            let view = balancer.view().unwrap();
            view.snapshot().get(wanted.as_str()).is_some()
        };
        cluster.until(has_come).await;
    }
    sleep(ms(500)).await;
    assert_eq!(call.ask().await.unwrap().instance, "a");
    assert_eq!(a.connections(), 1);
}

#[tokio::test]
async fn without_a_drain_limit_calls_take_their_time() {
    let (a, _b, cluster) = two().await;
    let connector = TonicConnector::new()
        .with_drain_limit(ms(1))
        .without_drain_limit();
    let mut client = client(&cluster, connector);
    let mut call = Call::open(&mut client, &cluster.key(&["a"])).await;
    cluster.registry.deregister(&cluster.service, "a");
    cluster
        .until(|balancer| balancer.status().instances == 1)
        .await;
    sleep(ms(300)).await;
    assert_eq!(call.ask().await.unwrap().instance, "a");
    assert_eq!(a.connections(), 1);
}

/// Names to addresses, as a test sets them; a look-up takes a while, so that many are seen at once.
#[derive(Debug, Clone, Default)]
struct Hosts {
    addresses: Arc<Mutex<HashMap<String, IpAddr>>>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    looked_up: Arc<AtomicUsize>,
}

impl Hosts {
    fn set(&self, host: &str, address: impl Into<IpAddr>) {
        let mut addresses = self.addresses.lock().unwrap();
        addresses.insert(host.to_owned(), address.into());
    }
}

impl Resolve for Hosts {
    fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a> {
        Box::pin(async move {
            self.looked_up.fetch_add(1, Ordering::SeqCst);
            let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(running, Ordering::SeqCst);
            if host.starts_with("never") {
                std::future::pending::<()>().await;
            }
            sleep(ms(20)).await;
            self.running.fetch_sub(1, Ordering::SeqCst);
            let found = self.addresses.lock().unwrap().get(host).copied();
            Ok(vec![found.ok_or_else(|| IoError::from(Io::NotFound))?])
        })
    }
}

/// A name whose address changes (B23).
#[tokio::test]
async fn a_name_is_resolved_again_for_each_connection() {
    let first = Backend::start().await.unwrap();
    let port = first.address().port();
    let second = Backend::start_on(SocketAddr::from(([127, 0, 0, 2], port)))
        .await
        .unwrap();
    first.always(Answer::grpc(b""));
    second.always(Answer::grpc(b""));
    let hosts = Hosts::default();
    hosts.set("orders-1.test", [127, 0, 0, 1]);
    let cluster = Cluster::start(&[("a", &format!("orders-1.test:{port}"))]).await;
    let connector = TonicConnector::new().with_resolver(hosts.clone());
    let mut client = client(&cluster, connector);
    let key = cluster.key(&["a"]);
    for _ in 0..3 {
        client.unary(unary(&key)).await.unwrap();
    }
    assert_eq!(
        (
            first.request_count(),
            hosts.looked_up.load(Ordering::SeqCst)
        ),
        (3, 1)
    );

    hosts.set("orders-1.test", [127, 0, 0, 2]);
    first.kill().await;
    for _ in 0..100 {
        if client.unary(unary(&key)).await.is_ok() {
            break;
        }
        sleep(ms(20)).await;
    }
    assert_eq!(second.request_count(), 1);
    assert!(hosts.looked_up.load(Ordering::SeqCst) >= 2);
}

#[tokio::test]
async fn a_flood_of_first_calls_connects_a_few_at_a_time() {
    let server = EchoServer::bind("all").await.unwrap();
    let port = server.address().port();
    let hosts = Hosts::default();
    let addresses: Vec<_> = (0..30).map(|n| format!("host-{n}.test:{port}")).collect();
    for n in 0..30 {
        hosts.set(&format!("host-{n}.test"), [127, 0, 0, 1]);
    }
    let ids: Vec<_> = (0..30).map(|n| format!("i{n}")).collect();
    let instances = ids.iter().zip(&addresses).map(|(id, at)| instance(id, at));
    let cluster = Cluster::build(instances, |balancer| balancer.with_config(config())).await;
    let connector = TonicConnector::new()
        .with_max_connecting(3)
        .with_resolver(hosts.clone());
    let client = client(&cluster, connector);
    let calls = ids.iter().map(|id| {
        let (mut client, key) = (client.clone(), cluster.key(&[id]));
        async move { client.unary(unary(&key)).await.map(drop) }
    });
    for answer in join_all(calls).await {
        answer.unwrap();
    }
    assert_eq!(server.connections(), 30);
    assert_eq!(hosts.most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn who_waits_in_vain_for_a_turn_to_connect_goes_on_and_blames_nobody() {
    let c = EchoServer::bind("c").await.unwrap();
    let hosts = Hosts::default();
    hosts.set("b.test", [127, 0, 0, 1]);
    let at = format!("b.test:{}", c.address().port());
    let cluster = Cluster::start(&[
        ("never-1", "never-1.test:80"),
        ("never-2", "never-2.test:80"),
        ("b", &at),
        ("c", &c.address().to_string()),
    ])
    .await;
    let connector = TonicConnector::new()
        .with_max_connecting(1)
        .with_connect_timeout(ms(800))
        .with_resolver(hosts.clone());
    let client = client(&cluster, connector);
    let call = |order: &[&str]| {
        let (mut client, key) = (client.clone(), cluster.key(order));
        tokio::spawn(async move { client.unary(unary(&key)).await })
    };
    call(&["c"]).await.unwrap().unwrap();
    // The first has its turn for 800 ms, the second behind it for another 800.
    let first = call(&["never-1", "c"]);
    sleep(ms(200)).await;
    let second = call(&["never-2", "c"]);
    sleep(ms(200)).await;
    let start = Instant::now();
    let third = call(&["b", "c"]).await.unwrap().unwrap();
    assert_eq!(third.into_inner().instance, "c");
    assert!(
        (ms(790)..ms(1_150)).contains(&start.elapsed()),
        "{:?}",
        start.elapsed()
    );
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    let counters = cluster.balancer.status().counters;
    assert_eq!((counters.failures_connect, counters.failures_reset), (2, 0));
    // Those whose turn did not come are not kept out.
    call(&["b"]).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_dial_that_nobody_waits_for_is_not_made_and_holds_no_turn() {
    let c = EchoServer::bind("c").await.unwrap();
    let hosts = Hosts::default();
    hosts.set("b.test", [127, 0, 0, 1]);
    let cluster = Cluster::start(&[
        ("never-1", "never-1.test:80"),
        ("b", &format!("b.test:{}", c.address().port())),
        ("c", &c.address().to_string()),
    ])
    .await;
    let connector = TonicConnector::new()
        .with_max_connecting(1)
        .with_connect_timeout(ms(500))
        .with_resolver(hosts.clone());
    let client = client(&cluster, connector);
    let call = |order: &[&str]| {
        let (mut client, key) = (client.clone(), cluster.key(order));
        tokio::spawn(async move { client.unary(unary(&key)).await })
    };
    // Both go away while one dials and the other waits for its turn.
    let callers = [call(&["never-1"]), call(&["b"])];
    sleep(ms(100)).await;
    callers.iter().for_each(|caller| caller.abort());
    sleep(ms(900)).await;
    assert_eq!(hosts.looked_up.load(Ordering::SeqCst), 1, "never-1 alone");
    call(&["c"]).await.unwrap().unwrap();
    // The next caller gets a connection, and not what became of the dial then.
    sleep(ms(500)).await;
    call(&["b"]).await.unwrap().unwrap();
    assert_eq!(hosts.looked_up.load(Ordering::SeqCst), 2);
    assert_eq!(c.connections(), 2);
}

#[tokio::test]
async fn a_warm_up_makes_the_connection_that_requests_then_use() {
    let (a, b) = (
        EchoServer::bind("a").await.unwrap(),
        EchoServer::bind("b").await.unwrap(),
    );
    let silent = SilentAddress::new().unwrap();
    let connector = TonicConnector::new().with_connections_per_instance(2);
    let first = [instance("a", &a.address().to_string())];
    let warm_up = connector.warm_up();
    let cluster = Cluster::build(first, |balancer| {
        let balancer = balancer.with_config(config());
        balancer.with_warm_up(warm_up, ms(700)).unwrap()
    })
    .await;
    cluster.register("b", &b.address().to_string());
    cluster.register("silent", &silent.address().to_string());
    let usable = |wanted| move |balancer: &Balancer| balancer.status().usable == wanted;
    cluster.until(usable(2)).await;
    assert_eq!((b.connections(), a.connections()), (2, 0));
    assert_eq!(cluster.balancer.status().warming, 1);
    let mut client = client(&cluster, connector);
    let key = cluster.key(&["b"]);
    for _ in 0..4 {
        client.unary(unary(&key)).await.unwrap();
    }
    assert_eq!(b.connections(), 2);
    assert_eq!(cluster.in_flight("b"), 0);
    cluster.until(usable(3)).await;
    assert_eq!(cluster.balancer.status().counters.warm_ups_failed, 1);
}

/// As servers do that restart in peace, or that close what was not used for a while.
#[tokio::test]
async fn connections_that_are_closed_in_peace_are_nobodys_fault() {
    let (a, b) = (
        Backend::start().await.unwrap(),
        Backend::start().await.unwrap(),
    );
    let (at_a, at_b) = (a.address().to_string(), b.address().to_string());
    let cluster = Cluster::start(&[("a", &at_a), ("b", &at_b)]).await;
    let mut client = client(&cluster, TonicConnector::new());
    let key = cluster.key(&["a", "b"]);
    let message = Behaviour::from(Answer::grpc(b""));
    b.always(message.clone());
    a.always_on_connect(OnConnect::GoAwayUnprocessed);
    for _ in 0..10 {
        client.unary(unary(&key)).await.unwrap();
    }
    let counters = cluster.balancer.status().counters;
    assert_eq!((counters.failures_reset, counters.ejections), (0, 0));
    assert_eq!((counters.hops_granted, counters.hops_free), (0, 10));

    // A connection that was used before, and breaks without a word.
    a.always_on_connect(OnConnect::Serve);
    for round in 1..=10 {
        a.then(message.clone());
        a.then(Behaviour::Reset { after: 0 });
        client.unary(unary(&key)).await.unwrap();
        client.unary(again(&key)).await.unwrap();
        let counters = cluster.balancer.status().counters;
        assert_eq!((counters.failures_reset, counters.ejections), (0, 0));
        assert_eq!((counters.hops_granted, counters.hops_free), (0, 10 + round));
    }
    // It may have arrived all the same.
    a.then(message);
    a.then(Behaviour::Reset { after: 0 });
    client.unary(unary(&key)).await.unwrap();
    client.unary(unary(&key)).await.unwrap_err();

    // One that was made for the request.
    a.then(Behaviour::Reset { after: 0 });
    client.unary(again(&key)).await.unwrap();
    let counters = cluster.balancer.status().counters;
    assert_eq!((counters.failures_reset, counters.hops_granted), (1, 1));
}
