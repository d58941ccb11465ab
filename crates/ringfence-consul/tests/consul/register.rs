//! What the registrar writes, and when.

use std::time::Duration;

use ringfence_consul::{ConsulRegisterConfig, ConsulRegistrar, ConsulToken, KeyNamespace};
use ringfence_core::Instance;
use ringfence_discovery::{ErrorKind, Registrar as _, ServiceKey};
use ringfence_testkit::{Answer, Backend, Behaviour};
use tokio::time::sleep;

use crate::fake::{config, key, query, within};

fn registrar(config: ringfence_consul::ConsulConfig) -> ConsulRegistrar {
    let register = ConsulRegisterConfig::default().with_ttl(Duration::from_secs(1));
    ConsulRegistrar::new(config, register).expect("legal")
}

fn instance() -> Instance {
    let builder = Instance::builder("a/b c", "10.0.0.1:80").weight(300);
    builder.build().expect("legal")
}

fn paths(backend: &Backend) -> Vec<String> {
    let requests = backend.requests();
    let short = |path: &str| path.trim_start_matches("/v1/agent/").to_owned();
    requests.iter().map(|r| short(r.uri.path())).collect()
}

const PUT: [&str; 3] = [
    "service/register",
    "check/deregister/service:order:a/b%20c:health",
    "service/maintenance/order:a/b%20c",
];
const BEAT: &str = "check/pass/service:order:a/b%20c";

#[tokio::test]
async fn the_definition_and_its_heartbeats_arrive() {
    let backend = Backend::start().await.expect("a port");
    let scoped = config(&backend)
        .with_token(ConsulToken::value("s3cr3t"))
        .with_partition("p")
        .with_key_namespace(KeyNamespace::Namespace);
    let service = key().with_namespace("n");
    let registration = registrar(scoped).register(&service, instance()).await;
    let registration = registration.expect("registered");
    assert_eq!(paths(&backend), PUT);
    let requests = backend.requests();
    for request in &requests {
        assert_eq!(request.method, "PUT");
        assert_eq!(request.header("x-consul-token"), Some("s3cr3t"));
        assert_eq!(query(request, "ns").as_deref(), Some("n"));
        assert_eq!(query(request, "partition").as_deref(), Some("p"));
    }
    assert_eq!(query(&requests[2], "enable").as_deref(), Some("false"));
    let body: serde_json::Value = serde_json::from_slice(&requests[0].body).expect("JSON");
    let expected = serde_json::json!({
        "ID": "order:a/b c", "Name": "order", "Address": "10.0.0.1", "Port": 80, "Tags": [],
        "Meta": { "ringfence-id": "a/b c", "weight": "300" },
        "Weights": { "Passing": 3, "Warning": 3 },
        "Checks": [{
            "CheckID": "service:order:a/b c", "Name": "heartbeat", "TTL": "1000ms", "Status": "passing",
            "DeregisterCriticalServiceAfter": "120000ms",
        }],
    });
    assert_eq!(body, expected);

    sleep(Duration::from_millis(1_500)).await;
    let beats = paths(&backend).split_off(3);
    assert!((4..=6).contains(&beats.len()), "{} in 1.5 s", beats.len());
    assert!(beats.iter().all(|path| path == BEAT), "{beats:?}");

    registration.drain().await.expect("drained");
    let drained = paths(&backend).split_off(3 + beats.len());
    assert_eq!(drained.iter().filter(|path| **path != BEAT).count(), 3);
    let requests = backend.requests();
    let last = requests
        .iter()
        .rfind(|r| r.uri.path().contains("maintenance"));
    let enabled = last.and_then(|request| query(request, "enable"));
    assert_eq!(enabled.as_deref(), Some("true"));

    registration.deregister().await.expect("taken out");
    let count = backend.request_count();
    let last = paths(&backend).pop();
    assert_eq!(last.as_deref(), Some("service/deregister/order:a/b%20c"));
    sleep(Duration::from_millis(700)).await;
    assert_eq!(backend.request_count(), count, "no heartbeat follows");
}

#[tokio::test]
async fn what_the_agent_forgot_is_put_again() {
    for unknown in [
        Answer::status(500).chunk("CheckID \"service:a\" does not have associated TTL"),
        Answer::status(404)
            .chunk("Unknown check ID \"service:a\". Ensure that the check ID is passed."),
    ] {
        let backend = Backend::start().await.expect("a port");
        for _ in 0..3 {
            backend.then(Answer::ok(""));
        }
        backend.then(unknown);
        let registration = registrar(config(&backend)).register(&key(), instance());
        let registration = registration.await.expect("registered");
        within(5, backend.until(|b| b.request_count() >= 7)).await;
        assert_eq!(paths(&backend)[3], BEAT);
        assert_eq!(paths(&backend)[4..7], PUT);
        assert!(registration.state().is_registered());
    }
}

#[tokio::test]
async fn other_failures_are_no_reason_to_put_again() {
    let backend = Backend::start().await.expect("a port");
    for _ in 0..3 {
        backend.then(Answer::ok(""));
    }
    for bad in [
        Answer::status(500).chunk("No cluster leader"),
        Answer::status(404).chunk("404 page not found"),
        Answer::status(429),
    ] {
        backend.then(bad);
    }
    let registration = registrar(config(&backend)).register(&key(), instance());
    let registration = registration.await.expect("registered");
    within(5, backend.until(|b| b.request_count() >= 7)).await;
    assert!(paths(&backend)[3..].iter().all(|path| path == BEAT));
    within(
        2,
        registration.watch().wait_for(|state| state.is_registered()),
    )
    .await
    .expect("alive");
}

#[tokio::test]
async fn a_check_or_a_service_that_is_gone_is_taken_out() {
    let backend = Backend::start().await.expect("a port");
    backend.then(Answer::ok(""));
    backend.then(Answer::status(404).chunk("Unknown check ID \"x\""));
    backend.then(Answer::ok(""));
    backend.then(Answer::status(404).chunk("Unknown service ID \"x\""));
    let registration = registrar(config(&backend)).register(&key(), instance());
    let registration = registration.await.expect("registered");
    registration.deregister().await.expect("not there");
}

#[tokio::test]
async fn a_hanging_agent_neither_blocks_nor_is_believed() {
    let backend = Backend::start().await.expect("a port");
    for _ in 0..3 {
        backend.then(Answer::ok(""));
    }
    backend.then(Behaviour::Hang);
    let registration = registrar(config(&backend)).register(&key(), instance());
    let registration = registration.await.expect("registered");
    let mut state = registration.watch();
    within(3, state.wait_for(|state| !state.is_registered()))
        .await
        .expect("alive");
    within(3, state.wait_for(|state| state.is_registered()))
        .await
        .expect("alive");
}

#[tokio::test]
async fn what_no_agent_can_hold_is_refused() {
    let backend = Backend::start().await.expect("a port");
    let registrar = registrar(config(&backend));
    let elsewhere = key().with_namespace("dc2");
    let nameless = ServiceKey::new("..");
    for service in [elsewhere, nameless] {
        let error = registrar.register(&service, instance()).await;
        assert_eq!(error.expect_err("refused").kind(), ErrorKind::Config);
    }
    assert_eq!(backend.connections(), 0);
}
