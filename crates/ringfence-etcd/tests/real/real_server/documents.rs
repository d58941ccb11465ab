use ringfence_discovery::{DiscoveryError, Document, DocumentWatch, ErrorKind};
use ringfence_etcd::EtcdKey;
use ringfence_testkit::registry::{Etcd, RegistryServer as _};

use super::*;

const KEY: &str = "/ringfence/policy";

fn watch(config: EtcdConfig) -> DocumentWatch {
    let source = EtcdKey::new(config, KEY).expect("legal");
    DocumentWatch::new(Arc::new(source), &WatchConfig::default())
}

async fn said(watch: &mut DocumentWatch) -> Result<Document, DiscoveryError> {
    timeout(PATIENCE, watch.next()).await.expect("in time")
}

/// Waits for this content, whatever fails meanwhile, and says how long that took. Nothing else may be told.
async fn reached(
    watch: &mut DocumentWatch,
    before: Option<&[u8]>,
    wanted: Option<&[u8]>,
) -> Duration {
    let start = Instant::now();
    loop {
        let Ok(document) = said(watch).await else {
            continue;
        };
        let content = document.content.as_deref();
        if content == wanted {
            return start.elapsed();
        }
        assert_eq!(content, before, "an error is no change");
    }
}

#[tokio::test]
async fn a_key_is_followed_over_changes_deletion_and_outages() {
    let mut etcd = Etcd::start().await.expect("etcd");
    let mut watch = watch(EtcdConfig::new([etcd.url()]));
    reached(&mut watch, None, None).await;
    etcd.put("/ringfence/policy2", "no").await.expect("put");
    etcd.put("/ringfence/policy/a", "no").await.expect("put");
    etcd.put(KEY, b"\xff\x00").await.expect("put");
    let took = reached(&mut watch, None, Some(b"\xff\x00")).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    etcd.put(KEY, "").await.expect("put");
    reached(&mut watch, Some(b"\xff\x00"), Some(b"")).await;
    etcd.delete(KEY).await.expect("delete");
    reached(&mut watch, Some(b""), None).await;
    etcd.put(KEY, "a").await.expect("put");
    reached(&mut watch, None, Some(b"a")).await;

    etcd.kill().expect("running");
    said(&mut watch).await.expect_err("nobody answers");
    etcd.restart().await.expect("etcd");
    etcd.put(KEY, "b").await.expect("put");
    let took = reached(&mut watch, Some(b"a"), Some(b"b")).await;
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn the_right_to_read_suffices_and_none_is_an_error() {
    let mut etcd = Etcd::start().await.expect("etcd");
    etcd.put(KEY, "a").await.expect("put");
    etcd.enable_auth().await.expect("auth");
    let reader = etcd.user(KEY, false).await.expect("a user");
    let config = || EtcdConfig::new([etcd.url()]);
    let mut reading = watch(config().with_user(&reader.user, &reader.password));
    reached(&mut reading, None, Some(b"a")).await;
    let stranger = etcd.user("/elsewhere/", false).await.expect("a user");
    let mut denied = watch(config().with_user(&stranger.user, &stranger.password));
    let error = said(&mut denied).await.expect_err("another's");
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
}
