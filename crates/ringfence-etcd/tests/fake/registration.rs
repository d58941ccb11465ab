//! B59: a registration that outlives what happens to its lease.

use ringfence_core::Instance;
use ringfence_discovery::{Discovery as _, ErrorKind, Registrar as _, Registration};
use ringfence_etcd::{EtcdRegistrar, KitexCodec};

use super::{server::*, *};

fn registrar(etcd: &FakeEtcd) -> EtcdRegistrar {
    let config = config(&[etcd]).with_lease_ttl(Duration::from_secs(1));
    EtcdRegistrar::new(config).expect("legal")
}

fn instance() -> Instance {
    Instance::builder("a", "127.0.0.1:80")
        .build()
        .expect("legal")
}

async fn register(etcd: &FakeEtcd) -> Registration {
    registrar(etcd)
        .register(&order(), instance())
        .await
        .expect("registered")
}

async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}");
}

fn lease_of(etcd: &FakeEtcd) -> Option<i64> {
    etcd.with(|state| state.kvs.get(key("a").as_bytes()).map(|kv| kv.lease))
}

#[tokio::test]
async fn an_instance_is_listed_changed_drained_and_removed() {
    let etcd = FakeEtcd::start().await;
    let source = discovery(config(&[&etcd]));
    let mut watch = source.watch(&order());
    until(&mut watch, &[]).await;
    let registration = register(&etcd).await;
    let update = until(&mut watch, &["a"]).await;
    assert_eq!(
        **update
            .state
            .as_snapshot()
            .expect("there")
            .get("a")
            .expect("there"),
        instance()
    );
    let lease = lease_of(&etcd).expect("registered");
    registration.drain().await.expect("written");
    let update = source.fetch(&order()).await.expect("read");
    assert!(
        update
            .state
            .as_snapshot()
            .expect("there")
            .get("a")
            .expect("there")
            .weight()
            .is_zero()
    );
    assert_eq!(lease_of(&etcd), Some(lease), "the lease stays");
    registration.deregister().await.expect("gone");
    assert_eq!(lease_of(&etcd), None, "when it returns the record is gone");
    let keep_alives = etcd.with(|state| {
        assert!(state.leases.is_empty());
        state.keep_alives
    });
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert_eq!(
        etcd.with(|state| state.keep_alives),
        keep_alives,
        "heartbeats have ended"
    );
    until(&mut watch, &[]).await;
}

#[tokio::test]
async fn a_lost_lease_and_a_deleted_record_are_made_anew() {
    let etcd = FakeEtcd::start().await;
    let registration = register(&etcd).await;
    let first = lease_of(&etcd).expect("registered");
    // As after an outage longer than the TTL.
    etcd.with(|state| state.leases.clear());
    etcd.delete(&key("a"));
    eventually("registered anew", || {
        lease_of(&etcd).is_some_and(|lease| lease != first)
    })
    .await;
    let second = lease_of(&etcd);
    // By hand.
    etcd.delete(&key("a"));
    eventually("written anew", || lease_of(&etcd) == second).await;
    // By hand, without a lease.
    etcd.put(&key("a"), value(99));
    eventually("leased anew", || lease_of(&etcd) == second).await;
    registration.deregister().await.expect("gone");
}

/// B59: a debugger or the host stops the whole process for longer than the lease lives.
#[tokio::test]
async fn a_process_that_was_stopped_for_longer_than_its_lease_registers_anew() {
    let etcd = FakeEtcd::start().await;
    let registration = register(&etcd).await;
    let first = lease_of(&etcd).expect("registered");
    etcd.with(|state| state.leases.clear());
    etcd.delete(&key("a"));
    // Nothing else runs on this thread meanwhile, neither heartbeats nor timers.
    std::thread::sleep(Duration::from_millis(2_500));
    let woken = tokio::time::Instant::now();
    eventually("registered anew", || {
        lease_of(&etcd).is_some_and(|lease| lease != first)
    })
    .await;
    assert!(
        woken.elapsed() < Duration::from_secs(1),
        "{:?}",
        woken.elapsed()
    );
    let mut state = registration.watch();
    let back = state.wait_for(|state| state.is_registered());
    back.await.expect("lives");
    registration.deregister().await.expect("gone");
}

/// B25: reads that are never answered hold up no heartbeat, although they share the connection.
#[tokio::test]
async fn heartbeats_go_on_while_reads_hang() {
    let etcd = FakeEtcd::start().await;
    let config = config(&[&etcd])
        .with_lease_ttl(Duration::from_secs(1))
        .with_request_timeout(Duration::from_secs(5));
    let registrar = EtcdRegistrar::new(config.clone()).expect("legal");
    let registration = registrar.register(&order(), instance()).await;
    let registration = registration.expect("registered");
    let lease = lease_of(&etcd).expect("registered");
    etcd.with(|state| state.on_range.extend(vec![OnCall::Hang; 16]));
    let source = discovery(config);
    let reads: Vec<_> = (0..16)
        .map(|_| tokio::spawn(source.fetch(&order())))
        .collect();
    eventually("the reads are under way", || {
        etcd.with(|state| state.on_range.is_empty())
    })
    .await;
    let before = etcd.with(|state| state.keep_alives);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let beats = etcd.with(|state| state.keep_alives) - before;
    assert!(beats >= 3, "{beats} heartbeats in 1.5 s");
    assert_eq!(lease_of(&etcd), Some(lease));
    assert!(reads.iter().all(|read| !read.is_finished()));
    reads.iter().for_each(tokio::task::JoinHandle::abort);
    registration.deregister().await.expect("gone");
}

#[tokio::test]
async fn the_record_of_a_successor_is_left_alone() {
    let etcd = FakeEtcd::start().await;
    let old = register(&etcd).await;
    let new = register(&etcd).await;
    let lease = lease_of(&etcd).expect("registered");
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert_eq!(
        lease_of(&etcd),
        Some(lease),
        "the old one does not take it back"
    );
    old.deregister().await.expect("gone");
    assert_eq!(lease_of(&etcd), Some(lease), "nor away");
    new.deregister().await.expect("gone");
    assert_eq!(lease_of(&etcd), None);
}

#[tokio::test]
async fn an_instance_that_the_layout_cannot_drain_is_taken_out_and_comes_back() {
    let etcd = FakeEtcd::start().await;
    // The scripted server knows no transactions: they fail, and are tried until they do not.
    let config = config(&[&etcd]).with_codec(KitexCodec::default());
    let registrar = EtcdRegistrar::new(config).expect("legal");
    let registration = registrar
        .register(&order(), instance())
        .await
        .expect("registered");
    let listed = || {
        etcd.with(|state| {
            state
                .kvs
                .contains_key(b"kitex/registry-etcd/order/127.0.0.1:80".as_slice())
        })
    };
    assert!(listed());
    assert_eq!(
        registration
            .drain()
            .await
            .expect_err("no transactions")
            .kind(),
        ErrorKind::Protocol
    );
    registration.deregister().await.expect("gone");
    assert!(!listed());
}

#[tokio::test]
async fn what_cannot_be_registered_is_refused_at_once() {
    let etcd = FakeEtcd::start().await;
    let error = registrar(&etcd)
        .register(&ServiceKey::new(""), instance())
        .await
        .expect_err("no name");
    assert_eq!(error.kind(), ErrorKind::Config);
}
