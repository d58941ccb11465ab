//! B23, B24, B09: silence, dead servers and errors that are no empty lists.

use ringfence_discovery::{Discovery as _, ErrorKind};
use ringfence_testkit::{RefusedAddress, Relay, SilentAddress};
use tokio::time::Instant;
use tonic::Code;

use super::{server::*, *};

#[tokio::test]
async fn a_silent_watch_is_probed_and_a_living_one_stays() {
    let etcd = FakeEtcd::start().await;
    etcd.put(&key("a"), value(1));
    let source = discovery(config(&[&etcd]));
    let mut watch = source.watch(&order());
    for _ in 0..4 {
        assert_eq!(ids(&next(&mut watch).await.expect("alive")), ["a"]);
    }
    etcd.with(|state| {
        assert_eq!(state.watches.len(), 1);
        assert!(state.progress_requests >= 3);
    });
}

/// One of three: its watches are created and then silent, or not even created.
#[tokio::test]
async fn a_silent_watch_ends_with_an_error_and_another_server_is_used() {
    for silence in [OnWatch::Silent, OnWatch::Hang] {
        let servers = [
            FakeEtcd::start().await,
            FakeEtcd::start().await,
            FakeEtcd::start().await,
        ];
        for etcd in &servers {
            etcd.put(&key("a"), value(1));
        }
        let source = discovery(config(&servers.each_ref()));
        let mut watch = source.watch(&order());
        until(&mut watch, &["a"]).await;
        next(&mut watch).await.expect("alive");
        let (bad, good): (Vec<_>, Vec<_>) =
            servers.iter().partition(|etcd| etcd.open_watches() > 0);
        assert_eq!(bad.len(), 1);
        bad[0].with(|state| {
            state.watches.clear();
            state.on_every_watch = Some(silence.clone());
        });
        // A watch begun anew goes to the server that is in use.
        watch = source.watch(&order());
        let start = Instant::now();
        while good.iter().all(|etcd| etcd.open_watches() == 0) {
            assert!(start.elapsed() < Duration::from_secs(8), "{silence:?}");
            // Watched anew after every error, as a supervisor does.
            match tokio::time::timeout(Duration::from_millis(200), watch.next()).await {
                Ok(None) => watch = source.watch(&order()),
                Ok(Some(Err(error))) => assert_eq!(error.kind(), ErrorKind::Unavailable),
                Ok(Some(Ok(update))) => assert_eq!(ids(&update), ["a"]),
                Err(_) => {}
            }
        }
        let tried = bad[0].with(|state| state.watches.len());
        assert_eq!(tried, 1, "{silence:?}: tried there, and then left");
    }
}

#[tokio::test]
async fn dead_and_hanging_servers_are_passed_by() {
    let etcd = FakeEtcd::start().await;
    etcd.put(&key("a"), value(1));
    let (refused, silent) = (
        RefusedAddress::new().expect("a port"),
        SilentAddress::new().expect("a port"),
    );
    let endpoints = [
        refused.address().to_string(),
        silent.address().to_string(),
        etcd.endpoint(),
    ];
    // Whichever server is drawn first.
    for _ in 0..6 {
        let config = EtcdConfig::new(endpoints.clone())
            .with_request_timeout(Duration::from_millis(500))
            .with_connect_timeout(Duration::from_millis(200));
        let source = discovery(config);
        for _ in 0..3 {
            let update = source.fetch(&order()).await.expect("one works");
            assert_eq!(ids(&update), ["a"]);
        }
        let start = Instant::now();
        source
            .fetch(&order())
            .await
            .expect("stays with the one that works");
        assert!(
            start.elapsed() < Duration::from_millis(400),
            "{:?}",
            start.elapsed()
        );
    }
}

#[tokio::test]
async fn a_caller_that_gives_up_moves_on_as_well() {
    let etcd = FakeEtcd::start().await;
    etcd.put(&key("a"), value(1));
    let silent = SilentAddress::new().expect("a port");
    let endpoints = [silent.address().to_string(), etcd.endpoint()];
    for _ in 0..4 {
        let source = discovery(EtcdConfig::new(endpoints.clone()));
        let mut tries = 0;
        while tokio::time::timeout(Duration::from_millis(700), source.fetch(&order()))
            .await
            .is_err()
        {
            tries += 1;
            assert!(tries < 2, "always the silent one");
        }
    }
}

#[tokio::test]
async fn no_failure_is_a_list() {
    let etcd = FakeEtcd::start().await;
    etcd.put(&key("a"), value(1));
    let source = discovery(config(&[&etcd]));
    for (script, kind) in [
        (
            OnCall::Fail(Code::Unavailable, "etcdserver: no leader"),
            ErrorKind::Unavailable,
        ),
        (
            OnCall::Fail(Code::Unavailable, "etcdserver: leader changed"),
            ErrorKind::Unavailable,
        ),
        (
            OnCall::Fail(Code::Unknown, "transport error"),
            ErrorKind::Unavailable,
        ),
        (
            OnCall::Fail(Code::DeadlineExceeded, "etcdserver: request timed out"),
            ErrorKind::Unavailable,
        ),
        (OnCall::Hang, ErrorKind::Unavailable),
        (
            OnCall::Fail(Code::PermissionDenied, "etcdserver: permission denied"),
            ErrorKind::Unauthorized,
        ),
        (OnCall::Fail(Code::Unimplemented, ""), ErrorKind::Protocol),
    ] {
        etcd.with(|state| state.on_range.push_back(script.clone()));
        let error = source.fetch(&order()).await.expect_err("a failure");
        assert_eq!(error.kind(), kind, "{script:?}: {error}");
        etcd.with(|state| state.on_range.push_back(script.clone()));
        let mut watch = source.watch(&order());
        assert_eq!(
            next(&mut watch).await.expect_err("a failure").kind(),
            kind,
            "{script:?}"
        );
        assert!(watch.next().await.is_none(), "over after an error");
    }
    // An empty answer is data, and so is one that fills up again.
    etcd.delete(&key("a"));
    assert_eq!(
        source
            .fetch(&order())
            .await
            .expect("fine")
            .state
            .instance_count(),
        0
    );
    etcd.put(&key("c"), value(1));
    assert_eq!(ids(&source.fetch(&order()).await.expect("fine")), ["c"]);
}

#[tokio::test]
async fn a_half_open_connection_is_noticed_and_the_session_made_anew() {
    let etcd = FakeEtcd::start().await;
    etcd.put(&key("a"), value(1));
    let relay = Relay::start(etcd.address()).await.expect("a port");
    let config = EtcdConfig::new([relay.address().to_string(), etcd.endpoint()])
        .with_request_timeout(Duration::from_millis(500))
        .with_silence_timeout(Duration::from_millis(200));
    let source = discovery(config);
    let mut watch = source.watch(&order());
    until(&mut watch, &["a"]).await;
    relay.freeze();
    let start = Instant::now();
    etcd.put(&key("b"), value(2));
    loop {
        match watch.next().await {
            None => watch = source.watch(&order()),
            Some(Ok(update)) if ids(&update) == ["a", "b"] => break,
            Some(_) => {}
        }
    }
    assert!(
        start.elapsed() < Duration::from_secs(4),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test]
async fn dropping_a_watch_ends_it_on_the_server_and_closes_the_connection() {
    let etcd = FakeEtcd::start().await;
    etcd.put(&key("a"), value(1));
    let source = discovery(config(&[&etcd]));
    let mut watches: Vec<Watch> = (0..20).map(|_| source.watch(&order())).collect();
    for watch in &mut watches {
        next(watch).await.expect("listed");
        next(watch).await.expect("alive");
    }
    assert_eq!(etcd.open_watches(), 20);
    drop(watches);
    let start = Instant::now();
    while etcd.open_watches() > 0 {
        assert!(
            start.elapsed() < Duration::from_secs(1),
            "{} left",
            etcd.open_watches()
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn an_impossible_name_is_unknown_and_asks_nothing() {
    let etcd = FakeEtcd::start().await;
    let source = discovery(config(&[&etcd]));
    let update = source.fetch(&ServiceKey::new("")).await.expect("no error");
    assert_eq!(update.state, ServiceState::NoSuchService);
    let mut watch = source.watch(&ServiceKey::new(""));
    assert_eq!(
        next(&mut watch).await.expect("no error").state,
        ServiceState::NoSuchService
    );
    assert!(
        tokio::time::timeout(Duration::from_millis(100), watch.next())
            .await
            .is_err()
    );
    assert_eq!(etcd.with(|state| state.ranges.len()), 0);
}
