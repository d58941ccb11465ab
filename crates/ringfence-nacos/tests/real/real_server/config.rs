use std::time::Duration;

use ringfence_discovery::ErrorKind;
use ringfence_nacos::{NacosConfig, NacosConfigDocument, NacosLogin};
use ringfence_testkit::{
    DocumentFollower,
    registry::{Nacos, NacosOptions, RegistryServer as _},
};

use super::support::{config, server, server_with};

async fn publish(nacos: &Nacos, content: &str) {
    let form = format!("dataId=policy&group=DEFAULT_GROUP&content={content}");
    let answer = nacos.request("POST", "/nacos/v1/cs/configs", &form).await;
    assert_eq!(answer.expect("up").0, 200);
}

fn follow(config: NacosConfig) -> DocumentFollower {
    DocumentFollower::new(NacosConfigDocument::new(config, "policy").expect("legal"))
}

#[tokio::test]
async fn a_configuration_is_followed_over_changes_deletion_and_outages() {
    let mut nacos = server().await;
    let mut policy = follow(config(&nacos));
    policy.until(None).await;
    publish(&nacos, "one").await;
    let took = policy.until(Some(b"one")).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    publish(&nacos, "two").await;
    let took = policy.until(Some(b"two")).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    let path = "/nacos/v1/cs/configs";
    let form = "dataId=policy&group=DEFAULT_GROUP";
    let answer = nacos.request("DELETE", path, form).await;
    assert_eq!(answer.expect("up").0, 200);
    policy.until(None).await;
    publish(&nacos, "three").await;
    policy.until(Some(b"three")).await;

    nacos.kill().expect("running");
    policy.next().await.expect_err("nobody answers");
    nacos.restart().await.expect("a server");
    publish(&nacos, "four").await;
    let took = policy.until(Some(b"four")).await;
    assert!(took < Duration::from_secs(6), "{took:?}");
}

#[tokio::test]
async fn a_login_is_needed_where_the_server_wants_one() {
    let nacos = server_with(NacosOptions::default().with_auth()).await;
    publish(&nacos, "one").await;
    let admin = nacos.admin().expect("with auth");
    let login = NacosLogin::new(&*admin.user, &*admin.password);
    let mut logged_in = follow(config(&nacos).with_login(login));
    logged_in.until(Some(b"one")).await;
    publish(&nacos, "two").await;
    let took = logged_in.until(Some(b"two")).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    let error = follow(config(&nacos)).next().await.expect_err("no login");
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
}
