use std::time::Duration;

use ringfence_consul::{ConsulConfig, ConsulRegisterConfig, ConsulRegistrar, ConsulToken};
use ringfence_core::{Instance, Scheme};
use ringfence_discovery::{ErrorKind, Registrar as _, ServiceKey};
use ringfence_testkit::registry::{Consul, ConsulOptions, RegistryServer as _};
use tokio::time::sleep;

use super::{eventually, read, source};

fn registrar(config: ConsulConfig) -> ConsulRegistrar {
    let register = ConsulRegisterConfig::default().with_ttl(Duration::from_secs(2));
    ConsulRegistrar::new(config, register).expect("legal")
}

fn key() -> ServiceKey {
    ServiceKey::new("order")
}

fn instance() -> Instance {
    Instance::builder("order-1", "[::1]:8080")
        .scheme(Scheme::Https)
        .weight(250)
        .version("v1")
        .zone("az-1")
        .region("eu")
        .tenant("acme")
        .tag("lane", "blue")
        .tag("app.kubernetes.io/name", "order")
        .build()
        .expect("legal")
}

#[tokio::test]
async fn what_is_registered_is_read_back_until_it_is_taken_out() {
    let consul = Consul::start().await.expect("a server");
    let source = source(&consul);
    let registration = registrar(ConsulConfig::new(consul.url()))
        .register(&key(), instance())
        .await
        .expect("registered");
    let reads = async |wanted: &Instance| {
        let found = read(&source, "order").await;
        found.len() == 1 && *found[0] == *wanted
    };
    eventually("registered", async || reads(&instance()).await).await;

    let lighter = instance().to_builder().weight(10).tag("lane", "green");
    let lighter = lighter.build().expect("legal");
    registration.update(lighter.clone()).await.expect("updated");
    eventually("updated", async || reads(&lighter).await).await;

    registration.drain().await.expect("drained");
    eventually("drained", async || {
        let found = read(&source, "order").await;
        found.len() == 1 && !found[0].takes_traffic() && found[0].weight().is_zero()
    })
    .await;
    let unhealthy = instance()
        .to_builder()
        .healthy(false)
        .build()
        .expect("legal");
    registration
        .update(unhealthy.clone())
        .await
        .expect("updated");
    eventually("unhealthy", async || reads(&unhealthy).await).await;
    // Heartbeats go on and do not make it healthy.
    sleep(Duration::from_secs(3)).await;
    assert!(reads(&unhealthy).await);
    registration.update(instance()).await.expect("updated");
    eventually("healthy", async || reads(&instance()).await).await;
    sleep(Duration::from_secs(5)).await;
    assert!(
        reads(&instance()).await,
        "heartbeats outlast the time to live"
    );

    registration.deregister().await.expect("taken out");
    assert_eq!(read(&source, "order").await, []);
    sleep(Duration::from_secs(3)).await;
    assert_eq!(
        read(&source, "order").await,
        [],
        "no heartbeat brings it back"
    );
}

#[tokio::test]
async fn an_outage_longer_than_the_time_to_live_and_a_wipe_are_survived() {
    let mut consul = Consul::start().await.expect("a server");
    let source = source(&consul);
    let registration = registrar(ConsulConfig::new(consul.url()))
        .register(&key(), instance())
        .await
        .expect("registered");
    consul.kill().expect("running");
    sleep(Duration::from_secs(4)).await;
    assert!(!registration.state().is_registered());
    consul.restart().await.expect("a server");
    let healthy = async || {
        let found = read(&source, "order").await;
        found.len() == 1 && *found[0] == instance()
    };
    eventually("back", async || {
        registration.state().is_registered() && healthy().await
    })
    .await;
    consul.wipe().await.expect("a server");
    eventually("registered anew", async || healthy().await).await;
    // By hand, too.
    super::take(&consul, "order:order-1").await;
    eventually("registered anew", async || healthy().await).await;
    registration.deregister().await.expect("taken out");
}

#[tokio::test]
async fn instances_of_two_services_may_have_one_id() {
    let consul = Consul::start().await.expect("a server");
    let registrar = registrar(ConsulConfig::new(consul.url()));
    let (order, cart) = (key(), ServiceKey::new("cart"));
    let first = registrar.register(&order, instance()).await;
    let second = registrar.register(&cart, instance()).await;
    let (first, second) = (first.expect("registered"), second.expect("registered"));
    let source = source(&consul);
    eventually("both are there", async || {
        read(&source, "order").await.len() == 1 && read(&source, "cart").await.len() == 1
    })
    .await;
    second.deregister().await.expect("taken out");
    eventually("one is gone", async || {
        read(&source, "cart").await.is_empty()
    })
    .await;
    assert_eq!(*read(&source, "order").await[0], instance());
    first.deregister().await.expect("taken out");
}

#[tokio::test]
async fn a_server_that_is_not_there_yet_is_waited_for() {
    let mut consul = Consul::start().await.expect("a server");
    consul.kill().expect("running");
    let registrar = registrar(ConsulConfig::new(consul.url()));
    let registration = registrar.register(&key(), instance()).await;
    let registration = registration.expect("no failure");
    assert!(!registration.state().is_registered());
    consul.restart().await.expect("a server");
    eventually("registered", async || registration.state().is_registered()).await;
    drop(registration);
    let source = source(&consul);
    eventually("dropped", async || read(&source, "order").await.is_empty()).await;
}

#[tokio::test]
async fn a_token_that_may_only_read_cannot_register() {
    let consul = Consul::start_with(ConsulOptions::default().with_acl()).await;
    let consul = consul.expect("a server");
    let with = |token: &str| {
        let config = ConsulConfig::new(consul.url()).with_token(ConsulToken::value(token));
        (
            registrar(config.clone()),
            ringfence_consul::ConsulDiscovery::new(config).expect("legal"),
        )
    };
    let (refused, reading) = with(&consul.read_only_token().await.expect("a token"));
    let error = refused
        .register(&key(), instance())
        .await
        .expect_err("read only");
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
    let (registrar, _) = with(&consul.write_token().await.expect("a token"));
    let registration = registrar.register(&key(), instance()).await;
    let registration = registration.expect("registered");
    eventually("readable", async || {
        read(&reading, "order").await.len() == 1
    })
    .await;
    registration.deregister().await.expect("taken out");
}

#[tokio::test]
async fn ids_of_all_kinds_can_be_taken_out_again() {
    let consul = Consul::start().await.expect("a server");
    let source = source(&consul);
    let registrar = registrar(ConsulConfig::new(consul.url()));
    let mut registrations = Vec::new();
    let ids = ["a b", "ü", "x%2Fy", "q?x=1", "h#f", "a/b", "%", ".."];
    for id in ids {
        let instance = Instance::builder(id, "10.0.0.1:80").build().expect("legal");
        let registration = registrar.register(&key(), instance).await;
        registrations.push(registration.expect(id));
    }
    sleep(Duration::from_secs(4)).await;
    let found = read(&source, "order").await;
    assert_eq!(found.len(), ids.len());
    assert!(found.iter().all(|instance| instance.is_healthy()));
    for registration in registrations {
        registration.deregister().await.expect("taken out");
    }
    assert_eq!(read(&source, "order").await, []);
    for id in ["a/..", "a/../b", "a//b"] {
        let instance = Instance::builder(id, "10.0.0.1:80").build().expect("legal");
        let error = registrar.register(&key(), instance).await.expect_err(id);
        assert_eq!(error.kind(), ErrorKind::Config);
    }
}
