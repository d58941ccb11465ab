//! Documents: what their watch does when a source fails.

use std::{sync::Arc, time::Duration};

use ringfence_discovery::{
    DiscoveryError, Document, DocumentWatch, ErrorKind, StaticDocument, WatchConfig,
};
use ringfence_testkit::ScriptedDocument;
use tokio::time::{Instant, timeout};

const BASE: Duration = Duration::from_millis(100);

fn watch(source: &ScriptedDocument) -> DocumentWatch {
    let config = WatchConfig::default().with_seed(7);
    DocumentWatch::new(Arc::new(source.clone()), &config)
}

pub(crate) fn text(said: Result<Document, DiscoveryError>) -> Option<String> {
    let content = said.expect("no failure").content?;
    Some(String::from_utf8(content.to_vec()).expect("text"))
}

pub(crate) async fn silent(watch: &mut DocumentWatch, time: Duration) {
    let said = timeout(time, watch.next()).await;
    assert!(said.is_err(), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn changes_absence_and_failures_are_told_apart() {
    let source = ScriptedDocument::new();
    let mut watch = watch(&source);
    silent(&mut watch, BASE).await;
    source.put("a");
    let said = watch.next().await.expect("a document");
    assert_eq!(said.revision.map(|r| r.get()), Some(1));
    assert_eq!(said.content.as_deref(), Some(&b"a"[..]));
    source.delete();
    assert_eq!(text(watch.next().await), None);
    source.put("");
    assert_eq!(text(watch.next().await).as_deref(), Some(""));
    source.fail(ErrorKind::Unauthorized);
    let error = watch.next().await.expect_err("told to");
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
    source.put("b");
    assert_eq!(text(watch.next().await).as_deref(), Some("b"));
    assert_eq!((source.opened(), source.open()), (1, 1));
    drop(watch);
    assert_eq!(source.open(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_is_opened_anew_after_a_wait_that_grows() {
    let source = ScriptedDocument::new();
    source.put("a");
    let mut watch = watch(&source);
    let start = Instant::now();
    for n in 1..=20 {
        assert_eq!(text(watch.next().await).as_deref(), Some("a"), "{n}");
        source.end();
        let error = watch.next().await.expect_err("it ended");
        assert_eq!(error.message(), "the watch ended");
        assert_eq!((source.opened(), source.open()), (n, 0));
    }
    let passed = start.elapsed();
    assert!(passed > Duration::from_secs(10), "no storm: {passed:?}");
    assert!(
        passed < Duration::from_secs(60),
        "at most 3 s each: {passed:?}"
    );

    // One that works for a while is a recovery.
    assert_eq!(text(watch.next().await).as_deref(), Some("a"));
    silent(&mut watch, BASE).await;
    source.end();
    watch.next().await.expect_err("it ended");
    let start = Instant::now();
    assert_eq!(text(watch.next().await).as_deref(), Some("a"));
    assert!(start.elapsed() <= BASE + Duration::from_millis(1));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_ends_the_watch_is_told_once() {
    let source = ScriptedDocument::new();
    let mut watch = watch(&source);
    silent(&mut watch, BASE).await;
    source.fail(ErrorKind::Malformed);
    source.end();
    let error = watch.next().await.expect_err("told to");
    assert_eq!(error.kind(), ErrorKind::Malformed);
    source.put("a");
    assert_eq!(text(watch.next().await).as_deref(), Some("a"));
    assert_eq!(source.opened(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_in_a_row_or_panics_is_left_alone_for_a_while() {
    let source = ScriptedDocument::new();
    let mut watch = watch(&source);
    silent(&mut watch, BASE).await;
    source.fail(ErrorKind::Unavailable);
    source.fail(ErrorKind::Unavailable);
    watch.next().await.expect_err("told to");
    watch.next().await.expect_err("told to");
    assert_eq!(source.open(), 0);
    source.set_panicking(true);
    for _ in 0..3 {
        let error = watch.next().await.expect_err("it panics");
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.message().contains("told to panic"), "{error}");
    }
    source.set_panicking(false);
    source.put("a");
    assert_eq!(text(watch.next().await).as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn waiting_can_be_broken_off_anywhere() {
    let source = ScriptedDocument::new();
    source.put("a");
    let mut watch = watch(&source);
    assert_eq!(text(watch.next().await).as_deref(), Some("a"));
    source.end();
    watch.next().await.expect_err("it ended");
    source.put("b");
    let tick = Duration::from_millis(1);
    let mut tries = 0;
    let said = loop {
        tries += 1;
        if let Ok(said) = timeout(tick, watch.next()).await {
            break said;
        }
    };
    assert_eq!(text(said).as_deref(), Some("b"));
    assert!(tries <= 102, "{tries}");
}

#[tokio::test(start_paused = true)]
async fn a_document_that_never_changes_is_told_once() {
    let source = Arc::new(StaticDocument::new("a"));
    let mut watch = DocumentWatch::new(source, &WatchConfig::default());
    assert_eq!(text(watch.next().await).as_deref(), Some("a"));
    silent(&mut watch, Duration::from_secs(3_600)).await;
}

#[test]
fn a_document_is_bounded() {
    let provenance = || ringfence_discovery::Provenance::live("x");
    assert!(Document::new("abc", provenance()).within(3).is_ok());
    assert!(Document::absent(provenance()).within(0).is_ok());
    let error = Document::new("abcd", provenance())
        .within(3)
        .expect_err("4");
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert_eq!(error.to_string(), "x: the document has 4 bytes, over 3");
}
