use ringfence_core::Instance;
use ringfence_discovery::{Discovery as _, Registrar as _, Registration};
use ringfence_etcd::{Codec, EtcdRegistrar, GrpcNamingCodec, KitexCodec, KratosCodec, NativeCodec};
use ringfence_testkit::registry::{Etcd, EtcdCluster, RegistryServer as _};

use super::*;

fn instance(id: &str) -> Instance {
    Instance::builder(id, "127.0.0.1:80")
        .version("v1")
        .tag("lane", "blue")
        .build()
        .expect("legal")
}

async fn register(config: EtcdConfig, id: &str) -> Registration {
    let config = config.with_lease_ttl(Duration::from_secs(2));
    let registrar = EtcdRegistrar::new(config).expect("legal");
    registrar
        .register(&order(), instance(id))
        .await
        .expect("registered")
}

async fn registered(registration: &Registration) {
    let mut states = registration.watch();
    let reached = timeout(PATIENCE, states.wait_for(|state| state.is_registered()));
    reached.await.expect("in time").expect("lives");
}

#[tokio::test]
async fn what_one_registers_the_other_finds_in_every_layout() {
    async fn round(etcd: &Etcd, codec: impl Codec + Clone) {
        let config = || EtcdConfig::new([etcd.url()]).with_codec(codec.clone());
        let mut follower = Follower::new(discovery(config()));
        follower.until(&[]).await;
        let registration = register(config(), "a").await;
        follower.until(&["a"]).await;
        let found = follower.last.clone().expect("there");
        assert_eq!(**found.get("a").expect("there"), instance("a"));
        let heavy = instance("a")
            .to_builder()
            .weight(300)
            .build()
            .expect("legal");
        registration.update(heavy.clone()).await.expect("written");
        let source = discovery(config());
        let now = source.fetch(&order()).await.expect("read");
        assert_eq!(
            **now
                .state
                .as_snapshot()
                .expect("there")
                .get("a")
                .expect("there"),
            heavy
        );
        registration.drain().await.expect("written");
        let now = source.fetch(&order()).await.expect("read");
        let drained = now.state.as_snapshot().expect("there").get("a").cloned();
        assert!(drained.is_none_or(|drained| drained.weight().is_zero()));
        registration.update(heavy).await.expect("written");
        // Longer than the TTL.
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(count(&source).await, 1);
        registration.deregister().await.expect("gone");
        assert_eq!(count(&source).await, 0);
        follower.until(&[]).await;
    }
    let etcd = Etcd::start().await.expect("etcd");
    tokio::join!(
        round(&etcd, NativeCodec::default()),
        round(&etcd, KratosCodec::default()),
        round(&etcd, KitexCodec::default()),
        round(&etcd, GrpcNamingCodec::default()),
    );
}

#[tokio::test]
async fn a_registration_outlives_an_outage_longer_than_its_ttl() {
    let mut etcd = Etcd::start().await.expect("etcd");
    let registration = register(EtcdConfig::new([etcd.url()]), "a").await;
    let mut follower = Follower::new(discovery(EtcdConfig::new([etcd.url()])));
    follower.until(&["a"]).await;
    etcd.kill().expect("killed");
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(!registration.state().is_registered());
    etcd.restart().await.expect("back");
    registered(&registration).await;
    follower.until(&["a"]).await;
    // And one that takes all data away.
    etcd.wipe().await.expect("back");
    let start = Instant::now();
    while discovery(EtcdConfig::new([etcd.url()]))
        .fetch(&order())
        .await
        .map_or(0, |update| update.state.instance_count())
        == 0
    {
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "not registered anew"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    registered(&registration).await;
    registration.deregister().await.expect("gone");
    let source = discovery(EtcdConfig::new([etcd.url()]));
    assert_eq!(count(&source).await, 0);
}

#[tokio::test]
async fn a_frozen_server_and_a_deleted_record_are_survived() {
    let etcd = Etcd::start().await.expect("etcd");
    let registration = register(EtcdConfig::new([etcd.url()]), "a").await;
    let source = discovery(EtcdConfig::new([etcd.url()]));
    etcd.pause().expect("frozen");
    tokio::time::sleep(Duration::from_secs(6)).await;
    etcd.resume().expect("thawed");
    registered(&registration).await;
    etcd.delete(key("a")).await.expect("deleted");
    let start = Instant::now();
    while count(&source).await == 0 {
        assert!(start.elapsed() < Duration::from_secs(5), "not written anew");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // A process that dies is gone after the TTL: a dropped registration goes at once.
    drop(registration);
    let start = Instant::now();
    while count(&source).await > 0 {
        assert!(start.elapsed() < Duration::from_secs(5), "still there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_registration_stays_when_the_leader_is_killed() {
    let mut cluster = EtcdCluster::start().await.expect("etcd");
    let config = || EtcdConfig::new(cluster.urls());
    let registration = register(config().with_request_timeout(Duration::from_secs(1)), "a").await;
    let mut follower = Follower::new(discovery(config()));
    follower.until(&["a"]).await;
    let leader = cluster.leader().await.expect("a leader");
    cluster.nodes_mut()[leader].kill().expect("killed");
    tokio::time::sleep(Duration::from_secs(8)).await;
    registered(&registration).await;
    follower.until(&["a"]).await;
    registration.deregister().await.expect("gone");
    follower.until(&[]).await;
}
