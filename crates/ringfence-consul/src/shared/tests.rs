mod source;

use std::{error::Error as _, pin::pin};

use futures_util::{FutureExt as _, StreamExt, future::join_all};
use tokio::time::sleep;

use self::source::{Source, Step, Watch, revision};
use super::*;

const FRESH: Duration = Duration::from_secs(10);

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

#[tokio::test(start_paused = true)]
async fn b25_sixteen_first_callers_share_one_lookup_and_the_first_may_go() {
    let source = Source::new(&[
        Step::Wait(secs(2)),
        Step::Give(1),
        Step::Wait(secs(5)),
        Step::Give(2),
    ]);
    let shared = SharedWatches::new(FRESH);
    let began = Instant::now();
    let mut watches: Vec<Watch> = (0..16).map(|_| source.watch(&shared, "order")).collect();
    // The first begins the lookup alone, and is gone before it is answered.
    let mut first = watches.remove(0);
    assert!(first.next().now_or_never().is_none());
    let others = tokio::spawn(async move {
        let all = join_all(watches.iter_mut().map(StreamExt::next)).await;
        (all.into_iter().map(revision).collect::<Vec<_>>(), watches)
    });
    sleep(secs(1)).await;
    drop(first);
    let (seen, mut watches) = others.await.expect("no panic");
    assert_eq!(seen, [1; 15]);
    assert!(began.elapsed() <= secs(3), "{:?}", began.elapsed());
    let all = join_all(watches.iter_mut().map(StreamExt::next)).await;
    assert!(all.into_iter().all(|item| revision(item) == 2));
    assert_eq!((source.opened(), source.open()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn whoever_is_polled_moves_it_on_for_all() {
    let source = Source::new(&[
        Step::Give(1),
        Step::Wait(secs(1)),
        Step::Give(2),
        Step::Wait(secs(1)),
        Step::Give(3),
    ]);
    let shared = SharedWatches::new(FRESH);
    let (mut idle, mut eager) = (
        source.watch(&shared, "order"),
        source.watch(&shared, "order"),
    );
    assert_eq!(revision(idle.next().await), 1);
    for expected in [1, 2, 3] {
        assert_eq!(revision(eager.next().await), expected);
    }
    assert_eq!(revision(idle.next().await), 3, "only the newest");
    assert!(idle.next().now_or_never().is_none());
}

/// A watcher that waits is woken although another one was polled last.
#[tokio::test(start_paused = true)]
async fn who_waits_is_woken_when_another_one_goes() {
    let source = Source::new(&[Step::Wait(secs(2)), Step::Give(1)]);
    let shared = SharedWatches::new(FRESH);
    let mut waiting = source.watch(&shared, "order");
    let waiting = tokio::spawn(async move { revision(waiting.next().await) });
    tokio::task::yield_now().await;
    let mut last = source.watch(&shared, "order");
    assert!(last.next().now_or_never().is_none());
    drop(last);
    assert_eq!(waiting.await.expect("no panic"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_newcomer_gets_the_current_state_at_once() {
    let source = Source::new(&[Step::Give(7)]);
    let shared = SharedWatches::new(FRESH);
    let mut first = source.watch(&shared, "order");
    assert_eq!(revision(first.next().await), 7);
    sleep(FRESH).await;
    let mut second = source.watch(&shared, "order");
    assert_eq!(second.next().now_or_never().map(revision), Some(7));
    assert!(second.next().now_or_never().is_none(), "once");
    assert_eq!(source.opened(), 1);
}

/// Nobody polled it, so nobody knows what happened since.
#[tokio::test(start_paused = true)]
async fn what_was_not_attended_to_is_no_current_state() {
    let source = Source::new(&[Step::Give(7)]);
    let shared = SharedWatches::new(FRESH);
    let mut idle = source.watch(&shared, "order");
    assert_eq!(revision(idle.next().await), 7);
    sleep(FRESH + secs(1)).await;
    source.stand(&[Step::Give(9)]);
    let (mut second, mut third) = (
        source.watch(&shared, "order"),
        source.watch(&shared, "order"),
    );
    assert_eq!(revision(second.next().await), 9);
    assert_eq!(revision(third.next().await), 9);
    assert_eq!(source.opened(), 2);
    // The end of the old one does not take the new one out.
    drop(idle);
    assert_eq!(revision(source.watch(&shared, "order").next().await), 9);
    assert_eq!((source.opened(), source.open()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_told_to_all_and_the_next_one_tries_again() {
    let source = Source::new(&[Step::Wait(secs(1)), Step::Fail]);
    let shared = SharedWatches::new(FRESH);
    let (mut one, mut other) = (
        source.watch(&shared, "order"),
        source.watch(&shared, "order"),
    );
    let (first, second) = tokio::join!(one.next(), other.next());
    for item in [first, second] {
        let error = item.expect("an item").expect_err("a failure");
        assert_eq!(
            (error.kind(), error.to_string()),
            (ErrorKind::Unavailable, "consul: gone".to_owned())
        );
        let cause = error.source().expect("kept");
        assert_eq!(
            (cause.to_string(), cause.source().is_none()),
            ("the cable".to_owned(), true)
        );
    }
    assert_eq!(source.open(), 0, "closed before anybody asks again");
    source.stand(&[Step::Give(3)]);
    let mut again = source.watch(&shared, "order");
    assert_eq!(revision(again.next().await), 3);
    assert!(one.next().await.is_none() && other.next().await.is_none());
    assert_eq!(source.opened(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_end_and_a_panic_are_errors_for_all_and_strand_nobody() {
    for fault in [Step::End, Step::Panic] {
        let source = Source::new(&[Step::Give(1), Step::Wait(secs(1)), fault]);
        let shared = SharedWatches::new(FRESH);
        let mut watches: Vec<Watch> = (0..3).map(|_| source.watch(&shared, "order")).collect();
        for watch in &mut watches {
            assert_eq!(revision(watch.next().await), 1);
        }
        for item in join_all(watches.iter_mut().map(StreamExt::next)).await {
            let error = item.expect("an item").expect_err("a fault");
            assert_eq!(error.kind(), ErrorKind::Protocol, "{fault:?}");
        }
        assert_eq!(source.open(), 0, "{fault:?}");
        assert_eq!(revision(source.watch(&shared, "order").next().await), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn services_are_apart_and_the_last_to_go_ends_its_own() {
    let source = Source::new(&[Step::Give(1)]);
    let shared = SharedWatches::new(FRESH);
    let mut watches = Vec::new();
    for n in 0..10 {
        let mut watch = source.watch(&shared, if n % 2 == 0 { "order" } else { "cart" });
        assert_eq!(revision(watch.next().await), 1);
        watches.push(watch);
    }
    assert_eq!((source.opened(), source.open()), (2, 2));
    while watches.len() > 2 {
        drop(watches.remove(0));
        assert_eq!(source.open(), 2);
    }
    drop(watches.pop());
    assert_eq!(source.open(), 1);
    drop(watches);
    assert_eq!(source.open(), 0);
    assert!(lock(&shared.topics).is_empty());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_opened_before_the_first_poll() {
    let source = Source::new(&[Step::Give(1)]);
    let shared = SharedWatches::new(FRESH);
    drop(source.watch(&shared, "order"));
    assert_eq!(source.opened(), 0);
}

/// The one whose runtime made the timers is gone, with its runtime.
#[test]
fn the_end_of_a_runtime_is_an_error_for_those_of_another() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().expect("a runtime")
    };
    let (short, long) = (runtime(), runtime());
    let source = Source::new(&[Step::Wait(secs(60)), Step::Give(1)]);
    let shared = SharedWatches::new(FRESH);
    let mut first = source.watch(&shared, "order");
    let mut second = source.watch(&shared, "order");
    short.block_on(async {
        assert!(pin!(first.next()).now_or_never().is_none());
    });
    long.block_on(async {
        assert!(pin!(second.next()).now_or_never().is_none());
    });
    drop((short, first));
    long.block_on(async {
        let item = second.next().await.expect("an item");
        assert_eq!(
            item.expect_err("its timer is gone").kind(),
            ErrorKind::Protocol
        );
        source.stand(&[Step::Give(2)]);
        assert_eq!(revision(source.watch(&shared, "order").next().await), 2);
    });
}

/// Many tasks on many threads, joining, polling and leaving: each update arrives, nothing hangs and nothing is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn watchers_that_come_and_go_on_many_threads_lose_nothing() {
    let steps: Vec<Step> = (1..=200)
        .flat_map(|n| [Step::Wait(Duration::from_millis(1)), Step::Give(n)])
        .collect();
    let source = Source::new(&steps);
    let shared = SharedWatches::new(FRESH);
    let mut keeper = source.watch(&shared, "order");
    revision(keeper.next().await);
    let tasks = (0..16).map(|n| {
        let (source, shared) = (source.clone(), Arc::clone(&shared));
        tokio::spawn(async move {
            let rng = &mut fastrand::Rng::with_seed(n);
            loop {
                let mut watch = source.watch(&shared, "order");
                let mut last = 0;
                for _ in 0..rng.usize(1..20) {
                    let next = revision(watch.next().await);
                    assert!(next > last, "{next} after {last}, seed {n}");
                    last = next;
                    if last == 200 {
                        return;
                    }
                }
            }
        })
    });
    let all = join_all(tasks.collect::<Vec<_>>());
    let all = tokio::time::timeout(secs(60), all).await.expect("in time");
    assert!(all.into_iter().all(|done| done.is_ok()));
    assert_eq!(source.opened(), 1);
    drop(keeper);
    assert_eq!(source.open(), 0);
}
