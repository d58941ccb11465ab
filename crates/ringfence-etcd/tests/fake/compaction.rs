//! B08: compaction, resets and transactions.

use std::sync::Arc;

use etcd_client::proto::{PbEvent, PbKeyValue, PbWatchResponse};
use ringfence_discovery::{Discovery as _, Event, Supervisor, WatchConfig};

use super::{server::*, *};

#[tokio::test]
async fn a_compacted_watch_leads_to_the_whole_new_set() {
    let etcd = FakeEtcd::start().await;
    etcd.put(&key("k1"), value(1));
    etcd.put(&key("k2"), value(2));
    let source = discovery(config(&[&etcd]));
    let mut watch = source.watch(&order());
    until(&mut watch, &["k1", "k2"]).await;
    // The first watch dies of compaction; while it is away one goes and one comes.
    etcd.with(|state| state.on_watch.push_back(OnWatch::Compacted));
    etcd.delete(&key("k1"));
    etcd.put(&key("k3"), value(3));
    let update = until(&mut watch, &["k2", "k3"]).await;
    let listed = i64::try_from(update.revision.expect("known").get()).expect("small");
    etcd.put(&key("k4"), value(4));
    until(&mut watch, &["k2", "k3", "k4"]).await;
    etcd.with(|state| {
        assert_eq!(state.watches.len(), 2, "{:?}", state.watches);
        assert!(state.watches[1] >= listed, "{:?}", state.watches);
        assert!(state.leader_required);
    });
}

/// B29: the watch goes on exactly where the list ended, whatever happened while it was opened.
#[tokio::test]
async fn changes_between_the_list_and_the_watch_are_neither_lost_nor_undone() {
    let etcd = FakeEtcd::start().await;
    etcd.put(&key("a"), value(1));
    etcd.put(&key("b"), value(2));
    let source = discovery(config(&[&etcd]));
    let mut watch = source.watch(&order());
    let listed = next(&mut watch).await.expect("the list");
    assert_eq!(ids(&listed), ["a", "b"]);
    // The stream is lazy, so the watch is not open yet.
    assert_eq!(etcd.open_watches(), 0);
    etcd.delete(&key("b"));
    etcd.put(&key("c"), value(3));
    assert_eq!(ids(&next(&mut watch).await.expect("an update")), ["a", "c"]);
    etcd.with(|state| {
        let listed = i64::try_from(listed.revision.expect("known").get()).expect("small");
        assert_eq!(state.watches, [listed + 1]);
        assert_eq!(state.ranges.len(), 1, "no second list");
    });
}

#[tokio::test]
async fn compaction_over_and_over_is_no_hot_loop_and_keeps_the_pool() {
    let etcd = FakeEtcd::start().await;
    etcd.put(&key("a"), value(1));
    etcd.with(|state| state.on_every_watch = Some(OnWatch::Compacted));
    let source = discovery(config(&[&etcd]));
    let mut watch = source.watch(&order());
    let end = tokio::time::Instant::now() + Duration::from_secs(2);
    while let Ok(Some(item)) = tokio::time::timeout_at(end, watch.next()).await {
        assert_eq!(ids(&item.expect("no error")), ["a"]);
    }
    let watches = etcd.with(|state| state.watches.len());
    assert!(
        (3..=40).contains(&watches),
        "{watches} watches in two seconds"
    );
    etcd.with(|state| state.on_every_watch = None);
    etcd.put(&key("b"), value(2));
    until(&mut watch, &["a", "b"]).await;
}

#[tokio::test]
async fn a_transaction_is_one_change_even_in_fragments() {
    let etcd = FakeEtcd::start().await;
    let source = discovery(config(&[&etcd]).with_silence_timeout(Duration::from_secs(5)));
    let mut watch = source.watch(&order());
    until(&mut watch, &[]).await;
    let opened = async {
        while etcd.open_watches() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    // The stream is lazy: it opens its watch while it is polled.
    let polled = tokio::time::timeout(Duration::from_millis(300), watch.next());
    let (nothing, ()) = tokio::join!(polled, opened);
    assert!(nothing.is_err(), "{nothing:?}");

    let (a, b) = (key("a"), key("b"));
    let (one, two) = (value(1), value(2));
    etcd.with(|state| {
        state.transact(
            &[
                (a.as_bytes(), Some(one.as_bytes())),
                (b.as_bytes(), Some(two.as_bytes())),
            ],
            0,
        );
    });
    assert_eq!(ids(&next(&mut watch).await.expect("an update")), ["a", "b"]);

    // The same swap in two messages that belong together.
    let put = |key: &str, deleted: bool| {
        let mut kv = PbKeyValue::default();
        kv.key = key.as_bytes().to_vec();
        kv.mod_revision = 50;
        kv.value = value(3).into_bytes();
        let mut event = PbEvent::default();
        event.r#type = i32::from(deleted);
        event.kv = Some(kv);
        event
    };
    let mut first = PbWatchResponse::default();
    first.fragment = true;
    first.events = vec![put(&a, true)];
    etcd.send(&first);
    let half = tokio::time::timeout(Duration::from_millis(200), watch.next()).await;
    assert!(half.is_err(), "half a transaction is told: {half:?}");
    let mut second = PbWatchResponse::default();
    second.events = vec![put(&key("c"), false)];
    etcd.send(&second);
    let update = until(&mut watch, &["b", "c"]).await;
    assert_eq!(update.revision.map(|revision| revision.get()), Some(50));
}

#[tokio::test]
async fn an_unknown_kind_of_event_does_no_harm() {
    let etcd = FakeEtcd::start().await;
    etcd.put(&key("a"), value(1));
    let source = discovery(config(&[&etcd]));
    let mut watch = source.watch(&order());
    until(&mut watch, &["a"]).await;
    let mut odd = PbWatchResponse::default();
    let mut event = PbEvent::default();
    event.r#type = 77;
    odd.events = vec![event];
    while etcd.open_watches() == 0 {
        let _ = tokio::time::timeout(Duration::from_millis(50), watch.next()).await;
    }
    etcd.send(&odd);
    etcd.put(&key("b"), value(2));
    until(&mut watch, &["a", "b"]).await;
}

/// Whether the watch breaks with the reset, or goes on as if nothing had happened: then it starts at a revision that is far
/// ahead, and stays silent.
async fn reset(watch_breaks: bool) {
    let etcd = FakeEtcd::start().await;
    etcd.with(|state| state.revision = 5_000);
    etcd.put(&key("old"), value(1));
    let source = discovery(config(&[&etcd]));
    let mut supervisor = Supervisor::new(source, order(), WatchConfig::default().with_seed(1));
    let reached = tokio::time::timeout(Duration::from_secs(8), async {
        loop {
            let Event::Snapshot(accepted) = supervisor.next().await else {
                continue;
            };
            if accepted.snapshot.get("new").is_some() {
                return;
            }
            etcd.with(|state| {
                state.reset(1);
                let (old, new) = (key("old"), key("new"));
                let at = value(2);
                let changes = [
                    (old.as_bytes(), Some(at.as_bytes())),
                    (new.as_bytes(), Some(at.as_bytes())),
                ];
                state.mute(|state| state.transact(&changes, 0));
            });
            if watch_breaks {
                etcd.break_watches();
            }
        }
    });
    reached
        .await
        .expect("the new store is read although its revision is lower");
}

#[tokio::test]
async fn a_store_that_was_reset_is_believed() {
    reset(true).await;
}

#[tokio::test]
async fn a_store_that_was_reset_behind_the_back_of_a_watch_is_believed() {
    reset(false).await;
}

#[tokio::test]
async fn progress_below_what_is_known_does_not_turn_back() {
    let etcd = FakeEtcd::start().await;
    etcd.put(&key("a"), value(1));
    let source: Arc<EtcdDiscovery> = discovery(config(&[&etcd]));
    let mut watch = source.watch(&order());
    let known = until(&mut watch, &["a"]).await.revision.expect("known");
    next(&mut watch).await.expect("alive");
    let revision = etcd.with(|state| std::mem::replace(&mut state.revision, 3));
    let alive = next(&mut watch).await.expect("an answer to the probe");
    assert_eq!((ids(&alive), alive.revision), (vec!["a"], Some(known)));
    etcd.with(|state| state.revision = revision);
    next(&mut watch).await.expect("alive");
    assert_eq!(
        etcd.with(|state| state.ranges.len()),
        1,
        "once is no evidence"
    );
}
