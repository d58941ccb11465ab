//! Reads that hang, announcements at bad moments, and subscriptions that fail.

use futures_util::FutureExt as _;

use super::*;

#[tokio::test(start_paused = true)]
async fn b25_a_service_whose_read_hangs_holds_up_no_other() {
    let naming = Scripted::new(Answer::List(records([1])));
    naming.then(Answer::Hang);
    let source = source(&naming);
    let mut hung = source.watch(&ServiceKey::new("hung"));
    let mut other = source.watch(&ServiceKey::new("order"));
    assert!(hung.next().now_or_never().is_none());
    tokio::task::yield_now().await;
    assert_eq!(naming.counts().lists, 1, "it has the hanging read");
    let began = Instant::now();
    other.next().await.expect("it goes on").expect("a list");
    source
        .fetch(&ServiceKey::new("cart"))
        .await
        .expect("a list");
    assert!(began.elapsed() < Duration::from_millis(100));
    let error = hung.next().await.expect("it goes on").expect_err("hung");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
}

/// What is announced while a list is on its way is newer than that list.
#[tokio::test(start_paused = true)]
async fn b29_a_change_announced_while_a_list_is_read_is_read_at_once() {
    let naming = Scripted::new(Answer::List(records([1])));
    naming.then(Answer::Late(Duration::from_secs(2), records([1, 2])));
    let mut watch = source(&naming).watch(&ServiceKey::new("order"));
    let began = Instant::now();
    let last = async {
        // Of the old list and the new one the old may be skipped.
        loop {
            let update = watch.next().await.expect("it goes on").expect("a list");
            if update.state.instance_count() == 1 {
                return began.elapsed();
            }
        }
    };
    let change = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        naming.announce(1);
    };
    let (took, ()) = tokio::join!(last, change);
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_eq!(naming.counts().lists, 2);
}

#[tokio::test(start_paused = true)]
async fn b33_a_subscription_that_fails_again_and_again_is_made_in_the_end() {
    let naming = Scripted::new(Answer::List(records([1])));
    let mut watch = source(&naming).watch(&ServiceKey::new("order"));
    watch.next().await.expect("it goes on").expect("a list");
    for round in 0..3 {
        // The connection is made anew; the server has forgotten all, and refuses the first two tries.
        naming.forget();
        naming.fail_subscribes(2);
        naming.then(Answer::Fail(ErrorKind::Unavailable));
        watch.next().await.expect("it goes on").expect_err("away");
        let mut reads = 0;
        while naming.subscriptions() == 0 {
            watch.next().await.expect("it goes on").expect("a list");
            reads += 1;
            assert!(reads < 5, "round {round}: never subscribed");
        }
    }
    naming.stand(Answer::List(records([1, 2])));
    naming.announce(1);
    let began = Instant::now();
    let heard = async {
        while watch
            .next()
            .await
            .expect("it goes on")
            .expect("a list")
            .state
            .instance_count()
            != 2
        {}
    };
    timeout(Duration::from_secs(1), heard)
        .await
        .expect("announced");
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn b33_a_watch_begun_while_the_server_is_away_is_subscribed_once_it_is_back() {
    let naming = Scripted::new(Answer::Fail(ErrorKind::Unavailable));
    naming.fail_subscribes(usize::MAX);
    let mut watch = source(&naming).watch(&ServiceKey::new("order"));
    for _ in 0..10 {
        watch.next().await.expect("it goes on").expect_err("away");
    }
    naming.fail_subscribes(0);
    naming.stand(Answer::List(records([1])));
    let back = async { while watch.next().await.expect("it goes on").is_err() {} };
    timeout(Duration::from_secs(3), back).await.expect("soon");
    assert_eq!(naming.subscriptions(), 1);
}
