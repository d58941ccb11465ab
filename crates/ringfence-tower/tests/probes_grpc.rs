//! `GrpcHealthProbe` against real servers on loopback.
#![cfg(feature = "tonic")]
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::time::Duration;

use common::{Cluster, SERVICE, instance, until};
use ringfence_balancer::{HealthCheckConfig, Probe as _};
use ringfence_testkit::{Answer, Backend, Behaviour, RefusedAddress};
use ringfence_tower::{GrpcHealthProbe, TonicConnector};
use tokio::time::timeout;

/// `HealthCheckResponse` of this status: field 1, a varint.
fn says(status: u8) -> Answer {
    Answer::grpc(&[0x08, status])
}

const SERVING: u8 = 1;

async fn ask(probe: &GrpcHealthProbe, backend: &Backend) -> Result<(), String> {
    let instance = instance("a", &backend.address().to_string());
    probe
        .probe(&instance)
        .await
        .map_err(|error| error.to_string())
}

fn probe() -> GrpcHealthProbe {
    GrpcHealthProbe::new(TonicConnector::new(), SERVICE)
}

#[tokio::test]
async fn only_serving_passes() {
    let backend = Backend::start().await.unwrap();
    for (answer, wanted) in [
        (says(SERVING), Ok(())),
        (says(2), Err("NOT_SERVING")),
        (says(3), Err("SERVICE_UNKNOWN")),
        (says(0), Err("UNKNOWN")),
        (Answer::grpc(b""), Err("UNKNOWN")),
    ] {
        backend.then(answer);
        assert_eq!(ask(&probe(), &backend).await, wanted.map_err(str::to_owned));
    }
    backend.then(Answer::grpc_error(12, "no such method"));
    let error = ask(&probe(), &backend).await.unwrap_err();
    assert!(error.contains("no such method"), "{error}");
    backend.then(Answer::status(503));
    ask(&probe(), &backend).await.unwrap_err();
}

#[tokio::test]
async fn it_asks_for_the_service_by_the_connectors_authority() {
    let backend = Backend::start().await.unwrap();
    backend.always(says(SERVING));
    for (service, message) in [
        ("", &b""[..]),
        ("shop.v1.Orders", b"\x0a\x0eshop.v1.Orders"),
    ] {
        ask(&probe().with_service(service), &backend).await.unwrap();
        let request = backend.requests().pop().unwrap();
        assert_eq!(request.uri.path(), "/grpc.health.v1.Health/Check");
        assert_eq!(request.authority(), Some(SERVICE));
        // Behind the five bytes that frame a message.
        assert_eq!(&request.body[5..], message);
    }
}

#[tokio::test]
async fn each_check_has_a_connection_of_its_own_that_closes() {
    let backend = Backend::start().await.unwrap();
    backend.always(says(SERVING));
    let connector = TonicConnector::new().with_connections_per_instance(8);
    let probe = GrpcHealthProbe::new(connector, SERVICE);
    for n in 1..=3 {
        ask(&probe, &backend).await.unwrap();
        assert_eq!(backend.connections(), n);
        until(|| backend.open_connections() == 0).await;
    }
    backend.always(Behaviour::Hang);
    timeout(Duration::from_millis(200), ask(&probe, &backend))
        .await
        .unwrap_err();
    until(|| backend.open_connections() == 0).await;

    let refused = RefusedAddress::new().unwrap();
    let gone = instance("a", &refused.address().to_string());
    probe.probe(&gone).await.unwrap_err();
}

/// A process that takes connections and says that it does not serve is left out, without one request for it.
#[tokio::test]
async fn a_balancer_leaves_out_who_says_that_it_does_not_serve() {
    let (good, bad) = (
        Backend::start().await.unwrap(),
        Backend::start().await.unwrap(),
    );
    good.always(says(SERVING));
    bad.always(says(2));
    let addresses = [good.address().to_string(), bad.address().to_string()];
    let [a, b] = &addresses;
    let checks = HealthCheckConfig::default()
        .with_times(Duration::from_millis(100), Duration::from_millis(90))
        .and_then(|checks| checks.with_fall(1))
        .unwrap();
    let instances = [instance("good", a), instance("bad", b)];
    let cluster = Cluster::build(instances, |builder| {
        builder
            .with_config(common::config())
            .with_health_check(probe(), checks)
    })
    .await;
    cluster
        .until(|balancer| balancer.status().failing_checks == 1)
        .await;
    let status = cluster.balancer.status();
    assert_eq!((status.usable, status.counters.picks), (1, 0));
    assert!((0..50).all(|n| {
        let request = ringfence_balancer::PickRequest::new();
        let key = format!("key-{n}");
        let decision = cluster.balancer.pick(&request.with_key(&key)).unwrap();
        decision.instance().id().as_str() == "good"
    }));
    bad.always(says(SERVING));
    cluster
        .until(|balancer| balancer.status().usable == 2)
        .await;
}

#[cfg(feature = "tls")]
mod tls {
    use ringfence_testkit::TestCa;
    use tonic::transport::{Certificate, ClientTlsConfig};

    use super::*;

    #[tokio::test]
    async fn it_uses_the_connectors_tls() {
        let ca = TestCa::new().unwrap();
        let identity = ca.server(&[SERVICE]).unwrap();
        let backend = Backend::start_tls(&identity).await.unwrap();
        backend.always(says(SERVING));
        let secure = instance("a", &format!("https://{}", backend.address()));
        let error = probe().probe(&secure).await.unwrap_err();
        assert_eq!(error.to_string(), "the instance cannot be called");

        let ca = Certificate::from_pem(ca.certificate_pem());
        let connector = TonicConnector::new().with_tls(ClientTlsConfig::new().ca_certificate(ca));
        let probe = GrpcHealthProbe::new(connector, SERVICE);
        probe.probe(&secure).await.unwrap();
        assert_eq!(
            backend.requests().pop().unwrap().sni.as_deref(),
            Some(SERVICE)
        );
    }
}
