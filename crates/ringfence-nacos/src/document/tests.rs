use futures_util::StreamExt as _;
use ringfence_discovery::ErrorKind;
use ringfence_testkit::{Answer, Backend, Behaviour};

use super::*;
use crate::NacosLogin;

type Watch = BoxStream<'static, Result<Document, DiscoveryError>>;

const A: &str = "0cc175b9c0f1b6a831c399e269772661";

fn source(servers: &[&Backend]) -> NacosConfigDocument {
    let servers = servers.iter().map(|server| server.address().to_string());
    let config = NacosConfig::new(servers).expect("legal");
    NacosConfigDocument::new(config, "policy").expect("legal")
}

fn a() -> Answer {
    Answer::ok("a").header("content-md5", A)
}

fn absent() -> Answer {
    Answer::status(404).chunk("config data not exist\n")
}

async fn next(watch: &mut Watch) -> Result<Document, DiscoveryError> {
    let next = tokio::time::timeout(Duration::from_secs(20), watch.next());
    next.await.expect("in time").expect("endless")
}

async fn content(watch: &mut Watch) -> Option<Vec<u8>> {
    let document = next(watch).await.expect("no failure");
    document.content.map(|content| content.to_vec())
}

#[tokio::test]
async fn an_announcement_only_makes_the_document_be_read() {
    let backend = Backend::start().await.expect("a port");
    backend.then(absent());
    backend.then(Answer::ok("policy%02SHOP%01"));
    backend.then(a());
    backend.then(Answer::ok(""));
    backend.then(a());
    let servers = [backend.address().to_string()];
    let config = NacosConfig::new(servers).expect("legal");
    let config = config
        .with_group("SHOP")
        .and_then(|c| c.with_namespace("prod"));
    let source = NacosConfigDocument::new(config.expect("legal"), "policy").expect("legal");
    let mut watch = source.watch();
    assert_eq!(backend.connections(), 0, "lazy");
    assert_eq!(content(&mut watch).await, None);
    assert_eq!(content(&mut watch).await.as_deref(), Some(&b"a"[..]));
    assert_eq!(content(&mut watch).await.as_deref(), Some(&b"a"[..]));
    let requests = backend.requests();
    for read in [0, 2, 4] {
        let uri = &requests[read].uri;
        assert_eq!(uri.path(), "/nacos/v1/cs/configs");
        assert_eq!(uri.query(), Some("dataId=policy&group=SHOP&tenant=prod"));
    }
    for (poll, digest) in [(1, ""), (3, A)] {
        assert_eq!(requests[poll].uri.path(), "/nacos/v1/cs/configs/listener");
        assert_eq!(requests[poll].header("long-pulling-timeout"), Some("10000"));
        let body = String::from_utf8(requests[poll].body.to_vec()).expect("text");
        let listened = format!("Listening-Configs=policy%02SHOP%02{digest}%02prod%01");
        assert_eq!(body, listened);
    }
}

#[tokio::test]
async fn no_failure_is_a_document_or_its_absence() {
    for (what, answer, kind) in [
        (
            "a 404 of something else",
            Answer::status(404),
            ErrorKind::Protocol,
        ),
        ("no access", Answer::status(403), ErrorKind::Unauthorized),
        ("a fault", Answer::status(500), ErrorKind::Unavailable),
        ("a redirect", Answer::status(302), ErrorKind::Protocol),
        ("too large", Answer::ok("12345"), ErrorKind::Malformed),
    ] {
        let backend = Backend::start().await.expect("a port");
        backend.always(answer);
        let mut watch = source(&[&backend]).with_max_bytes(4).watch();
        let error = next(&mut watch).await.expect_err(what);
        assert_eq!(error.kind(), kind, "{what}: {error}");
        assert!(watch.next().await.is_none(), "{what}: it ends");
    }
}

#[tokio::test]
async fn a_server_that_fails_is_left_for_another() {
    let good = Backend::start().await.expect("a port");
    let bad = Backend::start().await.expect("a port");
    good.always(a());
    bad.always(Answer::status(500));
    for _ in 0..10 {
        let mut watch = source(&[&good, &bad]).watch();
        assert_eq!(content(&mut watch).await.as_deref(), Some(&b"a"[..]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_announces_without_end_or_cannot_be_listened_to_is_not_hammered() {
    for digest in [A, "none"] {
        let backend = Backend::start().await.expect("a port");
        backend.always(Answer::ok("a").header("content-md5", digest));
        let mut watch = source(&[&backend]).watch();
        let asking = async {
            loop {
                next(&mut watch).await.expect("a document");
            }
        };
        let asking: Result<(), _> = tokio::time::timeout(Duration::from_secs(20), asking).await;
        assert!(asking.is_err());
        let asked = backend.request_count();
        assert!((15..=85).contains(&asked), "{digest}: {asked} in 20 s");
    }
}

#[tokio::test]
async fn a_watch_that_is_dropped_frees_its_socket() {
    let backend = Backend::start().await.expect("a port");
    backend.then(a());
    backend.always(Behaviour::Hang);
    let mut watch = source(&[&backend]).watch();
    content(&mut watch).await;
    let waiting = tokio::time::timeout(Duration::from_millis(100), next(&mut watch));
    assert!(waiting.await.is_err());
    drop(watch);
    let freed = backend.until(|backend| backend.open_connections() == 0);
    let freed = tokio::time::timeout(Duration::from_secs(5), freed).await;
    assert!(freed.is_ok(), "it stays open");
}

#[tokio::test]
async fn the_token_goes_into_a_header_and_no_text() {
    let backend = Backend::start().await.expect("a port");
    backend.then(Answer::ok(r#"{"accessToken":"t0ken","tokenTtl":600}"#));
    backend.then(a());
    backend.then(Answer::status(403));
    backend.always(Answer::status(403));
    let config = NacosConfig::new([backend.address().to_string()]).expect("legal");
    let config = config.with_login(NacosLogin::new("reader", "s3cr3t"));
    let source = NacosConfigDocument::new(config, "policy").expect("legal");
    assert!(!format!("{source:?}").contains("s3cr3t"));
    let mut watch = source.watch();
    content(&mut watch).await;
    let error = next(&mut watch).await.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
    assert!(!format!("{error:?} {error}").contains("t0ken"));
    let requests = backend.requests();
    assert_eq!(requests[1].header("accesstoken"), Some("t0ken"));
    assert!(!requests.iter().any(|r| r.uri.to_string().contains("t0ken")));
}

#[test]
fn data_ids_that_would_be_another_question_are_refused() {
    let config = NacosConfig::new(["127.0.0.1:9"]).expect("legal");
    for bad in ["", "a\u{2}b", "a\u{1}", "a&b", "../a"] {
        let refused = NacosConfigDocument::new(config.clone(), bad);
        assert!(refused.is_err(), "{bad:?}");
    }
}
