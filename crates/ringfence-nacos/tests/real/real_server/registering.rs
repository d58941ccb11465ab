use std::time::Duration;

use ringfence_core::Instance;
use ringfence_discovery::{ErrorKind, Registrar as _};
use ringfence_nacos::{NacosDiscovery, NacosLogin, NacosRegistrar};
use ringfence_testkit::registry::{NacosOptions, RegistryServer as _, secret};
use tokio::time::{sleep, timeout};

use super::support::*;

const SOON: Duration = Duration::from_secs(5);

fn instance(port: u16) -> Instance {
    Instance::builder(format!("order-{port}"), format!("10.0.0.7:{port}"))
        .version("v1")
        .build()
        .expect("legal")
}

#[tokio::test]
async fn register_update_drain_and_deregister() {
    let nacos = server().await;
    let mut seen = Seen::watch(&NacosDiscovery::new(config(&nacos)));
    let registrar = NacosRegistrar::new(config(&nacos));
    let registration = registrar
        .register(&order(), instance(1))
        .await
        .expect("registered");
    assert!(registration.state().is_registered());
    seen.until_shape(SOON, [(1, 100)]).await;
    let read = seen.last.as_ref().expect("seen").as_ref().expect("a list");
    let read = &read.state.as_snapshot().expect("a list").instances()[0];
    assert_eq!(**read, instance(1));

    let heavier = instance(1)
        .to_builder()
        .weight(250)
        .version("v2")
        .build()
        .expect("legal");
    registration.update(heavier).await.expect("updated");
    seen.until_shape(SOON, [(1, 250)]).await;
    registration.drain().await.expect("drained");
    seen.until_shape(SOON, [(1, 0)]).await;
    registration.deregister().await.expect("gone");
    seen.until_shape(SOON, []).await;
}

#[tokio::test]
async fn several_instances_of_a_service_survive_an_outage_longer_than_their_life() {
    let mut nacos = server().await;
    let mut seen = Seen::watch(&NacosDiscovery::new(config(&nacos)));
    let registrar = NacosRegistrar::new(config(&nacos));
    let mut all = Vec::new();
    for port in 1..=3 {
        all.push(
            registrar
                .register(&order(), instance(port))
                .await
                .expect("registered"),
        );
    }
    let full = [(1, 100), (2, 100), (3, 100)];
    seen.until_shape(SOON, full).await;
    nacos.kill().expect("killed");
    seen.until(Duration::from_secs(20), Result::is_err).await;
    sleep(Duration::from_secs(20)).await;
    assert!(all.iter().all(|one| !one.state().is_registered()));
    nacos.restart().await.expect("restarted");
    let took = seen.until_shape(Duration::from_secs(10), full).await;
    eprintln!("all back {took:?} after the server");
    for one in all {
        one.deregister().await.expect("gone");
    }
    seen.until_shape(SOON, []).await;
    sleep(Duration::from_secs(8)).await;
    seen.until_shape(SOON, []).await;
}

#[tokio::test]
async fn an_instance_that_was_removed_by_hand_comes_back() {
    let nacos = server().await;
    let mut seen = Seen::watch(&NacosDiscovery::new(config(&nacos)));
    let registrar = NacosRegistrar::new(config(&nacos));
    let registration = registrar
        .register(&order(), instance(1))
        .await
        .expect("registered");
    seen.until_shape(SOON, [(1, 100)]).await;
    let form = "serviceName=order&ip=10.0.0.7&port=1&ephemeral=true";
    nacos
        .request("DELETE", "/nacos/v1/ns/instance", form)
        .await
        .expect("it answers");
    seen.until_shape(SOON, []).await;
    seen.until_shape(Duration::from_secs(10), [(1, 100)]).await;
    drop(registration);
    seen.until_shape(SOON, []).await;
}

#[tokio::test]
async fn a_server_can_start_before_its_registry() {
    let mut nacos = server().await;
    nacos.kill().expect("killed");
    let registrar = NacosRegistrar::new(config(&nacos));
    let starting = timeout(
        Duration::from_secs(10),
        registrar.register(&order(), instance(1)),
    );
    let registration = starting
        .await
        .expect("it waits for nobody")
        .expect("retrying");
    assert!(!registration.state().is_registered());
    nacos.restart().await.expect("restarted");
    let mut seen = Seen::watch(&NacosDiscovery::new(config(&nacos)));
    seen.until_shape(Duration::from_secs(15), [(1, 100)]).await;
    registration.deregister().await.expect("gone");
    seen.until_shape(SOON, []).await;
}

#[tokio::test]
async fn a_refused_registration_says_so() {
    let nacos = server_with(NacosOptions::default().with_auth()).await;
    let user = nacos.admin().expect("with auth").user.clone();
    let registrar = NacosRegistrar::new(config(&nacos).with_login(NacosLogin::new(user, secret())));
    let error = registrar
        .register(&order(), instance(1))
        .await
        .expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
}
