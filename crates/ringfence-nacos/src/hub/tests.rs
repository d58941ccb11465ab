use std::{pin::pin, time::Duration};

use futures_util::{FutureExt as _, future::join_all};
use tokio::{
    runtime::Handle,
    time::{Instant, advance, sleep},
};

use super::*;
use crate::scripted::{Answer, Scripted, records};

const TIMING: Timing = Timing {
    read_timeout: Duration::from_secs(3),
    poll_interval: Duration::from_secs(10),
};

fn target(service: &str) -> Target {
    Target {
        group: "G".into(),
        service: service.into(),
    }
}

fn join(hub: &Arc<Hub>, service: &str) -> Watcher {
    Watcher::join(hub.clone(), target(service), TIMING).expect("a runtime")
}

fn ports(reading: &Reading) -> Vec<i64> {
    reading
        .as_ref()
        .expect("a list")
        .iter()
        .map(|r| r.port)
        .collect()
}

/// Lets tasks run that wait for nothing.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

#[tokio::test(start_paused = true)]
async fn b25_sixteen_first_callers_share_one_lookup_and_one_subscription() {
    let naming = Scripted::new(Answer::Late(Duration::from_secs(2), records([1])));
    let hub = Hub::new(naming.clone());
    let began = Instant::now();
    let mut watchers: Vec<_> = (0..16).map(|_| join(&hub, "a")).collect();
    sleep(Duration::from_secs(1)).await;
    drop(watchers.remove(0));
    let all = join_all(watchers.iter_mut().map(Watcher::next)).await;
    assert!(all.iter().all(|reading| ports(reading) == [1]));
    assert!(began.elapsed() <= Duration::from_secs(3));
    assert_eq!((naming.counts().lists, naming.counts().subscribes), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn b25_a_failed_lookup_is_tried_again_and_a_hung_one_ends() {
    let naming = Scripted::new(Answer::List(records([1])));
    naming.then(Answer::Fail(ErrorKind::Unavailable));
    naming.then(Answer::Hang);
    let hub = Hub::new(naming.clone());
    let (mut one, mut other) = (join(&hub, "a"), join(&hub, "a"));
    assert!(one.next().await.is_err());
    assert!(other.next().await.is_err());
    let began = Instant::now();
    let hung = one.next().await.expect_err("it hung");
    assert_eq!(hung.kind(), ErrorKind::Unavailable);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(ports(&one.next().await), [1]);
    assert_eq!(ports(&other.next().await), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_announcements_costs_few_reads_and_ends_with_the_truth() {
    let naming = Scripted::new(Answer::List(records([1])));
    let hub = Hub::new(naming.clone());
    let mut watcher = join(&hub, "a");
    assert_eq!(ports(&watcher.next().await), [1]);
    for port in 2..=6 {
        naming.stand(Answer::List(records([port])));
        naming.announce(20);
        settle().await;
    }
    let began = Instant::now();
    while ports(&watcher.next().await) != [6] {}
    assert!(began.elapsed() < Duration::from_secs(1));
    assert!(naming.counts().lists <= 4, "{:?}", naming.counts());
}

#[tokio::test(start_paused = true)]
async fn a_change_that_nobody_announced_is_found_and_the_subscription_renewed() {
    let naming = Scripted::new(Answer::List(records([1])));
    let hub = Hub::new(naming.clone());
    let mut watcher = join(&hub, "a");
    assert_eq!(ports(&watcher.next().await), [1]);
    // What refuses a subscription: the library calls it made, and no announcement ever comes.
    naming.forget();
    naming.stand(Answer::List(records([2])));
    let began = Instant::now();
    assert_eq!(ports(&watcher.next().await), [2]);
    assert!(began.elapsed() <= Duration::from_secs(12));
    assert_eq!(ports(&watcher.next().await), [2], "unchanged, but alive");
    assert_eq!(naming.counts().subscribes, 2);

    naming.stand(Answer::List(records([3])));
    naming.announce(1);
    let began = Instant::now();
    assert_eq!(ports(&watcher.next().await), [3]);
    assert!(began.elapsed() < Duration::from_secs(1));
    watcher.next().await.expect("a list");
    assert_eq!(
        naming.counts().subscribes,
        2,
        "an announced change is no reason"
    );
}

/// The library announces nothing when a push says what the library last knew, though a read in between said something else.
#[tokio::test(start_paused = true)]
async fn a_change_that_is_taken_back_unannounced_is_noticed_soon() {
    let naming = Scripted::new(Answer::List(records([1])));
    let hub = Hub::new(naming.clone());
    let mut watcher = join(&hub, "a");
    assert_eq!(ports(&watcher.next().await), [1]);
    sleep(Duration::from_secs(5)).await;
    naming.stand(Answer::List(records([2])));
    naming.announce(1);
    while ports(&watcher.next().await) != [2] {}
    naming.stand(Answer::List(records([1])));
    let began = Instant::now();
    while ports(&watcher.next().await) != [1] {}
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
}

/// After an outage the library's knowledge is from before it.
#[tokio::test(start_paused = true)]
async fn a_list_read_after_an_outage_is_soon_read_again() {
    let naming = Scripted::new(Answer::List(records([1])));
    let hub = Hub::new(naming.clone());
    let mut watcher = join(&hub, "a");
    assert_eq!(ports(&watcher.next().await), [1]);
    naming.then(Answer::Fail(ErrorKind::Unavailable));
    while watcher.next().await.is_ok() {}
    assert_eq!(ports(&watcher.next().await), [1]);
    naming.stand(Answer::List(records([2])));
    let began = Instant::now();
    while ports(&watcher.next().await) != [2] {}
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
}

/// A server that is back before the next read has forgotten the subscription all the same.
#[tokio::test(start_paused = true)]
async fn an_outage_between_two_reads_renews_the_subscription_at_once() {
    let naming = Scripted::new(Answer::List(records([1])));
    let hub = Hub::new(naming.clone());
    let mut watcher = join(&hub, "a");
    assert_eq!(ports(&watcher.next().await), [1]);
    // Past the read that confirms the first one.
    sleep(Duration::from_secs(4)).await;
    let subscribes = naming.counts().subscribes;
    naming.forget();
    naming.stand(Answer::List(records([2])));
    naming.relink();
    let began = Instant::now();
    while ports(&watcher.next().await) != [2] {}
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(naming.counts().subscribes, subscribes + 1);
    assert_eq!(naming.subscriptions(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_rests_is_read_once_an_interval() {
    let naming = Scripted::new(Answer::List(records([1])));
    let hub = Hub::new(naming.clone());
    let _watcher = join(&hub, "a");
    sleep(Duration::from_secs(100)).await;
    let lists = naming.counts().lists;
    assert!((9..=14).contains(&lists), "{lists} reads in 100 s");
}

#[tokio::test(start_paused = true)]
async fn b33_every_recovery_renews_the_subscription() {
    let naming = Scripted::new(Answer::List(records([1])));
    let hub = Hub::new(naming.clone());
    let mut watcher = join(&hub, "a");
    assert_eq!(ports(&watcher.next().await), [1]);
    for round in 0..3 {
        naming.forget();
        naming.then(Answer::Fail(ErrorKind::Unavailable));
        naming.then(Answer::Fail(ErrorKind::Unauthorized));
        watcher.next().await.expect_err("away");
        watcher.next().await.expect_err("refused");
        assert_eq!(ports(&watcher.next().await), [1], "round {round}");
        assert_eq!(naming.subscriptions(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_is_not_asked_in_a_loop() {
    let naming = Scripted::new(Answer::Fail(ErrorKind::Unauthorized));
    let hub = Hub::new(naming.clone());
    let _watcher = join(&hub, "a");
    sleep(Duration::from_secs(30)).await;
    assert!(
        (4..=9).contains(&naming.counts().lists),
        "{:?}",
        naming.counts()
    );
}

#[tokio::test(start_paused = true)]
async fn who_joins_later_gets_a_list_read_after_that() {
    let naming = Scripted::new(Answer::List(records([1])));
    let hub = Hub::new(naming.clone());
    let mut first = join(&hub, "a");
    assert_eq!(ports(&first.next().await), [1]);
    naming.stand(Answer::List(records([2])));
    let mut second = join(&hub, "a");
    let began = Instant::now();
    assert_eq!(ports(&second.next().await), [2]);
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn the_last_watcher_to_go_ends_subscription_and_task() {
    let before = tasks();
    let naming = Scripted::new(Answer::List(records([1])));
    let hub = Hub::new(naming.clone());
    for _ in 0..20 {
        let (mut one, other) = (join(&hub, "a"), join(&hub, "a"));
        one.next().await.expect("a list");
        assert_eq!((tasks(), naming.subscriptions()), (before + 1, 1));
        drop(one);
        settle().await;
        assert_eq!(naming.subscriptions(), 1, "the other one still watches");
        drop(other);
        settle().await;
        assert_eq!((tasks(), naming.subscriptions()), (before, 0));
    }
    assert!(hub.lock().topics.is_empty());
    assert_eq!(Arc::strong_count(&hub), 1);
}

#[tokio::test(start_paused = true)]
async fn a_reader_ends_while_a_read_hangs() {
    let before = tasks();
    let naming = Scripted::new(Answer::Hang);
    let hub = Hub::new(naming.clone());
    drop(join(&hub, "a"));
    settle().await;
    let watcher = join(&hub, "a");
    settle().await;
    drop(watcher);
    settle().await;
    assert_eq!((tasks(), naming.subscriptions()), (before, 0));
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_cannot_be_ended_is_ended_later() {
    let before = tasks();
    let naming = Scripted::new(Answer::List(records([1])));
    let hub = Hub::new(naming.clone());
    let mut gone = join(&hub, "gone");
    gone.next().await.expect("a list");
    naming.hang_unsubscribes(true);
    drop(gone);
    sleep(Duration::from_millis(1_100)).await;
    assert_eq!(tasks(), before, "the task does not wait for it");
    assert_eq!(naming.subscriptions(), 1);

    naming.hang_unsubscribes(false);
    let mut other = join(&hub, "other");
    other.next().await.expect("a list");
    settle().await;
    assert_eq!(naming.subscriptions(), 1, "only the one that is watched");
    assert!(hub.lock().orphans.is_empty());
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_during_the_farewell_is_subscribed() {
    let naming = Scripted::new(Answer::List(records([1])));
    let hub = Hub::new(naming.clone());
    let mut watcher = join(&hub, "a");
    watcher.next().await.expect("a list");
    naming.hang_unsubscribes(true);
    drop(watcher);
    settle().await;
    assert_eq!(naming.counts().unsubscribes, 1, "under way");
    let mut back = join(&hub, "a");
    naming.hang_unsubscribes(false);
    naming.forget();
    assert_eq!(ports(&back.next().await), [1]);
    assert_eq!(naming.subscriptions(), 1);
    assert_eq!(hub.lock().topics.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_orphan_that_is_watched_again_keeps_its_subscription() {
    let naming = Scripted::new(Answer::List(records([1])));
    let hub = Hub::new(naming.clone());
    let mut watcher = join(&hub, "a");
    watcher.next().await.expect("a list");
    naming.hang_unsubscribes(true);
    drop(watcher);
    sleep(Duration::from_secs(2)).await;
    naming.hang_unsubscribes(false);
    let mut again = join(&hub, "a");
    again.next().await.expect("a list");
    advance(Duration::from_secs(30)).await;
    settle().await;
    assert_eq!((naming.subscriptions(), hub.lock().orphans.len()), (1, 0));
}

#[test]
fn a_watcher_outlives_the_runtime_of_another() {
    let naming = Scripted::new(Answer::List(records([1])));
    let hub = Hub::new(naming.clone());
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime")
    };
    let (short, long) = (runtime(), runtime());
    let mut first = short.block_on(async { join(&hub, "a") });
    short.block_on(first.next()).expect("a list");
    let mut second = long.block_on(async { join(&hub, "a") });
    drop(short);
    long.block_on(second.next())
        .expect("a list, by a reader of its own");
    drop(first);
    long.block_on(async {
        assert_eq!(naming.subscriptions(), 1);
        drop(second);
        settle().await;
        assert_eq!(naming.subscriptions(), 0);
        assert!(hub.lock().topics.is_empty());
    });
}

#[test]
fn without_a_runtime_there_is_an_error_and_no_panic() {
    let hub = Hub::new(Scripted::new(Answer::Hang));
    let failure = Watcher::join(hub, target("a"), TIMING)
        .err()
        .expect("no runtime");
    assert_eq!(failure.kind(), ErrorKind::Config);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_next_reading_can_be_broken_off() {
    let naming = Scripted::new(Answer::List(records([1])));
    let hub = Hub::new(naming);
    let mut watcher = join(&hub, "a");
    for _ in 0..10 {
        assert!(pin!(watcher.next()).now_or_never().is_none());
    }
    assert_eq!(ports(&watcher.next().await), [1]);
}
