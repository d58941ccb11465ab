use ringfence_discovery::{Discovery as _, ErrorKind};
use ringfence_etcd::EtcdTls;
use ringfence_testkit::{
    TestCa,
    registry::{Etcd, EtcdOptions},
};

use super::*;

#[tokio::test]
async fn a_reader_reads_and_its_token_is_renewed() {
    let options = EtcdOptions::default().with_argument("--auth-token-ttl=2");
    let mut etcd = Etcd::start_with(options).await.expect("etcd");
    etcd.enable_auth().await.expect("auth");
    let reader = etcd.user(PREFIX, false).await.expect("a user");
    etcd.put(key("a"), value(1)).await.expect("put");
    let config = EtcdConfig::new([etcd.url()]).with_user(&reader.user, &reader.password);
    let source = discovery(config);
    let mut follower = Follower::new(Arc::clone(&source));
    follower.until(&["a"]).await;
    // Longer than a token lives: the next calls and the next watch need a new one.
    follower.stays(Duration::from_secs(6)).await;
    let update = source.fetch(&order()).await.expect("renewed");
    assert_eq!(update.state.instance_count(), 1);
    tokio::time::sleep(Duration::from_secs(4)).await;
    let mut another = Follower::new(source);
    another.until(&["a"]).await;
    etcd.put(key("b"), value(2)).await.expect("put");
    another.until(&["a", "b"]).await;
    follower.until(&["a", "b"]).await;
}

#[tokio::test]
async fn what_a_user_may_not_do_is_told_apart() {
    let mut etcd = Etcd::start().await.expect("etcd");
    etcd.enable_auth().await.expect("auth");
    let reader = etcd.user(PREFIX, false).await.expect("a user");
    let kind = async |config: EtcdConfig, service: &str| {
        let error = discovery(config)
            .fetch(&ServiceKey::new(service))
            .await
            .expect_err("refused");
        error.kind()
    };
    let config = || EtcdConfig::new([etcd.url()]);
    let right = || config().with_user(&reader.user, &reader.password);
    assert_eq!(kind(config(), "order").await, ErrorKind::Unauthorized);
    assert_eq!(
        kind(config().with_user(&reader.user, "wrong"), "order").await,
        ErrorKind::Unauthorized
    );
    assert_eq!(
        kind(config().with_user("nobody", "x"), "order").await,
        ErrorKind::Unauthorized
    );
    assert_eq!(kind(right(), "payment").await, ErrorKind::Unauthorized);
    discovery(right()).fetch(&order()).await.expect("allowed");
}

#[cfg(feature = "register")]
#[tokio::test]
async fn a_reader_cannot_register_and_a_writer_can() {
    use ringfence_discovery::Registrar as _;

    let mut etcd = Etcd::start().await.expect("etcd");
    etcd.enable_auth().await.expect("auth");
    let reader = etcd.user(PREFIX, false).await.expect("a user");
    let writer = etcd.user(PREFIX, true).await.expect("a user");
    let registrar = |user: &ringfence_testkit::registry::Credentials| {
        let config = EtcdConfig::new([etcd.url()]).with_user(&user.user, &user.password);
        ringfence_etcd::EtcdRegistrar::new(config).expect("legal")
    };
    let instance = ringfence_core::Instance::builder("a", "127.0.0.1:1")
        .build()
        .expect("legal");
    let refused = registrar(&reader)
        .register(&order(), instance.clone())
        .await;
    assert_eq!(
        refused.expect_err("refused").kind(),
        ErrorKind::Unauthorized
    );
    let registration = registrar(&writer)
        .register(&order(), instance)
        .await
        .expect("allowed");
    let config = EtcdConfig::new([etcd.url()]).with_user(&reader.user, &reader.password);
    let source = discovery(config);
    assert_eq!(count(&source).await, 1);
    registration.deregister().await.expect("gone");
    assert_eq!(count(&source).await, 0);
}

#[tokio::test]
async fn tls_with_client_certificates() {
    let ca = TestCa::new().expect("a CA");
    let server = ca
        .server(&["127.0.0.1", "localhost"])
        .expect("a certificate");
    let client = ca.server(&["client"]).expect("a certificate");
    let options = EtcdOptions::default().with_tls(&ca, &server, true);
    let etcd = Etcd::start_with(options).await.expect("etcd");
    etcd.put(key("a"), value(1)).await.expect("put");
    let config =
        |tls: EtcdTls| EtcdConfig::new([format!("https://{}", etcd.https_address())]).with_tls(tls);
    let tls = || EtcdTls::with_ca(ca.certificate_pem()).expect("a CA");
    let mutual = tls()
        .with_identity(client.certificate_pem(), client.key_pem())
        .expect("an identity");
    let mut follower = Follower::new(discovery(config(mutual.clone())));
    follower.until(&["a"]).await;
    etcd.put(key("b"), value(2)).await.expect("put");
    follower.until(&["a", "b"]).await;

    let other = TestCa::new().expect("a CA");
    let stranger = EtcdTls::with_ca(other.certificate_pem()).expect("a CA");
    for (what, tls) in [
        ("without a client certificate", tls()),
        ("with a CA that did not sign", stranger),
        ("with another name", mutual.with_domain_name("elsewhere")),
    ] {
        let error = discovery(config(tls))
            .fetch(&order())
            .await
            .expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{what}: {error}");
    }
}
