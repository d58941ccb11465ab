use std::{sync::Arc, time::Duration};

use ringfence_discovery::{DiscoveryError, Document, DocumentWatch, ErrorKind, WatchConfig};
use ringfence_nacos::{NacosConfig, NacosConfigDocument, NacosLogin};
use ringfence_testkit::registry::{Nacos, NacosOptions, RegistryServer as _};
use tokio::time::{Instant, timeout};

use super::support::{config, server, server_with};

async fn publish(nacos: &Nacos, content: &str) {
    let form = format!("dataId=policy&group=DEFAULT_GROUP&content={content}");
    let answer = nacos.request("POST", "/nacos/v1/cs/configs", &form).await;
    assert_eq!(answer.expect("up").0, 200);
}

fn watch(config: NacosConfig) -> DocumentWatch {
    let source = NacosConfigDocument::new(config, "policy").expect("legal");
    DocumentWatch::new(Arc::new(source), &WatchConfig::default())
}

async fn said(watch: &mut DocumentWatch) -> Result<Document, DiscoveryError> {
    timeout(Duration::from_secs(30), watch.next())
        .await
        .expect("in time")
}

/// Waits for this content, whatever fails meanwhile, and says how long that took. Nothing else may be told.
async fn until(watch: &mut DocumentWatch, before: Option<&str>, wanted: Option<&str>) -> Duration {
    let start = Instant::now();
    loop {
        let Ok(document) = said(watch).await else {
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
async fn a_configuration_is_followed_over_changes_deletion_and_outages() {
    let mut nacos = server().await;
    let mut watch = watch(config(&nacos));
    until(&mut watch, None, None).await;
    publish(&nacos, "one").await;
    let took = until(&mut watch, None, Some("one")).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    publish(&nacos, "two").await;
    let took = until(&mut watch, Some("one"), Some("two")).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    let path = "/nacos/v1/cs/configs";
    let form = "dataId=policy&group=DEFAULT_GROUP";
    let answer = nacos.request("DELETE", path, form).await;
    assert_eq!(answer.expect("up").0, 200);
    until(&mut watch, Some("two"), None).await;
    publish(&nacos, "three").await;
    until(&mut watch, None, Some("three")).await;

    nacos.kill().expect("running");
    said(&mut watch).await.expect_err("nobody answers");
    nacos.restart().await.expect("a server");
    publish(&nacos, "four").await;
    let took = until(&mut watch, Some("three"), Some("four")).await;
    assert!(took < Duration::from_secs(6), "{took:?}");
}

#[tokio::test]
async fn a_login_is_needed_where_the_server_wants_one() {
    let nacos = server_with(NacosOptions::default().with_auth()).await;
    publish(&nacos, "one").await;
    let admin = nacos.admin().expect("with auth");
    let login = NacosLogin::new(&*admin.user, &*admin.password);
    let mut logged_in = watch(config(&nacos).with_login(login));
    until(&mut logged_in, None, Some("one")).await;
    publish(&nacos, "two").await;
    let took = until(&mut logged_in, Some("one"), Some("two")).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    let error = said(&mut watch(config(&nacos)))
        .await
        .expect_err("no login");
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
}
