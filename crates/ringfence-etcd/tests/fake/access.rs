//! B34: tokens that expire, passwords that are wrong, rights that are missing.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use ringfence_discovery::{Discovery as _, ErrorKind, Supervisor, WatchConfig};
use ringfence_etcd::Credentials;
use tonic::Code;

use super::{server::*, *};

async fn guarded() -> FakeEtcd {
    let etcd = FakeEtcd::start().await;
    etcd.with(|state| state.user = Some(("reader".into(), "hunter2".into())));
    etcd.put(&key("a"), value(1));
    etcd
}

fn logins(etcd: &FakeEtcd) -> usize {
    etcd.with(|state| state.logins.len())
}

#[tokio::test]
async fn an_expired_token_is_renewed_for_calls_and_for_watches() {
    let etcd = guarded().await;
    let source = discovery(config(&[&etcd]).with_user("reader", "hunter2"));
    let mut watch = source.watch(&order());
    until(&mut watch, &["a"]).await;
    next(&mut watch).await.expect("alive");
    assert_eq!(logins(&etcd), 1);
    // For a call.
    etcd.with(|state| state.token += 1);
    source.fetch(&order()).await.expect("renewed");
    assert_eq!(logins(&etcd), 2);
    // For a watch whose list still works: it is told in the message of its creation.
    etcd.with(|state| {
        state.on_watch.push_back(OnWatch::Cancelled(
            "rpc error: code = Unauthenticated desc = etcdserver: invalid auth token",
        ));
    });
    etcd.break_watches();
    while next(&mut watch).await.is_ok() {}
    let mut watch = source.watch(&order());
    etcd.put(&key("b"), value(2));
    until(&mut watch, &["a", "b"]).await;
    next(&mut watch).await.expect("alive");
}

#[tokio::test]
async fn an_old_auth_store_and_a_watch_that_is_denied_once_are_recovered_from() {
    let etcd = guarded().await;
    let source = discovery(config(&[&etcd]).with_user("reader", "hunter2"));
    etcd.with(|state| {
        state.on_range.push_back(OnCall::Fail(
            Code::InvalidArgument,
            "etcdserver: revision of auth store is old",
        ));
        state.on_watch.push_back(OnWatch::Cancelled(
            "rpc error: code = PermissionDenied desc = etcdserver: permission denied",
        ));
    });
    let mut watch = source.watch(&order());
    until(&mut watch, &["a"]).await;
    etcd.put(&key("b"), value(2));
    until(&mut watch, &["a", "b"]).await;
}

/// As a proxy in between, or a server of another version, may say it.
#[tokio::test]
async fn a_watch_whose_call_is_refused_for_its_token_logs_in_again_and_goes_on() {
    for (code, text) in [
        (Code::Unauthenticated, "etcdserver: invalid auth token"),
        (
            Code::InvalidArgument,
            "etcdserver: revision of auth store is old",
        ),
    ] {
        let etcd = guarded().await;
        let source = discovery(config(&[&etcd]).with_user("reader", "hunter2"));
        etcd.with(|state| state.on_watch.push_back(OnWatch::Fail(code, text)));
        let mut watch = source.watch(&order());
        until(&mut watch, &["a"]).await;
        etcd.put(&key("b"), value(2));
        until(&mut watch, &["a", "b"]).await;
        next(&mut watch).await.expect("alive");
        assert_eq!(logins(&etcd), 2, "{code:?}");
        assert_eq!(etcd.open_watches(), 1, "{code:?}");
    }
}

#[tokio::test]
async fn a_watch_that_stays_denied_is_an_error_and_not_tried_hot() {
    let etcd = guarded().await;
    etcd.with(|state| {
        state.on_every_watch = Some(OnWatch::Cancelled("etcdserver: permission denied"))
    });
    let source = discovery(config(&[&etcd]).with_user("reader", "hunter2"));
    let mut supervisor = Supervisor::new(source, order(), WatchConfig::default());
    let _ = tokio::time::timeout(Duration::from_secs(3), async {
        loop {
            supervisor.next().await;
        }
    })
    .await;
    let watches = etcd.with(|state| state.watches.len());
    assert!((2..=4).contains(&watches), "{watches} watches in 3 s");
    // Rights are given for keys, so it is those that a person has to know.
    let error = supervisor.status().watch_error.as_ref().expect("denied");
    let about = format!("no right to the keys of order, which begin with `{PREFIX}`");
    assert!(error.to_string().contains(&about), "{error}");
}

#[tokio::test]
async fn refused_credentials_are_tried_a_few_times_a_minute() {
    for (user, distrust) in [(("reader", "wrong"), false), (("reader", "hunter2"), true)] {
        let etcd = guarded().await;
        etcd.with(|state| state.distrust = distrust);
        let source = discovery(config(&[&etcd]).with_user(user.0, user.1));
        let error = source.fetch(&order()).await.expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
        let mut supervisor = Supervisor::new(source, order(), WatchConfig::default());
        let _ = tokio::time::timeout(Duration::from_secs(5), async {
            loop {
                supervisor.next().await;
            }
        })
        .await;
        assert!(logins(&etcd) <= 2, "{} logins in 5 s", logins(&etcd));
        assert!(
            supervisor.status().counters.watch_errors > 1,
            "the errors are told"
        );
    }
}

#[tokio::test]
async fn many_watches_share_one_login_and_a_server_without_users_wants_none() {
    let etcd = guarded().await;
    let source = discovery(config(&[&etcd]).with_user("reader", "hunter2"));
    let mut watches: Vec<Watch> = (0..50).map(|_| source.watch(&order())).collect();
    let all = watches.iter_mut().map(next);
    for update in futures_util::future::join_all(all).await {
        assert_eq!(ids(&update.expect("listed")), ["a"]);
    }
    assert_eq!(logins(&etcd), 1);

    let open = FakeEtcd::start().await;
    let source = discovery(config(&[&open]).with_user("reader", "hunter2"));
    source.fetch(&order()).await.expect("no login needed");
}

#[tokio::test]
async fn no_credentials_and_credentials_that_cannot_be_had_are_told_apart_from_an_outage() {
    let etcd = guarded().await;
    let error = discovery(config(&[&etcd]))
        .fetch(&order())
        .await
        .expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");

    static THERE: AtomicBool = AtomicBool::new(false);
    let credentials = Credentials::from_fn(|| {
        THERE
            .load(Ordering::Relaxed)
            .then(|| ("reader".into(), "hunter2".into()))
    });
    let source = discovery(config(&[&etcd]).with_credentials(credentials.clone()));
    let error = source.fetch(&order()).await.expect_err("none there");
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
    THERE.store(true, Ordering::Relaxed);
    let source = discovery(config(&[&etcd]).with_credentials(credentials));
    source
        .fetch(&order())
        .await
        .expect("asked for at each login");
}

#[tokio::test]
async fn a_password_that_was_changed_on_both_sides_is_taken_up_at_once() {
    let etcd = guarded().await;
    let password = Arc::new(Mutex::new("hunter2".to_owned()));
    let current = Arc::clone(&password);
    let credentials = Credentials::from_fn(move || {
        let password = current.lock().expect("not poisoned").clone();
        Some(("reader".into(), password))
    });
    let source = discovery(config(&[&etcd]).with_credentials(credentials));
    let mut watches: Vec<Watch> = (0..10).map(|_| source.watch(&order())).collect();
    for watch in &mut watches {
        until(watch, &["a"]).await;
        next(watch).await.expect("alive");
    }
    "hunter3".clone_into(&mut password.lock().expect("not poisoned"));
    etcd.with(|state| {
        state.user = Some(("reader".into(), "hunter3".into()));
        state.token += 1;
    });
    // All links that there are hold the old password.
    let reads = (0..10).map(|_| source.fetch(&order()));
    for update in futures_util::future::join_all(reads).await {
        assert_eq!(ids(&update.expect("the new password")), ["a"]);
    }
    assert!(logins(&etcd) <= 12, "{} logins", logins(&etcd));
}
