//! Long polls, deadlines and dead connections.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use ringfence_core::Snapshot;
use ringfence_discovery::{Discovery as _, ErrorKind, Event, ServiceKey, Supervisor, WatchConfig};
use ringfence_testkit::{Answer, Backend, Behaviour, Relay, SilentAddress};
use tokio::time::{Instant, sleep, timeout};

use crate::fake::{answer, at, config, consul, ids, key, next, query, watch, within};

#[tokio::test]
async fn a_quiet_end_after_the_sixteenth_is_no_error() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("7", &["a"]));
    backend.then(answer("7", &["a"]).after(Duration::from_millis(1_062)));
    backend.then(answer("8", &["b"]).after(Duration::from_millis(100)));
    let mut watch = watch(config(&backend).with_slack(Duration::from_millis(300)));
    for expected in ["a", "a", "b"] {
        assert_eq!(ids(&next(&mut watch).await.expect("a list")), [expected]);
    }
    let requests = backend.requests();
    let asked: Vec<_> = requests.iter().map(|r| query(r, "index")).collect();
    assert_eq!(asked, [None, Some("7".into()), Some("7".into())]);
}

#[tokio::test]
async fn a_gateway_that_waits_less_is_no_alarm() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("7", &["a"]));
    for _ in 0..5 {
        backend.then(Answer::status(504).after(Duration::from_millis(1_600)));
    }
    backend.then(answer("8", &["b"]));
    let mut watch = watch(config(&backend).with_wait(Duration::from_secs(4)));
    next(&mut watch).await.expect("a list");
    let update = within(15, watch.next()).await.expect("endless");
    assert_eq!(ids(&update.expect("no error")), ["b"]);
    let requests = backend.requests();
    let waits: Vec<u64> = requests[1..]
        .iter()
        .map(|request| {
            assert_eq!(query(request, "index").as_deref(), Some("7"));
            let wait = query(request, "wait").expect("there");
            wait.trim_end_matches("ms").parse().expect("milliseconds")
        })
        .collect();
    assert!(
        waits[0] >= 3_600 && waits[1..].iter().all(|wait| *wait < 1_400),
        "{waits:?}"
    );
}

/// The gateway waits for 30 s whatever is asked of it, so that even shorter waits do not help (B52).
#[tokio::test(start_paused = true)]
async fn a_gateway_that_cuts_everything_takes_nothing_away_and_is_not_hammered() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("7", &["a"]));
    backend.always(Answer::status(504).after(Duration::from_secs(30)));
    let config = at(backend.uri())
        .with_wait(Duration::from_secs(60))
        .with_slack(Duration::from_secs(3))
        .with_poll_interval(Duration::from_millis(500));
    let watching = WatchConfig::default().with_seed(7);
    let mut supervisor = Supervisor::new(Arc::new(consul(config)), key(), watching);
    let Event::Snapshot(first) = supervisor.next().await else {
        panic!("a list first");
    };
    assert_eq!(first.snapshot.len(), 1);
    let began = Instant::now();
    let lost = async {
        loop {
            let event = supervisor.next().await;
            if matches!(event, Event::Snapshot(_) | Event::NoSuchService) {
                return event;
            }
        }
    };
    let lost = timeout(Duration::from_secs(5 * 30), lost).await;
    assert!(lost.is_err(), "{lost:?}");
    let asked = backend.request_count();
    assert!((5..=75).contains(&asked), "{asked} requests in 150 s");
    assert!(supervisor.status().is_stale());

    backend.always(answer("8", &["b"]));
    let found = async {
        loop {
            if let Event::Snapshot(accepted) = supervisor.next().await {
                return ids_of(&accepted.snapshot);
            }
        }
    };
    let found = timeout(Duration::from_secs(300), found).await;
    assert_eq!(found.expect("within the resync time"), ["b"]);
    assert!(
        began.elapsed() < Duration::from_secs(300),
        "{:?}",
        began.elapsed()
    );
}

fn ids_of(snapshot: &Snapshot) -> Vec<String> {
    let ids = snapshot.instances().iter();
    ids.map(|instance| {
        instance
            .id()
            .as_str()
            .trim_start_matches("dc/n/")
            .to_owned()
    })
    .collect()
}

#[tokio::test]
async fn a_gateway_that_does_not_wait_is_an_error() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("7", &["a"]));
    backend.always(Answer::status(504));
    let mut watch = watch(config(&backend));
    next(&mut watch).await.expect("a list");
    let error = next(&mut watch).await.expect_err("504");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up_after_its_wait() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("7", &["a"]));
    backend.always(Behaviour::Hang);
    let mut watch = watch(config(&backend));
    next(&mut watch).await.expect("a list");
    let started = Instant::now();
    let error = next(&mut watch).await.expect_err("silence");
    let passed = started.elapsed();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    // The wait of 0.9 to 1 s, a sixteenth and the slack of 0.5 s.
    assert!(
        passed >= Duration::from_millis(1_440) && passed < Duration::from_millis(2_500),
        "{passed:?}"
    );
    within(1, backend.until(|b| b.open_connections() == 0)).await;
}

#[tokio::test]
async fn a_dropped_poll_frees_its_socket() {
    let backend = Backend::start().await.expect("a port");
    let source = consul(config(&backend).with_wait(Duration::from_secs(60)));
    let mut watches = Vec::new();
    for n in 0..20 {
        backend.then(answer("7", &["a"]));
        let mut watch = source.watch(&ServiceKey::new(format!("s{n}")));
        next(&mut watch).await.expect("a list");
        watches.push(watch);
    }
    backend.always(Behaviour::Hang);
    for watch in &mut watches {
        let _ = timeout(Duration::from_millis(50), next(watch)).await;
    }
    within(5, backend.until(|b| b.in_flight() == 20)).await;
    let asked = backend.request_count();
    drop(watches);
    within(1, backend.until(|b| b.in_flight() == 0)).await;
    within(3, backend.until(|b| b.open_connections() == 0)).await;
    sleep(Duration::from_millis(200)).await;
    assert_eq!(backend.request_count(), asked, "nobody asks on");
}

#[tokio::test]
async fn a_connection_that_goes_dead_without_a_word_is_replaced() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("7", &["a"]));
    backend.always(Behaviour::Hang);
    let relay = Relay::start(backend.address()).await.expect("a port");
    let source = consul(at(format!("http://{}", relay.address())));
    let mut first = source.watch(&key());
    next(&mut first).await.expect("a list");
    let polling = async { next(&mut first).await };
    let dying = async {
        backend.until(|b| b.request_count() == 2).await;
        relay.freeze();
    };
    let (outcome, ()) = within(4, async { tokio::join!(polling, dying) }).await;
    assert_eq!(outcome.expect_err("dead").kind(), ErrorKind::Unavailable);
    relay.thaw();
    backend.always(answer("8", &["b"]));
    let update = next(&mut source.watch(&key()))
        .await
        .expect("a new connection");
    assert_eq!(ids(&update), ["b"]);
    assert!(relay.connections() >= 2);
}

#[tokio::test]
async fn connecting_is_bounded() {
    let silent = SilentAddress::new().expect("a port");
    let config = at(format!("http://{}", silent.address()))
        .with_slack(Duration::from_secs(60))
        .with_connect_timeout(Duration::from_millis(200));
    let source = consul(config);
    let error = within(5, source.fetch(&key()))
        .await
        .expect_err("no connection");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn an_answer_that_trickles_in_counts_as_one() {
    let backend = Backend::start().await.expect("a port");
    let mut slow = Answer::ok("[").header("x-consul-index", "7");
    for _ in 0..4 {
        slow = slow.pause(Duration::from_millis(50)).chunk(" ");
    }
    backend.always(slow.chunk("]"));
    let update = consul(config(&backend))
        .fetch(&key())
        .await
        .expect("a list");
    assert_eq!(update.state.instance_count(), 0);
}
