use std::time::Duration;

use ringfence_consul::{ConsulConfig, ConsulKv, ConsulToken};
use ringfence_discovery::ErrorKind;
use ringfence_testkit::{
    DocumentFollower,
    registry::{Consul, ConsulOptions, RegistryServer as _},
};
use serde_json::{Value, json};

const PATH: &str = "/v1/kv/ringfence/a%20policy";

async fn put(consul: &Consul, value: Value) {
    let (status, answer) = consul.request("PUT", PATH, value).await.expect("up");
    assert_eq!(status, 200, "{answer}");
}

fn follow(config: ConsulConfig) -> DocumentFollower {
    DocumentFollower::new(ConsulKv::new(config, "ringfence/a policy").expect("legal"))
}

#[tokio::test]
async fn a_key_is_followed_over_changes_deletion_and_outages() {
    let mut consul = Consul::start().await.expect("a server");
    let mut policy = follow(ConsulConfig::new(consul.url()));
    policy.until(None).await;
    put(&consul, json!(1)).await;
    let took = policy.until(Some(b"1")).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    put(&consul, json!(2)).await;
    let took = policy.until(Some(b"2")).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    let (status, _) = consul
        .request("DELETE", PATH, Value::Null)
        .await
        .expect("up");
    assert_eq!(status, 200);
    policy.until(None).await;
    put(&consul, json!(3)).await;
    policy.until(Some(b"3")).await;

    consul.kill().expect("running");
    policy.next().await.expect_err("nobody answers");
    consul.restart().await.expect("a server");
    put(&consul, json!(4)).await;
    let took = policy.until(Some(b"4")).await;
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn a_token_that_may_read_the_key_suffices_and_none_is_an_error() {
    let consul = Consul::start_with(ConsulOptions::default().with_acl()).await;
    let consul = consul.expect("a server");
    put(&consul, json!(1)).await;
    let rules = r#"key "ringfence/a policy" { policy = "read" }"#;
    let token = consul.token(rules).await.expect("a token");
    let config = || ConsulConfig::new(consul.url());
    let mut reading = follow(config().with_token(ConsulToken::value(&token)));
    reading.until(Some(b"1")).await;
    let error = follow(config()).next().await.expect_err("no token");
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
}
