use std::{sync::Arc, time::Duration};

use ringfence_consul::{ConsulConfig, ConsulKv, ConsulToken};
use ringfence_discovery::{DiscoveryError, Document, DocumentWatch, ErrorKind, WatchConfig};
use ringfence_testkit::registry::{Consul, ConsulOptions, RegistryServer as _};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

const PATH: &str = "/v1/kv/ringfence/a%20policy";

async fn put(consul: &Consul, value: Value) {
    let (status, answer) = consul.request("PUT", PATH, value).await.expect("up");
    assert_eq!(status, 200, "{answer}");
}

fn watch(config: ConsulConfig) -> DocumentWatch {
    let source = ConsulKv::new(config, "ringfence/a policy").expect("legal");
    DocumentWatch::new(Arc::new(source), &WatchConfig::default())
}

async fn next(watch: &mut DocumentWatch) -> Result<Document, DiscoveryError> {
    timeout(Duration::from_secs(20), watch.next())
        .await
        .expect("in time")
}

/// Waits for this content, whatever fails meanwhile, and says how long that took. Nothing else may be told.
async fn until(watch: &mut DocumentWatch, before: Option<&str>, wanted: Option<&str>) -> Duration {
    let start = Instant::now();
    loop {
        let Ok(document) = next(watch).await else {
            continue;
        };
        let content = document.content.as_deref();
        if content == wanted.map(str::as_bytes) {
            return start.elapsed();
        }
        assert_eq!(content, before.map(str::as_bytes), "an error is no change");
    }
}

#[tokio::test]
async fn a_key_is_followed_over_changes_deletion_and_outages() {
    let mut consul = Consul::start().await.expect("a server");
    let mut watch = watch(ConsulConfig::new(consul.url()));
    until(&mut watch, None, None).await;
    put(&consul, json!(1)).await;
    let took = until(&mut watch, None, Some("1")).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    put(&consul, json!(2)).await;
    let took = until(&mut watch, Some("1"), Some("2")).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    let (status, _) = consul
        .request("DELETE", PATH, Value::Null)
        .await
        .expect("up");
    assert_eq!(status, 200);
    until(&mut watch, Some("2"), None).await;
    put(&consul, json!(3)).await;
    until(&mut watch, None, Some("3")).await;

    consul.kill().expect("running");
    next(&mut watch).await.expect_err("nobody answers");
    consul.restart().await.expect("a server");
    put(&consul, json!(4)).await;
    let took = until(&mut watch, Some("3"), Some("4")).await;
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
    let mut reading = watch(config().with_token(ConsulToken::value(&token)));
    until(&mut reading, None, Some("1")).await;
    let error = next(&mut watch(config())).await.expect_err("no token");
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
}
