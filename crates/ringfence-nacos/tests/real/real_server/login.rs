use std::time::Duration;

use ringfence_discovery::{Discovery as _, ErrorKind};
use ringfence_nacos::{NacosDiscovery, NacosLogin};
use ringfence_testkit::registry::{NacosOptions, secret};
use tokio::time::sleep;

use super::support::*;

const SOON: Duration = Duration::from_secs(5);

#[tokio::test]
async fn wrong_and_missing_credentials_are_refusals_and_right_ones_read() {
    let nacos = server_with(NacosOptions::default().with_auth()).await;
    put(&nacos, 1, "").await;
    let admin = nacos.admin().expect("with auth").clone();
    let none = config(&nacos);
    let wrong = none
        .clone()
        .with_login(NacosLogin::new(admin.user.as_str(), secret()));
    for refused in [none.clone(), wrong] {
        let source = NacosDiscovery::new(refused);
        let error = source.fetch(&order()).await.expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
        let mut seen = Seen::watch(&source);
        seen.until(SOON, |item| {
            item.as_ref()
                .is_err_and(|error| error.kind() == ErrorKind::Unauthorized)
        })
        .await;
    }
    let right = none.with_login(NacosLogin::new(admin.user, admin.password));
    let mut seen = Seen::watch(&NacosDiscovery::new(right));
    seen.until_shape(SOON, [(1, 100)]).await;
}

#[tokio::test]
async fn a_token_of_a_few_seconds_is_renewed_in_time() {
    let short = NacosOptions::default()
        .with_auth()
        .with_variable("RNACOS_API_LOGIN_TIMEOUT", "6");
    let nacos = server_with(short).await;
    put(&nacos, 1, "").await;
    let admin = nacos.admin().expect("with auth").clone();
    let login = NacosLogin::new(admin.user, admin.password);
    let source = NacosDiscovery::new(config(&nacos).with_login(login));
    let mut seen = Seen::watch(&source);
    seen.until_shape(SOON, [(1, 100)]).await;
    for _ in 0..10 {
        sleep(Duration::from_secs(2)).await;
        source.fetch(&order()).await.expect("a token that is good");
    }
    put(&nacos, 1, "&weight=2").await;
    seen.until_shape(SOON, [(1, 200)]).await;
}
