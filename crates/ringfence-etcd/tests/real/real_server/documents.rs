use ringfence_discovery::ErrorKind;
use ringfence_etcd::EtcdKey;
use ringfence_testkit::{
    DocumentFollower,
    registry::{Etcd, RegistryServer as _},
};

use super::*;

const KEY: &str = "/ringfence/policy";

fn follow(config: EtcdConfig) -> DocumentFollower {
    DocumentFollower::new(EtcdKey::new(config, KEY).expect("legal"))
}

#[tokio::test]
async fn a_key_is_followed_over_changes_deletion_and_outages() {
    let mut etcd = Etcd::start().await.expect("etcd");
    let mut policy = follow(EtcdConfig::new([etcd.url()]));
    policy.until(None).await;
    etcd.put("/ringfence/policy2", "no").await.expect("put");
    etcd.put("/ringfence/policy/a", "no").await.expect("put");
    etcd.put(KEY, b"\xff\x00").await.expect("put");
    let took = policy.until(Some(b"\xff\x00")).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    etcd.put(KEY, "").await.expect("put");
    policy.until(Some(b"")).await;
    etcd.delete(KEY).await.expect("delete");
    policy.until(None).await;
    etcd.put(KEY, "a").await.expect("put");
    policy.until(Some(b"a")).await;

    etcd.kill().expect("running");
    policy.next().await.expect_err("nobody answers");
    etcd.restart().await.expect("etcd");
    etcd.put(KEY, "b").await.expect("put");
    let took = policy.until(Some(b"b")).await;
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn the_right_to_read_suffices_and_none_is_an_error() {
    let mut etcd = Etcd::start().await.expect("etcd");
    etcd.put(KEY, "a").await.expect("put");
    etcd.enable_auth().await.expect("auth");
    let reader = etcd.user(KEY, false).await.expect("a user");
    let config = || EtcdConfig::new([etcd.url()]);
    let mut reading = follow(config().with_user(&reader.user, &reader.password));
    reading.until(Some(b"a")).await;
    let stranger = etcd.user("/elsewhere/", false).await.expect("a user");
    let mut denied = follow(config().with_user(&stranger.user, &stranger.password));
    let error = denied.next().await.expect_err("another's");
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
}
