//! A document under one key.

use ringfence_discovery::{Document, DocumentSource as _, ErrorKind};
use ringfence_etcd::{EtcdConfigError, EtcdKey};

use super::{server::*, *};

const KEY: &str = "/ringfence/policy";

type Documents = BoxStream<'static, Result<Document, DiscoveryError>>;

fn source(etcd: &FakeEtcd) -> EtcdKey {
    EtcdKey::new(config(&[etcd]), KEY).expect("legal")
}

async fn said(watch: &mut Documents) -> Result<Document, DiscoveryError> {
    let said = tokio::time::timeout(Duration::from_secs(5), watch.next());
    said.await.expect("in time").expect("endless")
}

/// The first content that differs from this one.
async fn after(watch: &mut Documents, before: Option<&[u8]>) -> Option<Vec<u8>> {
    loop {
        let document = said(watch).await.expect("no failure");
        if document.content.as_deref() != before {
            return document.content.map(|content| content.to_vec());
        }
    }
}

#[tokio::test]
async fn a_key_is_followed_and_its_neighbours_are_not() {
    let etcd = FakeEtcd::start().await;
    etcd.put("/ringfence/policy2", "no");
    etcd.put("/ringfence/policy/a", "no");
    let mut watch = source(&etcd).watch();
    assert_eq!(etcd.open_watches(), 0, "lazy");
    assert_eq!(said(&mut watch).await.expect("an answer").content, None);
    etcd.put(KEY, "a");
    assert_eq!(after(&mut watch, None).await.as_deref(), Some(&b"a"[..]));
    etcd.put("/ringfence/policy2", "never");
    etcd.put(KEY, String::new());
    let empty = after(&mut watch, Some(b"a")).await;
    assert_eq!(empty.as_deref(), Some(&b""[..]), "empty is no absence");
    etcd.delete(KEY);
    assert_eq!(after(&mut watch, Some(b"")).await, None);
    etcd.put(KEY, "b");
    let document = loop {
        let document = said(&mut watch).await.expect("no failure");
        if document.content.is_some() {
            break document;
        }
    };
    let put_at = etcd.with(|state| state.revision);
    assert_eq!(
        document.revision.map(|r| r.get()),
        u64::try_from(put_at).ok()
    );
    // Another key moves the store on, and not the document.
    etcd.put("/elsewhere", "x");
    let again = said(&mut watch).await.expect("a sign of life");
    assert_eq!(again, document);
}

#[tokio::test]
async fn compaction_and_silence_lead_to_a_new_reading() {
    let etcd = FakeEtcd::start().await;
    etcd.put(KEY, "a");
    let source = source(&etcd);
    let mut watch = source.watch();
    assert_eq!(after(&mut watch, None).await.as_deref(), Some(&b"a"[..]));
    etcd.with(|state| state.on_watch.push_back(OnWatch::Compacted));
    etcd.delete(KEY);
    assert_eq!(after(&mut watch, Some(b"a")).await, None);

    etcd.with(|state| state.on_watch.push_back(OnWatch::Silent));
    let mut watch = source.watch();
    assert_eq!(said(&mut watch).await.expect("a reading").content, None);
    let error = said(&mut watch).await.expect_err("silence");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn a_document_that_is_too_large_is_an_error_and_no_part_of_it() {
    let etcd = FakeEtcd::start().await;
    etcd.put(KEY, "12345");
    let source = source(&etcd).with_max_bytes(4);
    let mut watch = source.watch();
    let error = said(&mut watch).await.expect_err("5 bytes");
    assert_eq!(error.kind(), ErrorKind::Malformed);
    etcd.put(KEY, "1234");
    let mut watch = source.watch();
    assert_eq!(after(&mut watch, None).await.as_deref(), Some(&b"1234"[..]));
    etcd.put(KEY, "12345");
    let error = loop {
        if let Err(error) = said(&mut watch).await {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::Malformed);
}

#[tokio::test]
async fn the_watch_ends_with_the_stream() {
    let etcd = FakeEtcd::start().await;
    let source = source(&etcd);
    let mut watch = source.watch();
    said(&mut watch).await.expect("an answer");
    etcd.put(KEY, "a");
    after(&mut watch, None).await;
    assert_eq!(etcd.open_watches(), 1);
    drop(watch);
    let end = tokio::time::Instant::now() + Duration::from_secs(5);
    while etcd.open_watches() > 0 {
        assert!(tokio::time::Instant::now() < end, "it stays open");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let refused = EtcdKey::new(config(&[&etcd]), "");
    assert!(matches!(refused, Err(EtcdConfigError::Range { .. })));
}
