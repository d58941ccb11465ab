//! Generated tonic clients through the layer, against real servers on loopback.
#![cfg(feature = "tonic")]
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::error::Error as _;
use std::time::Duration;

use common::{Cluster, config, until};
use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use ringfence_balancer::OutlierConfig;
use ringfence_echo::{EchoClient, EchoRequest, EchoServer};
use ringfence_testkit::{
    Answer, Backend, Behaviour, OnConnect, RefusedAddress, Relay, SilentAddress,
};
use ringfence_tower::{
    Error, ErrorKind, Idempotent, KeySource, RetryPolicy, Ringfence, RoutingKey, TonicConnector,
};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Code, Request, Status};

type Client = EchoClient<Ringfence<TonicConnector>>;

fn client(cluster: &Cluster) -> Client {
    EchoClient::new(cluster.layer().wrap(TonicConnector::new()))
}

async fn servers() -> (EchoServer, EchoServer, Cluster) {
    let a = EchoServer::bind("a").await.unwrap();
    let b = EchoServer::bind("b").await.unwrap();
    let cluster = of(&[("a", a.address()), ("b", b.address())]).await;
    (a, b, cluster)
}

async fn of(instances: &[(&str, std::net::SocketAddr)]) -> Cluster {
    let addresses: Vec<_> = instances.iter().map(|(_, at)| at.to_string()).collect();
    let ids = instances.iter().map(|(id, _)| *id);
    let instances: Vec<_> = ids.zip(addresses.iter().map(String::as_str)).collect();
    Cluster::start(&instances).await
}

fn keyed<T>(message: T, key: &RoutingKey) -> Request<T> {
    let mut request = Request::new(message);
    request.extensions_mut().insert(key.clone());
    request
}

fn unary(payload: &str, key: &RoutingKey) -> Request<EchoRequest> {
    keyed(EchoRequest::new(payload), key)
}

fn idempotent<T>(mut request: Request<T>) -> Request<T> {
    request.extensions_mut().insert(Idempotent(true));
    request
}

/// The typed error inside of a status.
fn error_of(status: &Status) -> &Error {
    let source = status.source().and_then(|source| source.downcast_ref());
    source.unwrap()
}

async fn four_kinds() {
    let (_a, _b, cluster) = servers().await;
    let mut client = client(&cluster);
    for id in ["a", "b"] {
        let key = cluster.key(&[id]);
        let response = client.unary(unary("x", &key)).await.unwrap().into_inner();
        assert_eq!((&*response.instance, &*response.payload), (id, "x"));

        let request = keyed(EchoRequest::new("y").with_count(3).with_delay_ms(1), &key);
        let responses = client.server_stream(request).await.unwrap().into_inner();
        assert_eq!(cluster.in_flight(id), 1);
        let seen: Vec<_> = responses
            .map(|response| response.unwrap())
            .map(|response| (response.instance, response.sequence))
            .collect()
            .await;
        assert_eq!(seen, [0, 1, 2].map(|n| (id.to_owned(), n)));

        let requests = stream::iter(["1", "2", "3"].map(EchoRequest::new));
        let response = client.client_stream(keyed(requests, &key)).await;
        let response = response.unwrap().into_inner();
        assert_eq!((&*response.instance, &*response.payload), (id, "123"));

        // Both directions stay open: each answer comes before the next question is asked.
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        let requests = UnboundedReceiverStream::new(receiver);
        let responses = client.bidi_stream(keyed(requests, &key)).await;
        let mut responses = responses.unwrap().into_inner();
        for n in 0..5 {
            sender.send(EchoRequest::new(n.to_string())).unwrap();
            let response = responses.message().await.unwrap().unwrap();
            assert_eq!((&*response.instance, response.payload), (id, n.to_string()));
        }
        drop(sender);
        assert_eq!(
            responses.message().await.unwrap(),
            None,
            "half-closed, then ended"
        );
        assert_eq!(cluster.in_flight(id), 0);
    }
}

#[tokio::test]
async fn the_four_kinds_of_call() {
    four_kinds().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_four_kinds_of_call_on_many_threads() {
    four_kinds().await;
}

#[tokio::test]
async fn large_messages_pass_in_both_directions() {
    let (_a, _b, cluster) = servers().await;
    let mut client = client(&cluster);
    let payload = "x".repeat(1_024 * 1_024);
    let request = unary(&payload, &cluster.key(&["a"]));
    assert_eq!(
        client.unary(request).await.unwrap().into_inner().payload,
        payload
    );
}

#[tokio::test]
async fn calls_to_a_closed_port_hop() {
    let refused = RefusedAddress::new().unwrap();
    let b = EchoServer::bind("b").await.unwrap();
    let cluster = of(&[("a", refused.address()), ("b", b.address())]).await;
    let mut client = client(&cluster);
    let key = cluster.key(&["a", "b"]);
    let response = client.unary(unary("x", &key)).await.unwrap().into_inner();
    assert_eq!((&*response.instance, &*response.payload), ("b", "x"));

    let requests = stream::iter(["1", "2", "3"].map(EchoRequest::new));
    let response = client.client_stream(keyed(requests, &key)).await.unwrap();
    assert_eq!(response.into_inner().payload, "123");
    assert_eq!(cluster.in_flight("a"), 0);
    assert_eq!(b.requests(), 2);
}

#[tokio::test]
async fn a_closed_port_is_a_hop_then_an_ejection_then_a_return() {
    let a = EchoServer::bind("a").await.unwrap();
    let refused = RefusedAddress::new().unwrap();
    let outlier = OutlierConfig::default()
        .with_max_ejection_percent(50)
        .unwrap()
        .with_base_ejection_time(Duration::from_millis(300))
        .unwrap();
    let (at_a, at_b) = (a.address().to_string(), refused.address().to_string());
    let instances = [("a", &*at_a), ("b", &*at_b)];
    let cluster = Cluster::with_config(&instances, config().with_outlier(outlier)).await;
    let mut client = client(&cluster);
    let key = cluster.key(&["b"]);
    for _ in 0..100 {
        let response = client.unary(unary("x", &key)).await.unwrap();
        assert_eq!(response.into_inner().instance, "a");
    }
    assert_eq!(a.requests(), 100);
    let counters = cluster.balancer.status().counters;
    assert!(counters.ejections >= 1);
    // Each failure was one hop, and once ejected it is not asked: without, there were a hundred.
    assert_eq!(counters.hops_free, counters.failures_connect);
    assert!((3..100).contains(&counters.hops_free), "{counters:?}");

    let address = refused.address();
    drop(refused);
    let b = EchoServer::bind_to("b", address).await.unwrap();
    while b.requests() == 0 {
        client.unary(unary("x", &key)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    cluster
        .until(|balancer| balancer.status().ejected == 0)
        .await;
}

#[tokio::test]
async fn three_ports_of_one_host_are_three_instances() {
    let first = RefusedAddress::new().unwrap();
    let second = RefusedAddress::new().unwrap();
    let c = EchoServer::bind("c").await.unwrap();
    let instances = [
        ("a", first.address()),
        ("b", second.address()),
        ("c", c.address()),
    ];
    let cluster = of(&instances).await;
    let mut client = client(&cluster);
    let key = cluster.key(&["a", "b", "c"]);
    let response = client.unary(unary("x", &key)).await.unwrap();
    assert_eq!(response.into_inner().instance, "c");
    let counters = cluster.balancer.status().counters;
    assert_eq!((counters.failures_connect, counters.hops_free), (2, 2));
    assert_eq!(c.requests(), 1);
}

#[tokio::test]
async fn a_stream_dropped_after_a_message_is_a_success() {
    let a = Backend::start().await.unwrap();
    let b = EchoServer::bind("b").await.unwrap();
    let outlier = OutlierConfig::default().with_consecutive_failures(2);
    let outlier = outlier.with_max_ejection_percent(50).unwrap();
    let addresses = [a.address().to_string(), b.address().to_string()];
    let instances = [("a", &*addresses[0]), ("b", &*addresses[1])];
    let cluster = Cluster::with_config(&instances, config().with_outlier(outlier)).await;
    let mut client = client(&cluster);
    let key = cluster.key(&["a", "b"]);
    let head = || Answer::status(200).header("content-type", "application/grpc");
    let request = || keyed(EchoRequest::new("x"), &key);
    for _ in 0..5 {
        a.then(Answer::grpc_error(14, "not now"));
        client.unary(unary("x", &key)).await.unwrap_err();
        a.then(head().chunk(vec![0; 5]).then_hang());
        let mut responses = client.server_stream(request()).await.unwrap().into_inner();
        responses.message().await.unwrap().unwrap();
    }
    assert_eq!(cluster.balancer.status().counters.failures_status, 5);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(cluster.balancer.status().ejected, 0);

    // Without a message nothing is known: the failures around it are in a row.
    for _ in 0..2 {
        a.then(head().then_hang());
        drop(client.server_stream(request()).await.unwrap());
        a.then(Answer::grpc_error(14, "not now"));
        client.unary(unary("x", &key)).await.unwrap_err();
    }
    cluster
        .until(|balancer| balancer.status().ejected == 1)
        .await;
}

#[tokio::test]
async fn a_failed_call_says_where_and_what_was_tried() {
    let (first, second) = (
        RefusedAddress::new().unwrap(),
        RefusedAddress::new().unwrap(),
    );
    let cluster = of(&[("a", first.address()), ("b", second.address())]).await;
    let mut client = client(&cluster);
    let status = client
        .unary(unary("x", &cluster.key(&["b", "a"])))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    for part in [
        common::SERVICE,
        "2 attempts",
        "refused",
        &second.address().to_string(),
    ] {
        assert!(
            status.message().contains(part),
            "{part}: {}",
            status.message()
        );
    }
    let error = error_of(&status);
    assert_eq!(error.kind(), ErrorKind::AttemptsExhausted);
    let tried: Vec<_> = error
        .attempts()
        .iter()
        .map(|a| a.instance().as_str())
        .collect();
    assert_eq!(tried, ["b", "a"]);
}

#[tokio::test]
async fn unavailable_without_messages_hops_only_if_allowed() {
    let a = Backend::start().await.unwrap();
    let b = EchoServer::bind("b").await.unwrap();
    a.always(Answer::grpc_error(14, "not now"));
    let cluster = of(&[("a", a.address()), ("b", b.address())]).await;
    let mut client = client(&cluster);
    let key = cluster.key(&["a", "b"]);
    let status = client.unary(unary("x", &key)).await.unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (Code::Unavailable, "not now")
    );
    assert_eq!((a.request_count(), b.requests()), (1, 0));

    let response = client.unary(idempotent(unary("x", &key))).await.unwrap();
    assert_eq!(response.into_inner().instance, "b");
    assert_eq!((a.request_count(), b.requests()), (2, 1));

    // After a message the call is the caller's.
    a.always(Answer::grpc_error_after(b"", 14, "too late"));
    let status = client
        .unary(idempotent(unary("x", &key)))
        .await
        .unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (Code::Unavailable, "too late")
    );
    assert_eq!((a.request_count(), b.requests()), (3, 1));
}

#[tokio::test]
async fn refused_streams_and_goaways_hop() {
    let a = Backend::start().await.unwrap();
    let b = EchoServer::bind("b").await.unwrap();
    let cluster = of(&[("a", a.address()), ("b", b.address())]).await;
    let mut client = client(&cluster);
    let key = cluster.key(&["a", "b"]);
    a.then_on_connect(OnConnect::GoAwayUnprocessed);
    let response = client.unary(unary("x", &key)).await.unwrap();
    assert_eq!(response.into_inner().instance, "b");
    a.then(Behaviour::RefuseStream);
    let response = client.unary(unary("x", &key)).await.unwrap();
    assert_eq!(response.into_inner().instance, "b");
    // Another reset code may mean that it was processed.
    a.then(Behaviour::ResetStream(2));
    let status = client.unary(unary("x", &key)).await.unwrap_err();
    assert_eq!(error_of(&status).kind(), ErrorKind::Transport);
    assert_eq!(b.requests(), 2);
}

#[tokio::test]
async fn a_failure_in_the_trailers_counts() {
    let answer = Answer::grpc_error_after(b"", 14, "dying");
    five_of_these_eject(answer).await;
}

#[tokio::test]
async fn a_stream_without_a_status_was_cut_off() {
    let answer = Answer::status(200).header("content-type", "application/grpc+proto");
    five_of_these_eject(answer.chunk(vec![0; 5])).await;
}

async fn five_of_these_eject(answer: Answer) {
    let a = Backend::start().await.unwrap();
    let b = EchoServer::bind("b").await.unwrap();
    a.always(answer);
    let outlier = OutlierConfig::default().with_consecutive_failures(5);
    let outlier = outlier.with_max_ejection_percent(50).unwrap();
    let addresses = [a.address().to_string(), b.address().to_string()];
    let instances = [("a", &*addresses[0]), ("b", &*addresses[1])];
    let cluster = Cluster::with_config(&instances, config().with_outlier(outlier)).await;
    let mut client = client(&cluster);
    let key = cluster.key(&["a", "b"]);
    for _ in 0..5 {
        client.unary(unary("x", &key)).await.unwrap_err();
    }
    cluster
        .until(|balancer| balancer.status().ejected == 1)
        .await;
    let response = client.unary(unary("x", &key)).await.unwrap();
    assert_eq!(response.into_inner().instance, "b");
}

#[tokio::test]
async fn a_killed_server_fails_no_call() {
    let (a, b, cluster) = servers().await;
    let mut client = client(&cluster);
    let key = cluster.key(&["a", "b"]);
    client.unary(unary("warm", &key)).await.unwrap();
    a.kill().await;
    for n in 0..3 {
        let response = client.unary(unary(&n.to_string(), &key)).await.unwrap();
        assert_eq!(response.into_inner().instance, "b");
    }
    assert_eq!(b.requests(), 3);
}

#[tokio::test]
async fn the_deadline_ends_the_call_and_names_the_instance() {
    let a = Backend::start().await.unwrap();
    a.always(Behaviour::Hang);
    let cluster = of(&[("a", a.address())]).await;
    let mut client = client(&cluster);
    let mut request = unary("x", &RoutingKey::from("x"));
    request.set_timeout(Duration::from_millis(100));
    let status = client.unary(request).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert!(
        status.message().contains(&a.address().to_string()),
        "{}",
        status.message()
    );
    assert_eq!(error_of(&status).kind(), ErrorKind::DeadlineExceeded);
    until(|| a.in_flight() == 0).await;
    assert_eq!(cluster.in_flight("a"), 0);
}

#[tokio::test]
async fn the_deadline_ends_a_response_that_does_not_end() {
    let a = Backend::start().await.unwrap();
    let hangs = Answer::status(200).header("content-type", "application/grpc");
    a.always(hangs.then_hang());
    let cluster = of(&[("a", a.address())]).await;
    let mut client = client(&cluster);
    let mut request = unary("x", &RoutingKey::from("x"));
    request.set_timeout(Duration::from_millis(100));
    let status = client.unary(request).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert!(
        status.message().contains(&a.address().to_string()),
        "{}",
        status.message()
    );
    until(|| a.in_flight() == 0).await;
    assert_eq!(cluster.in_flight("a"), 0);
}

#[tokio::test]
async fn a_half_read_stream_that_is_dropped_leaves_no_count() {
    let (a, _b, cluster) = servers().await;
    let mut client = client(&cluster);
    let key = cluster.key(&["a"]);
    let request = keyed(EchoRequest::new("y").with_count(100).with_delay_ms(5), &key);
    let mut responses = client.server_stream(request).await.unwrap().into_inner();
    responses.message().await.unwrap().unwrap();
    assert_eq!(cluster.in_flight("a"), 1);
    drop(responses);
    assert_eq!(cluster.in_flight("a"), 0);
    until(|| a.in_flight() == 0).await;
}

#[tokio::test]
async fn packets_that_vanish_on_connect_delay_nobody_twice() {
    let silent = SilentAddress::new().unwrap();
    let b = EchoServer::bind("b").await.unwrap();
    let budget = ringfence_balancer::RetryBudgetConfig::default().with_min_per_second(100);
    let config = config().with_retry_budget(budget);
    let addresses = [silent.address().to_string(), b.address().to_string()];
    let instances = [("a", &*addresses[0]), ("b", &*addresses[1])];
    let cluster = Cluster::with_config(&instances, config).await;
    let connector = TonicConnector::new().with_connect_timeout(Duration::from_millis(300));
    let client = EchoClient::new(cluster.layer().wrap(connector));
    let key = cluster.key(&["a", "b"]);
    let start = std::time::Instant::now();
    let calls = (0..50).map(|_| {
        let mut client = client.clone();
        let request = unary("x", &key);
        async move { client.unary(request).await.unwrap().into_inner().instance }
    });
    assert!(join_all(calls).await.iter().all(|instance| instance == "b"));
    // One after the other they would take 15 s.
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(10), "{elapsed:?}");
}

/// Writes too: they were never sent.
#[tokio::test]
async fn attempts_that_end_while_connecting_hop_whatever_the_method() {
    let silent = [SilentAddress::new().unwrap(), SilentAddress::new().unwrap()];
    let c = EchoServer::bind("c").await.unwrap();
    let cluster = of(&[
        ("a", silent[0].address()),
        ("b", silent[1].address()),
        ("c", c.address()),
    ])
    .await;
    let policy = RetryPolicy::default().with_per_try_timeout(Duration::from_millis(200));
    let layer = cluster.layer().with_retry(policy);
    let mut client = EchoClient::new(layer.wrap(TonicConnector::new()));
    let mut request = unary("x", &cluster.key(&["a", "b", "c"]));
    let limit = Duration::from_secs(5);
    request.set_timeout(limit);
    let start = std::time::Instant::now();
    let response = client.unary(request).await.unwrap();
    assert_eq!(response.into_inner().instance, "c");
    let elapsed = start.elapsed();
    assert!(
        (Duration::from_millis(400)..limit).contains(&elapsed),
        "{elapsed:?}"
    );
    let counters = cluster.balancer.status().counters;
    assert_eq!((counters.hops_granted, counters.hops_free), (0, 2));
}

/// The instance may have it: the connection was there.
#[tokio::test]
async fn attempts_that_end_on_a_connection_hop_only_if_allowed() {
    let a = EchoServer::bind("a").await.unwrap();
    let relay = Relay::start(a.address()).await.unwrap();
    let b = EchoServer::bind("b").await.unwrap();
    let cluster = of(&[("a", relay.address()), ("b", b.address())]).await;
    let policy = RetryPolicy::default().with_per_try_timeout(Duration::from_millis(200));
    let layer = cluster.layer().with_retry(policy);
    let mut client = EchoClient::new(layer.wrap(TonicConnector::new()));
    let key = cluster.key(&["a", "b"]);
    client.unary(unary("warm", &key)).await.unwrap();
    relay.freeze();
    let status = client.unary(unary("x", &key)).await.unwrap_err();
    assert_eq!(error_of(&status).attempts().len(), 1);
    let response = client.unary(idempotent(unary("x", &key))).await.unwrap();
    assert_eq!(response.into_inner().instance, "b");
    assert_eq!(cluster.balancer.status().counters.hops_granted, 1);
}

#[tokio::test]
async fn a_connection_gone_dead_is_noticed_and_left() {
    let a = EchoServer::bind("a").await.unwrap();
    let relay = Relay::start(a.address()).await.unwrap();
    let b = EchoServer::bind("b").await.unwrap();
    let cluster = of(&[("a", relay.address()), ("b", b.address())]).await;
    let connector =
        TonicConnector::new().with_keepalive(Duration::from_secs(1), Duration::from_millis(200));
    let mut client = EchoClient::new(cluster.layer().wrap(connector));
    let key = cluster.key(&["a", "b"]);
    client.unary(unary("warm", &key)).await.unwrap();
    relay.freeze();
    let mut request = idempotent(unary("x", &key));
    // Only a broken connection lets it hop; the deadline would not.
    request.set_timeout(Duration::from_secs(30));
    let response = client.unary(request).await.unwrap();
    assert_eq!(response.into_inner().instance, "b");
}

#[tokio::test]
async fn a_channel_in_place_of_the_connector_is_a_configuration_error() {
    let (a, b, cluster) = servers().await;
    let uri = format!("http://{}", a.address()).parse().unwrap();
    let channel = tonic::transport::Channel::builder(uri).connect_lazy();
    let mut client = EchoClient::new(cluster.layer().wrap(channel));
    let status = client
        .unary(unary("x", &cluster.key(&["b"])))
        .await
        .unwrap_err();
    let error = error_of(&status);
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("TonicConnector"), "{error}");
    assert_eq!(a.requests() + b.requests(), 0);
}

#[tokio::test]
async fn connections_are_made_lazily_and_as_many_as_asked_for() {
    let (a, b, cluster) = servers().await;
    let connector = TonicConnector::new().with_connections_per_instance(4);
    let client = EchoClient::new(cluster.layer().wrap(connector));
    let key = cluster.key(&["a"]);
    for _ in 0..12 {
        client.clone().unary(unary("x", &key)).await.unwrap();
    }
    assert_eq!((a.connections(), b.connections()), (4, 0));
}

#[tokio::test]
async fn settings_of_the_endpoint_can_be_changed() {
    let (a, _b, cluster) = servers().await;
    let connector = TonicConnector::new()
        .with_endpoint(|endpoint, instance| endpoint.user_agent(instance.id().as_str()).unwrap());
    let mut client = EchoClient::new(cluster.layer().wrap(connector));
    client
        .unary(unary("x", &cluster.key(&["a"])))
        .await
        .unwrap();
    let calls = a.calls();
    assert!(
        calls[0]
            .header("user-agent")
            .unwrap()
            .starts_with("a tonic/")
    );
    assert_eq!(calls[0].authority(), Some(common::SERVICE));
}

#[tokio::test]
async fn metadata_gives_the_key_and_interceptors_fit() {
    let (_a, _b, cluster) = servers().await;
    let header = KeySource::header(http::HeaderName::from_static("x-tenant"));
    let service = cluster.layer().with_key(header).wrap(TonicConnector::new());
    for id in ["a", "b"] {
        let key = cluster.key(&[id]);
        let tenant: tonic::metadata::AsciiMetadataValue = std::str::from_utf8(key.as_bytes())
            .unwrap()
            .parse()
            .unwrap();
        let mut client =
            EchoClient::with_interceptor(service.clone(), move |mut request: Request<()>| {
                request.metadata_mut().insert("x-tenant", tenant.clone());
                Ok(request)
            });
        let response = client.unary(EchoRequest::new("x")).await.unwrap();
        assert_eq!(response.into_inner().instance, id);
    }
}

#[tokio::test]
async fn a_removed_instance_keeps_its_calls_and_then_closes() {
    let (a, b, cluster) = servers().await;
    let mut client = client(&cluster);
    let key = cluster.key(&["a"]);
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    let requests = UnboundedReceiverStream::new(receiver);
    let responses = client.bidi_stream(keyed(requests, &key)).await;
    let mut responses = responses.unwrap().into_inner();

    cluster.registry.deregister(&cluster.service, "a");
    cluster
        .until(|balancer| balancer.status().instances == 1)
        .await;
    let response = client.unary(unary("x", &key)).await.unwrap();
    assert_eq!(response.into_inner().instance, "b", "no new calls");
    sender.send(EchoRequest::new("still here")).unwrap();
    let response = responses.message().await.unwrap().unwrap();
    assert_eq!(response.payload, "still here");

    // Back while the call runs: the same connection serves on.
    cluster.register("a", &a.address().to_string());
    cluster
        .until(|balancer| balancer.status().instances == 2)
        .await;
    client.unary(unary("x", &key)).await.unwrap();
    assert_eq!(a.connections(), 1);

    // A new tag or weight reconnects nothing.
    let changed = common::instance("a", &a.address().to_string());
    let changed = changed.to_builder().tag("color", "red").weight(200);
    let epoch = cluster.balancer.status().epoch;
    cluster
        .registry
        .register(&cluster.service, changed.build().unwrap());
    cluster
        .until(|balancer| balancer.status().epoch > epoch)
        .await;
    client
        .unary(unary("x", &cluster.key(&["a"])))
        .await
        .unwrap();
    assert_eq!(a.connections(), 1);

    cluster.registry.deregister(&cluster.service, "a");
    cluster
        .until(|balancer| balancer.status().instances == 1)
        .await;
    drop(sender);
    assert_eq!(responses.message().await.unwrap(), None);
    drop(responses);
    until(|| a.open_connections() == 0).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(a.connections(), 1, "not dialled again");
    drop(b);
}

#[tokio::test]
async fn connectors_that_are_thrown_away_leave_no_connection() {
    let (a, _b, cluster) = servers().await;
    let key = cluster.key(&["a"]);
    for _ in 0..100 {
        client(&cluster).unary(unary("x", &key)).await.unwrap();
    }
    assert_eq!(a.connections(), 100);
    until(|| a.open_connections() == 0).await;
}

#[tokio::test]
async fn the_last_handle_closes_all_connections() {
    let (a, b, cluster) = servers().await;
    let mut client = client(&cluster);
    for id in ["a", "b"] {
        client.unary(unary("x", &cluster.key(&[id]))).await.unwrap();
    }
    assert_eq!((a.open_connections(), b.open_connections()), (1, 1));
    drop((client, cluster));
    until(|| a.open_connections() + b.open_connections() == 0).await;
}

#[cfg(not(feature = "tls"))]
#[tokio::test]
async fn tls_that_was_not_built_in_is_a_configuration_error() {
    let a = EchoServer::bind("a").await.unwrap();
    let cluster = Cluster::start(&[("a", &format!("https://{}", a.address()))]).await;
    let status = client(&cluster)
        .unary(EchoRequest::new("x"))
        .await
        .unwrap_err();
    assert_eq!(error_of(&status).kind(), ErrorKind::Config);
}
