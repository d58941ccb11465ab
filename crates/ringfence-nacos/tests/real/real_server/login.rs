use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
    time::Duration,
};

use ringfence_discovery::{Discovery as _, ErrorKind};
use ringfence_nacos::{NacosDiscovery, NacosLogin};
use ringfence_testkit::registry::{NacosOptions, secret};
use tokio::time::sleep;
use tracing_subscriber::fmt::MakeWriter;

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

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn no_password_and_no_token_is_in_any_log() {
    let captured = Captured::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(captured.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber)
        .expect("a process of its own, as nextest gives");
    let nacos = server_with(NacosOptions::default().with_auth()).await;
    put(&nacos, 1, "").await;
    let admin = nacos.admin().expect("with auth").clone();
    let (right, wrong) = (admin.password.clone(), secret());
    let login = NacosLogin::new(admin.user.as_str(), right.as_str());
    let source = NacosDiscovery::new(config(&nacos).with_login(login));
    Seen::watch(&source).until_shape(SOON, [(1, 100)]).await;
    let login = NacosLogin::new(admin.user.as_str(), wrong.as_str());
    let refused = NacosDiscovery::new(config(&nacos).with_login(login));
    let error = refused.fetch(&order()).await.expect_err("refused");
    let nowhere = ringfence_nacos::NacosConfig::new(["127.0.0.1:1"]).expect("legal");
    let login = NacosLogin::new(admin.user, right.as_str());
    let nowhere = NacosDiscovery::new(nowhere.with_login(login));
    let away = nowhere.fetch(&order()).await.expect_err("nobody there");
    let shown = format!("{source:?} {refused:?} {error:?} {error} {away:?} {away}");
    let log = captured.0.lock().expect("no panic").clone();
    let log = String::from_utf8_lossy(&log);
    assert!(log.contains("nacos_sdk"), "something was captured");
    for secret in [&right, &wrong] {
        assert!(!log.contains(secret.as_str()) && !shown.contains(secret.as_str()));
    }
    // The token is not ours to know; it would stand behind its name.
    let named = log.lines().find(|line| line.contains("accessToken"));
    assert_eq!(named, None);
}
