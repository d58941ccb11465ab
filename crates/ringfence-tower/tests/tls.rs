//! Three values of a TLS connection: the address dialled, the authority, the server name.
#![cfg(feature = "tls")]
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::error::Error as _;

use common::{Cluster, SERVICE};
use ringfence_echo::{EchoClient, EchoRequest};
use ringfence_testkit::{Answer, Backend, Recorded, TestCa};
use ringfence_tower::{Authority, Error, ErrorKind, TonicConnector};
use tonic::transport::{Certificate, ClientTlsConfig};
use tonic::{Code, Request, Status};

fn trusting(ca: &TestCa) -> ClientTlsConfig {
    ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca.certificate_pem()))
}

async fn call(cluster: &Cluster, connector: TonicConnector) -> Result<(), Status> {
    let mut client = EchoClient::new(cluster.layer().wrap(connector));
    let mut request = Request::new(EchoRequest::new("x"));
    request.metadata_mut().insert("host", "x".parse().unwrap());
    client.unary(request).await.map(drop)
}

async fn start(ca: &TestCa, names: &[&str]) -> (Backend, Cluster) {
    let backend = Backend::start_tls(&ca.server(names).unwrap())
        .await
        .unwrap();
    backend.always(Answer::grpc(b""));
    let address = format!("https://{}", backend.address());
    let cluster = Cluster::start(&[("a", &address)]).await;
    (backend, cluster)
}

fn last(backend: &Backend) -> Recorded {
    backend.requests().pop().unwrap()
}

fn kind(status: &Status) -> ErrorKind {
    let error: Option<&Error> = status.source().and_then(|source| source.downcast_ref());
    error.unwrap().kind()
}

#[tokio::test]
async fn the_service_is_the_authority_and_the_server_name() {
    let ca = TestCa::new().unwrap();
    let (backend, cluster) = start(&ca, &[SERVICE]).await;
    call(&cluster, TonicConnector::new().with_tls(trusting(&ca)))
        .await
        .unwrap();
    let request = last(&backend);
    assert_eq!(request.authority(), Some(SERVICE));
    assert_eq!(request.sni.as_deref(), Some(SERVICE));
    assert_eq!(request.host(), None, "its own host field is gone");
    assert_eq!(request.uri.scheme_str(), Some("https"));
}

#[tokio::test]
async fn the_authority_can_be_another_and_have_a_port() {
    let ca = TestCa::new().unwrap();
    let (backend, cluster) = start(&ca, &["shop.example"]).await;
    let authority = Authority::Fixed(http::uri::Authority::from_static("shop.example:8443"));
    let connector = TonicConnector::new()
        .with_tls(trusting(&ca))
        .with_authority(authority);
    call(&cluster, connector).await.unwrap();
    assert_eq!(last(&backend).authority(), Some("shop.example:8443"));
    assert_eq!(
        last(&backend).sni.as_deref(),
        Some("shop.example"),
        "without the port"
    );
}

#[tokio::test]
async fn an_address_is_no_server_name() {
    let ca = TestCa::new().unwrap();
    let (backend, cluster) = start(&ca, &["127.0.0.1"]).await;
    let connector = TonicConnector::new()
        .with_tls(trusting(&ca))
        .with_authority(Authority::Instance);
    call(&cluster, connector).await.unwrap();
    let address = backend.address().to_string();
    assert_eq!(last(&backend).authority(), Some(&*address));
    assert_eq!(last(&backend).sni, None);
}

#[tokio::test]
async fn the_server_name_can_differ_from_the_authority() {
    let ca = TestCa::new().unwrap();
    let (backend, cluster) = start(&ca, &["mesh.example"]).await;
    let connector = TonicConnector::new()
        .with_tls(trusting(&ca))
        .with_server_name("mesh.example");
    call(&cluster, connector).await.unwrap();
    assert_eq!(last(&backend).authority(), Some(SERVICE));
    assert_eq!(last(&backend).sni.as_deref(), Some("mesh.example"));

    let tls = trusting(&ca).domain_name("mesh.example");
    call(&cluster, TonicConnector::new().with_tls(tls))
        .await
        .unwrap();
    assert_eq!(last(&backend).sni.as_deref(), Some("mesh.example"));
}

#[tokio::test]
async fn a_wrong_certificate_is_a_connect_failure() {
    let ca = TestCa::new().unwrap();
    let (backend, cluster) = start(&ca, &["else.example"]).await;
    let connector = TonicConnector::new().with_tls(trusting(&ca));
    let status = call(&cluster, connector).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(kind(&status), ErrorKind::AttemptsExhausted);
    assert!(
        status.message().contains("certificate"),
        "{}",
        status.message()
    );
    assert_eq!(backend.request_count(), 0);
}

#[tokio::test]
async fn tls_without_settings_is_a_configuration_error() {
    let ca = TestCa::new().unwrap();
    let (backend, cluster) = start(&ca, &[SERVICE]).await;
    let status = call(&cluster, TonicConnector::new()).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert_eq!(kind(&status), ErrorKind::Config);
    assert!(
        status.message().contains("with_tls"),
        "{}",
        status.message()
    );
    assert_eq!(backend.connections(), 0, "not even dialled");
}

#[tokio::test]
async fn plain_instances_stay_plain() {
    let backend = Backend::start().await.unwrap();
    backend.always(Answer::grpc(b""));
    let cluster = Cluster::start(&[("a", &backend.address().to_string())]).await;
    let ca = TestCa::new().unwrap();
    call(&cluster, TonicConnector::new().with_tls(trusting(&ca)))
        .await
        .unwrap();
    let request = last(&backend);
    assert_eq!(
        (request.authority(), request.sni.as_deref()),
        (Some(SERVICE), None)
    );
    assert_eq!(request.uri.scheme_str(), Some("http"));
    assert_eq!(request.host(), None);
}
