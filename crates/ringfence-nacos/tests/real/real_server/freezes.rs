use std::time::Duration;

use ringfence_core::Instance;
use ringfence_discovery::{Registrar as _, RegistrationState};
use ringfence_nacos::NacosRegistrar;
use ringfence_testkit::registry::{Nacos, RegistryServer as _, connections};
use tokio::time::{Instant, sleep};

use super::support::*;

/// How long a kept instance is looked at after a freeze, and how long a lost connection may be kept.
const AT_LEAST: Duration = Duration::from_secs(14);
const AT_MOST: Duration = Duration::from_secs(40);
const ADDRESS: &str = "10.0.0.7:1";

async fn is_listed(nacos: &Nacos) -> bool {
    let list = nacos.request("GET", "/nacos/v1/ns/instance/list", "serviceName=order");
    let (status, list) = list.await.expect("it answers");
    assert_eq!(status, 200, "{list}");
    let hosts = list["hosts"].as_array().expect("a list");
    hosts.iter().any(|host| host["ip"] == "10.0.0.7")
}

async fn register(nacos: &Nacos) -> ringfence_discovery::Registration {
    let instance = Instance::builder("order-1", ADDRESS)
        .build()
        .expect("legal");
    let registration = NacosRegistrar::new(config(nacos))
        .register(&order(), instance)
        .await
        .expect("registered");
    assert!(is_listed(nacos).await);
    registration
}

async fn freeze(nacos: &Nacos) {
    nacos.pause().expect("paused");
    // Until the library gives its connection up; the server does not notice.
    sleep(Duration::from_secs(20)).await;
    nacos.resume().expect("resumed");
}

/// The library has a new connection by then, and the instance belongs to the old one until it is registered again: a server
/// agrees to its removal and does nothing.
#[tokio::test]
async fn what_is_deregistered_after_a_freeze_is_gone_for_good() {
    let mut rounds = Vec::new();
    for after in [0, 1_000, 2_000, 3_000, 4_000] {
        rounds.push(async move {
            let nacos = server().await;
            let registration = register(&nacos).await;
            freeze(&nacos).await;
            sleep(Duration::from_millis(after)).await;
            let began = Instant::now();
            registration.deregister().await.expect("gone");
            eprintln!(
                "deregistered {after} ms after a freeze, which took {:?}",
                began.elapsed()
            );
            for _ in 0..30 {
                assert!(!is_listed(&nacos).await, "{after} ms after the freeze");
                sleep(Duration::from_millis(500)).await;
            }
        });
    }
    futures_util::future::join_all(rounds).await;
}

/// A freeze costs the library a connection, and it ends none: this one would stay, be answered on, and use up a place.
#[tokio::test]
async fn an_instance_is_kept_through_a_freeze_and_the_lost_connection_is_given_up() {
    let nacos = server().await;
    let registration = register(&nacos).await;
    freeze(&nacos).await;
    let (mut reads, mut missing) = (0, 0);
    let open = || connections(nacos.grpc_address()).expect("known");
    let began = Instant::now();
    // The library may take some seconds to connect anew, and only then the lost connection's last 10 s begin.
    while began.elapsed() < AT_LEAST || (open() > 1 && began.elapsed() < AT_MOST) {
        sleep(Duration::from_millis(100)).await;
        reads += 1;
        missing += u32::from(!is_listed(&nacos).await);
    }
    assert_eq!(registration.state(), RegistrationState::Registered);
    assert_eq!(missing, 0, "so many of {reads} reads found nothing");
    assert_eq!(open(), 1);
    registration.deregister().await.expect("gone");
    assert!(!is_listed(&nacos).await);
}
