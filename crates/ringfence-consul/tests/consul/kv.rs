//! A document in the key-value store.

use std::time::Duration;

use futures_util::StreamExt as _;
use ringfence_consul::{Consistency, ConsulConfig, ConsulConfigError, ConsulKv, ConsulToken};
use ringfence_discovery::{BoxStream, DiscoveryError, Document, DocumentSource as _, ErrorKind};
use ringfence_testkit::{Answer, Backend, Behaviour};

use crate::fake::{config, decode, names, query, within};

type Watch = BoxStream<'static, Result<Document, DiscoveryError>>;

fn kv(config: ConsulConfig) -> ConsulKv {
    ConsulKv::new(config, "ringfence/policy").expect("legal")
}

fn entry(index: u64, value: &str) -> Answer {
    let body = format!(
        r#"[{{"LockIndex":0,"Key":"ringfence/policy","Flags":0,"Value":{value},"CreateIndex":1,"ModifyIndex":{index}}}]"#
    );
    Answer::ok(body).header("x-consul-index", &index.to_string())
}

async fn next(watch: &mut Watch) -> Result<Document, DiscoveryError> {
    within(5, watch.next()).await.expect("endless")
}

async fn content(watch: &mut Watch) -> Option<Vec<u8>> {
    let document = next(watch).await.expect("no failure");
    document.content.map(|content| content.to_vec())
}

#[tokio::test]
async fn values_changes_emptiness_and_absence_are_told_apart() {
    let backend = Backend::start().await.expect("a port");
    backend.then(entry(7, r#""YQD/""#));
    backend.then(entry(8, "null"));
    backend.then(Answer::status(404).header("x-consul-index", "9"));
    backend.then(entry(10, r#""Yg==""#));
    let token = ConsulToken::value("s3cr3t");
    let mut watch = kv(config(&backend).with_datacenter("dc2").with_token(token)).watch();
    assert_eq!(backend.connections(), 0, "lazy");
    let first = next(&mut watch).await.expect("a document");
    assert_eq!(first.content.as_deref(), Some(&b"a\x00\xff"[..]));
    assert_eq!(first.revision.map(|r| r.get()), Some(7));
    assert_eq!(content(&mut watch).await, Some(vec![]));
    assert_eq!(content(&mut watch).await, None);
    assert_eq!(content(&mut watch).await, Some(b"b".to_vec()));
    let requests = backend.requests();
    for (request, index) in requests.iter().zip([None, Some("7"), Some("8"), Some("9")]) {
        assert_eq!(request.uri.path(), "/v1/kv/ringfence/policy");
        assert_eq!(query(request, "dc").as_deref(), Some("dc2"));
        assert_eq!(query(request, "index").as_deref(), index);
        assert_eq!(request.header("x-consul-token"), Some("s3cr3t"));
    }
    assert_eq!(names(&requests[0]), ["dc"].into());
}

#[tokio::test]
async fn no_failure_is_a_document_or_its_absence() {
    let other = r#"[{"Key":"ringfence/other","Value":"YQ==","ModifyIndex":7}]"#;
    let two = r#"[{"Key":"ringfence/policy","Value":"YQ==","ModifyIndex":7},{"Key":"ringfence/policy","Value":"YQ==","ModifyIndex":7}]"#;
    for (what, answer, kind) in [
        (
            "a 404 of something else",
            Answer::status(404),
            ErrorKind::Protocol,
        ),
        ("no access", Answer::status(403), ErrorKind::Unauthorized),
        ("a fault", Answer::status(500), ErrorKind::Unavailable),
        ("a page", Answer::ok("<html>"), ErrorKind::Malformed),
        ("no entry", Answer::ok("[]"), ErrorKind::Malformed),
        ("another entry", Answer::ok(other), ErrorKind::Malformed),
        ("two entries", Answer::ok(two), ErrorKind::Malformed),
        ("no base64", entry(7, r#""?""#), ErrorKind::Malformed),
        (
            "no leader",
            entry(7, r#""YQ==""#).header("x-consul-knownleader", "false"),
            ErrorKind::Unavailable,
        ),
        (
            "no leader, none",
            Answer::status(404)
                .header("x-consul-index", "7")
                .header("x-consul-knownleader", "false"),
            ErrorKind::Unavailable,
        ),
        ("too large", entry(7, r#""YWFhYWE=""#), ErrorKind::Malformed),
    ] {
        let backend = Backend::start().await.expect("a port");
        backend.always(answer);
        let mut watch = kv(config(&backend)).with_max_bytes(4).watch();
        let error = next(&mut watch).await.expect_err(what);
        assert_eq!(error.kind(), kind, "{what}: {error}");
        assert!(within(5, watch.next()).await.is_none(), "{what}: it ends");
    }
}

#[tokio::test]
async fn an_index_that_goes_back_is_asked_anew_and_then_believed() {
    let backend = Backend::start().await.expect("a port");
    backend.then(entry(70, r#""YQ==""#));
    backend.then(entry(7, r#""Yg==""#));
    backend.then(entry(7, r#""Yg==""#));
    let config = config(&backend).with_consistency(Consistency::Stale);
    let mut watch = kv(config).watch();
    assert_eq!(content(&mut watch).await, Some(b"a".to_vec()));
    assert_eq!(content(&mut watch).await, Some(b"b".to_vec()));
    let requests = backend.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(names(&requests[2]), [].into(), "of the leader, at once");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_always_answers_at_once_is_asked_a_few_times_a_second() {
    let backend = Backend::start().await.expect("a port");
    backend.always(entry(7, r#""YQ==""#));
    let config = config(&backend).with_poll_interval(Duration::from_millis(500));
    let source = kv(config);
    let asking = async {
        loop {
            let mut watch = source.watch();
            for _ in 0..3 {
                next(&mut watch).await.expect("a document");
            }
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(20), asking).await;
    let asked = backend.request_count();
    assert!((30..=50).contains(&asked), "{asked} in 20 s");
}

#[tokio::test]
async fn a_watch_that_is_dropped_frees_its_socket() {
    let backend = Backend::start().await.expect("a port");
    backend.then(entry(7, r#""YQ==""#));
    backend.always(Behaviour::Hang);
    let source = kv(config(&backend));
    let mut watch = source.watch();
    next(&mut watch).await.expect("a document");
    let waiting = tokio::time::timeout(Duration::from_millis(100), next(&mut watch));
    assert!(waiting.await.is_err());
    drop(watch);
    within(3, backend.until(|b| b.open_connections() == 0)).await;
}

#[tokio::test]
async fn keys_arrive_as_they_are_or_are_refused() {
    for key in ["a b", "ü/x", "100%25/a?b#c", "a+b&c=d"] {
        let backend = Backend::start().await.expect("a port");
        backend.always(Answer::status(404).header("x-consul-index", "7"));
        let source = ConsulKv::new(config(&backend), key).expect(key);
        assert_eq!(source.key(), key);
        assert_eq!(content(&mut source.watch()).await, None);
        let path = backend.requests()[0].uri.path().to_owned();
        let path = path
            .strip_prefix("/v1/kv/")
            .expect("of the API")
            .replace('+', "%2B");
        assert_eq!(decode(&path), key);
    }
    for key in ["", "/a", "a/", "a//b", ".", "a/../b", "a\nb"] {
        let error = ConsulKv::new(ConsulConfig::new("http://127.0.0.1:1"), key);
        assert!(
            matches!(error, Err(ConsulConfigError::Key { .. })),
            "{key:?}"
        );
    }
}
