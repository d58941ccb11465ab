//! `HttpProbe` against real servers on loopback.
#![cfg(feature = "hyper")]
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::error::Error as _;
use std::time::Duration;

use common::{instance, until};
use http::HeaderValue;
use ringfence_balancer::Probe as _;
use ringfence_testkit::{Answer, Backend, Behaviour, OnConnect, RefusedAddress};
use ringfence_tower::HttpProbe;
use tokio::time::timeout;

async fn ask(probe: &HttpProbe, backend: &Backend) -> Result<(), String> {
    let instance = instance("a", &backend.address().to_string());
    probe
        .probe(&instance)
        .await
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn the_status_decides() {
    let backend = Backend::start().await.unwrap();
    let probe = HttpProbe::new("/healthz?deep=1").unwrap();
    for (status, passes) in [
        (200, true),
        (204, true),
        (299, true),
        (300, false),
        (503, false),
    ] {
        backend.then(Answer::status(status));
        let wanted = if passes {
            Ok(())
        } else {
            Err(format!("status {status}"))
        };
        assert_eq!(ask(&probe, &backend).await, wanted);
    }
    let probe = probe.with_statuses(401..=401).unwrap();
    backend.then(Answer::status(401));
    assert_eq!(ask(&probe, &backend).await, Ok(()));

    let request = backend.requests().pop().unwrap();
    let address = backend.address().to_string();
    assert_eq!(request.method, http::Method::GET);
    assert_eq!(request.uri.path_and_query().unwrap(), "/healthz?deep=1");
    assert_eq!(request.host(), Some(&*address));
    let probe = probe.with_host(HeaderValue::from_static("shop.example"));
    ask(&probe, &backend).await.unwrap_err();
    assert_eq!(
        backend.requests().pop().unwrap().host(),
        Some("shop.example")
    );
}

#[tokio::test]
async fn each_check_has_a_connection_of_its_own_that_closes() {
    let backend = Backend::start().await.unwrap();
    let probe = HttpProbe::new("/").unwrap();
    for n in 1..=3 {
        backend.then(Answer::ok("alive"));
        ask(&probe, &backend).await.unwrap();
        assert_eq!(backend.connections(), n);
        until(|| backend.open_connections() == 0).await;
    }
    // One that is given up closes, too.
    backend.then(Behaviour::Hang);
    timeout(Duration::from_millis(200), ask(&probe, &backend))
        .await
        .unwrap_err();
    until(|| backend.open_connections() == 0).await;
}

#[tokio::test]
async fn what_is_no_answer_fails_with_its_cause() {
    let probe = HttpProbe::new("/").unwrap();
    let refused = RefusedAddress::new().unwrap();
    let gone = instance("a", &refused.address().to_string());
    let error = probe.probe(&gone).await.unwrap_err();
    assert!(error.source().is_some(), "{error}");

    let backend = Backend::start().await.unwrap();
    for broken in [OnConnect::Close, OnConnect::Reset] {
        backend.then_on_connect(broken);
        ask(&probe, &backend).await.unwrap_err();
    }
    let secure = instance("a", &format!("https://{}", backend.address()));
    let error = probe.probe(&secure).await.unwrap_err();
    assert!(error.to_string().contains("TLS"), "{error}");
}

#[tokio::test]
async fn a_port_for_health_can_be_another() {
    let backend = Backend::start().await.unwrap();
    backend.always(Answer::ok(""));
    let elsewhere = instance("a", "https://127.0.0.1:1");
    let probe = HttpProbe::new("/").unwrap();
    probe.probe(&elsewhere).await.unwrap_err();
    let probe = probe.with_port(backend.address().port());
    probe.probe(&elsewhere).await.unwrap();
    let host = backend.requests().pop().unwrap();
    assert_eq!(host.host(), Some(&*backend.address().to_string()));
}

#[test]
fn paths_and_statuses_are_checked() {
    for path in ["", "healthz", "http://a/", "/a b", "/\u{7f}"] {
        let error = HttpProbe::new(path).unwrap_err();
        assert_eq!(error.field(), "path", "{path:?}");
    }
    let probe = || HttpProbe::new("/").unwrap();
    assert!(probe().with_statuses(100..=999).is_ok());
    #[expect(clippy::reversed_empty_ranges, reason = "that is the fault")]
    let wrong = [99..=200, 200..=1_000, 300..=200];
    for statuses in wrong {
        assert!(
            probe().with_statuses(statuses.clone()).is_err(),
            "{statuses:?}"
        );
    }
}
