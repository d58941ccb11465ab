use ringfence_consul::{ConsulConfig, ConsulDiscovery, ConsulTls, ConsulToken};
use ringfence_discovery::{Discovery as _, ErrorKind, ServiceKey};
use ringfence_testkit::{
    TestCa,
    registry::{Consul, ConsulOptions},
};

use super::{put_order, read};

#[tokio::test]
async fn a_token_that_may_read_suffices_and_is_reloaded() {
    let consul = Consul::start_with(ConsulOptions::default().with_acl()).await;
    let consul = consul.expect("a server");
    put_order(&consul, "a").await;
    let with = |token| {
        let config = ConsulConfig::new(consul.url()).with_token(token);
        ConsulDiscovery::new(config).expect("legal")
    };
    let reading = consul.read_only_token().await.expect("a token");
    assert_eq!(
        read(&with(ConsulToken::value(&reading)), "order")
            .await
            .len(),
        1
    );

    let folder = std::env::temp_dir().join(format!("ringfence-consul-{}", std::process::id()));
    std::fs::write(&folder, "00000000-1111-2222-3333-444444444444").expect("writable");
    let rotated = with(ConsulToken::file(&folder));
    let key = ServiceKey::new("order");
    let error = rotated.fetch(&key).await.expect_err("an unknown token");
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
    std::fs::write(&folder, format!("{reading}\n")).expect("writable");
    assert_eq!(read(&rotated, "order").await.len(), 1);
    std::fs::remove_file(&folder).expect("removable");

    // This is all that a server of this age tells of a missing token: the guard against empty lists has to stand in.
    let anonymous = ConsulDiscovery::new(ConsulConfig::new(consul.url())).expect("legal");
    assert_eq!(read(&anonymous, "order").await, []);
}

#[tokio::test]
async fn https_with_and_without_a_client_certificate() {
    let ca = TestCa::new().expect("a CA");
    let identity = ca
        .server(&["127.0.0.1", "localhost"])
        .expect("a certificate");
    let client = ca.server(&["client"]).expect("a certificate");
    for demanded in [false, true] {
        let options = ConsulOptions::default().with_tls(&ca, &identity, demanded);
        let consul = Consul::start_with(options).await.expect("a server");
        put_order(&consul, "a").await;
        let with = |tls| {
            let config = ConsulConfig::new(format!("https://{}", consul.https_address()));
            ConsulDiscovery::new(config.with_tls(tls)).expect("legal")
        };
        let trusting = ConsulTls::default().with_ca_pem(ca.certificate_pem());
        let own = format!("{}{}", client.key_pem(), client.certificate_pem());
        let shown = with(trusting.clone().with_identity_pem(own));
        assert_eq!(read(&shown, "order").await.len(), 1);
        let anonymous = with(trusting).fetch(&ServiceKey::new("order")).await;
        assert_eq!(anonymous.is_err(), demanded, "{anonymous:?}");
    }
}
