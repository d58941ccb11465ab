//! The echo server over a plain tonic channel.
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use std::time::Duration;

use futures_util::{StreamExt, stream};
use ringfence_echo::{EchoClient, EchoRequest, EchoServer};
use tonic::{
    Code, Request,
    transport::{Channel, Endpoint},
};

async fn client(server: &EchoServer) -> EchoClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}", server.address())).unwrap();
    EchoClient::new(endpoint.connect().await.unwrap())
}

async fn until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), waiting)
        .await
        .unwrap();
}

#[tokio::test]
async fn answers_the_four_kinds_of_call() {
    let server = EchoServer::bind("a").await.unwrap();
    let mut client = client(&server).await;

    let response = client.unary(EchoRequest::new("x")).await.unwrap();
    let response = response.into_inner();
    assert_eq!(
        (response.instance.as_str(), response.payload.as_str()),
        ("a", "x")
    );

    let request = EchoRequest::new("y").with_count(3).with_delay_ms(1);
    let responses = client.server_stream(request).await.unwrap().into_inner();
    let sequence: Vec<u32> = responses.map(|r| r.unwrap().sequence).collect().await;
    assert_eq!(sequence, [0, 1, 2]);

    let requests = stream::iter(["1", "2", "3"].map(EchoRequest::new));
    let response = client.client_stream(requests).await.unwrap().into_inner();
    assert_eq!((response.payload.as_str(), response.sequence), ("123", 3));

    let requests = stream::iter(["1", "2"].map(EchoRequest::new));
    let responses = client.bidi_stream(requests).await.unwrap().into_inner();
    let payloads: Vec<String> = responses.map(|r| r.unwrap().payload).collect().await;
    assert_eq!(payloads, ["1", "2"]);

    drop(client);
    until(|| server.in_flight() == 0 && server.open_connections() == 0).await;
    assert_eq!((server.requests(), server.connections()), (4, 1));
}

#[tokio::test]
async fn records_authority_and_metadata() {
    let server = EchoServer::bind("a").await.unwrap();
    let mut request = Request::new(EchoRequest::new("x"));
    request
        .metadata_mut()
        .insert("tenant", "acme".parse().unwrap());
    client(&server).await.unary(request).await.unwrap();

    let calls = server.calls();
    assert_eq!(calls[0].path(), "/ringfence.echo.v1.Echo/Unary");
    assert_eq!(
        calls[0].authority(),
        Some(server.address().to_string().as_str())
    );
    assert_eq!(calls[0].header("tenant"), Some("acme"));
    assert_eq!(calls[0].connection(), 0);
}

#[tokio::test]
async fn a_killed_server_cuts_calls_and_refuses_connections_until_it_is_back() {
    let server = EchoServer::bind("a").await.unwrap();
    let address = server.address();
    let mut cut = client(&server).await;
    let call = tokio::spawn(async move {
        let request = EchoRequest::new("x").with_delay_ms(60_000);
        cut.unary(request).await
    });
    until(|| server.in_flight() == 1).await;

    server.kill().await;
    let status = call.await.unwrap().unwrap_err();
    assert!(
        matches!(status.code(), Code::Unavailable | Code::Unknown),
        "{status:?}"
    );
    assert!(tokio::net::TcpStream::connect(address).await.is_err());

    let server = EchoServer::bind_to("a", address).await.unwrap();
    let response = client(&server).await.unary(EchoRequest::new("x")).await;
    assert_eq!(response.unwrap().into_inner().instance, "a");
}

#[tokio::test]
async fn a_stopped_server_lets_running_calls_end() {
    let server = EchoServer::bind("a").await.unwrap();
    let mut slow = client(&server).await;
    let call = tokio::spawn(async move {
        let request = EchoRequest::new("x").with_delay_ms(50);
        slow.unary(request).await
    });
    until(|| server.in_flight() == 1).await;

    server.stop().await;
    assert_eq!(call.await.unwrap().unwrap().into_inner().payload, "x");
}
