//! All who watch one service share one query (B25).

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, future::join_all};
use ringfence_discovery::{Discovery as _, Event, ServiceKey, Supervisor, WatchConfig};
use ringfence_testkit::{Answer, Backend, Behaviour};
use tokio::time::{Instant, sleep, timeout};

use crate::fake::{Watch, answer, at, config, consul, ids, key, next, within};

/// Polls all of them until each has its next item; the ids in it.
async fn all(watches: &mut [Watch]) -> Vec<Vec<String>> {
    let items = within(5, join_all(watches.iter_mut().map(next))).await;
    let owned = |item| ids(&item).into_iter().map(str::to_owned).collect();
    items
        .into_iter()
        .map(|item| owned(item.expect("a list")))
        .collect()
}

/// Polls all of them for a while, in which nothing may come.
async fn quiet(watches: &mut [Watch]) {
    let polled = join_all(watches.iter_mut().map(next));
    let came = timeout(Duration::from_millis(100), polled).await;
    assert!(came.is_err(), "{came:?}");
}

#[tokio::test]
async fn sixteen_watchers_are_one_query_until_the_last_one_goes() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("7", &["a"]).after(Duration::from_millis(300)));
    backend.then(answer("8", &["a", "b"]).after(Duration::from_millis(500)));
    backend.always(Behaviour::Hang);
    let source = consul(at(backend.uri()).with_wait(Duration::from_secs(60)));
    let clones: Vec<_> = (0..16).map(|_| source.clone()).collect();
    let mut watches: Vec<Watch> = clones.iter().map(|source| source.watch(&key())).collect();
    assert_eq!(all(&mut watches).await, vec![["a"]; 16]);
    quiet(&mut watches).await;
    assert_eq!(
        (backend.request_count(), backend.open_connections()),
        (2, 1)
    );

    // The one that began it all goes, and one comes late, who has the state of now at once.
    drop(watches.remove(0));
    let mut late = source.watch(&key());
    assert_eq!(ids(&next(&mut late).await.expect("a list")), ["a"]);
    watches.push(late);
    assert_eq!(all(&mut watches).await, vec![["a", "b"]; 16]);
    quiet(&mut watches).await;
    assert_eq!(
        (backend.request_count(), backend.open_connections()),
        (3, 1)
    );

    drop(watches);
    within(1, backend.until(|b| b.in_flight() == 0)).await;
    within(3, backend.until(|b| b.open_connections() == 0)).await;
    sleep(Duration::from_millis(200)).await;
    assert_eq!(backend.request_count(), 3, "nobody asks on");
}

#[tokio::test]
async fn a_change_reaches_all_and_each_service_has_a_query_of_its_own() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("7", &["a"]));
    backend.then(answer("8", &["a", "b"]).after(Duration::from_millis(200)));
    backend.always(Behaviour::Hang);
    let source = consul(at(backend.uri()).with_wait(Duration::from_secs(60)));
    let mut watches: Vec<Watch> = (0..4).map(|_| source.watch(&key())).collect();
    assert_eq!(all(&mut watches).await, vec![vec!["a"]; 4]);
    assert_eq!(all(&mut watches).await, vec![vec!["a", "b"]; 4]);
    backend.then(answer("9", &["c"]));
    let cart = ServiceKey::new("cart");
    let mut other = source.watch(&cart);
    assert_eq!(ids(&next(&mut other).await.expect("a list")), ["c"]);
    let elsewhere = key().with_namespace("dc2");
    backend.then(answer("9", &["d"]));
    let mut far = source.watch(&elsewhere);
    assert_eq!(ids(&next(&mut far).await.expect("a list")), ["d"]);
}

#[tokio::test]
async fn one_failure_is_told_to_all_and_one_of_them_asks_again_for_all() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("7", &["a"]));
    backend.then(Answer::status(500).after(Duration::from_millis(100)));
    let source = consul(config(&backend));
    let mut watches: Vec<Watch> = (0..8).map(|_| source.watch(&key())).collect();
    all(&mut watches).await;
    for item in within(5, join_all(watches.iter_mut().map(next))).await {
        assert!(item.expect_err("500").to_string().contains("500"));
    }
    assert_eq!(backend.request_count(), 2);
    for watch in &mut watches {
        assert!(within(1, watch.next()).await.is_none());
    }
    backend.then(answer("8", &["b"]));
    backend.always(Behaviour::Hang);
    let mut again: Vec<Watch> = (0..8).map(|_| source.watch(&key())).collect();
    assert_eq!(all(&mut again).await, vec![["b"]; 8]);
    quiet(&mut again).await;
    assert_eq!((backend.request_count(), backend.in_flight()), (4, 1));
}

/// As balancers of one service do it: each with a task and a backoff of its own.
#[tokio::test]
async fn supervisors_of_one_service_share_and_recover_together() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("7", &["a"]));
    backend.always(Behaviour::Hang);
    let source = Arc::new(consul(at(backend.uri()).with_wait(Duration::from_secs(60))));
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let watching = WatchConfig::default().without_resync().without_staleness();
            let mut supervisor = Supervisor::new(source.clone(), key(), watching);
            tokio::spawn(async move {
                loop {
                    if let Event::Snapshot(accepted) = supervisor.next().await
                        && accepted.snapshot.len() == 2
                    {
                        return;
                    }
                }
            })
        })
        .collect();
    within(5, backend.until(|b| b.request_count() == 2)).await;
    sleep(Duration::from_millis(200)).await;
    assert_eq!((backend.request_count(), backend.in_flight()), (2, 1));
    backend.always(answer("8", &["a", "b"]).after(Duration::from_millis(300)));
    let began = Instant::now();
    backend.reset_connections();
    for task in tasks {
        within(10, task).await.expect("no panic");
    }
    let asked = backend.request_count() - 2;
    // One that asks for all, and what is asked on until the last of them has seen it.
    let answered = began.elapsed().as_millis() / 300;
    let most = 4 + usize::try_from(answered).expect("small");
    assert!(asked <= most, "{asked} requests, at most {most}");
}
