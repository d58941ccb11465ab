//! What indexes mean: they go back, are odd, or move for nothing.

use std::{sync::Arc, time::Duration};

use ringfence_consul::Consistency;
use ringfence_discovery::{Discovery as _, Event, Revision, Supervisor, WatchConfig};
use ringfence_testkit::{Answer, Backend, Behaviour};

use crate::fake::{answer, at, config, consul, ids, key, list, next, query, watch, within};

#[tokio::test]
async fn a_lower_index_is_asked_anew_and_then_believed() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("100", &["a", "b"]));
    backend.then(answer("40", &["c"]));
    backend.then(answer("40", &["c"]));
    backend.then(answer("41", &["c", "d"]));
    backend.always(Behaviour::Hang);
    let mut watch = watch(config(&backend));
    let first = next(&mut watch).await.expect("a list");
    assert_eq!(
        (ids(&first), first.revision),
        (vec!["a", "b"], Some(Revision::new(100)))
    );
    let reset = next(&mut watch).await.expect("a list");
    assert_eq!((ids(&reset), reset.revision), (vec!["c"], None));
    let after = next(&mut watch).await.expect("a list");
    assert_eq!(
        (ids(&after), after.revision),
        (vec!["c", "d"], Some(Revision::new(41)))
    );
    let requests = backend.requests();
    let asked: Vec<_> = requests.iter().map(|r| query(r, "index")).collect();
    assert_eq!(
        asked,
        [None, Some("100".into()), None, Some("40".into())],
        "the old value is never waited on"
    );
}

#[tokio::test]
async fn a_lagging_server_takes_nothing_away() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("120", &["a", "b"]));
    backend.then(answer("110", &["a"]).header("x-consul-lastcontact", "3000"));
    backend.then(answer("121", &["a", "b"]));
    let source = consul(config(&backend).with_consistency(Consistency::Stale));
    let mut watch = source.watch(&key());
    for revision in [120, 121] {
        let update = next(&mut watch).await.expect("a list");
        assert_eq!(ids(&update), ["a", "b"]);
        assert_eq!(update.revision, Some(Revision::new(revision)));
    }
    // A watch that begins anew is not taken in either, nor is a single read.
    drop(watch);
    backend.then(answer("115", &["a"]));
    backend.then(answer("122", &["a", "b"]));
    let update = next(&mut source.watch(&key())).await.expect("a list");
    assert_eq!(ids(&update), ["a", "b"]);
    backend.then(answer("122", &["a", "b"]));
    source.fetch(&key()).await.expect("a list");
    let requests = backend.requests();
    let stale: Vec<bool> = requests
        .iter()
        .map(|request| query(request, "stale").is_some())
        .collect();
    assert_eq!(
        stale,
        [true, true, false, true, false, false],
        "doubts and single reads go to the leader"
    );
}

/// A server that lags behind and one that lost its data look alike; the leader tells them apart.
#[tokio::test]
async fn a_reset_is_believed_with_stale_reads_too() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("120", &["a", "b"]));
    for _ in 0..2 {
        backend.then(answer("40", &["c"]));
    }
    backend.then(answer("41", &["c", "d"]));
    let source = consul(config(&backend).with_consistency(Consistency::Stale));
    let mut watch = source.watch(&key());
    for (expected, revision) in [
        (&["a", "b"][..], Some(120)),
        (&["c"], None),
        (&["c", "d"], Some(41)),
    ] {
        let update = next(&mut watch).await.expect("a list");
        assert_eq!(ids(&update), expected);
        assert_eq!(update.revision, revision.map(Revision::new));
    }
    let requests = backend.requests();
    let asked: Vec<_> = requests
        .iter()
        .map(|request| (query(request, "stale").is_some(), query(request, "index")))
        .collect();
    let from = |index: &str| Some(index.to_owned());
    assert_eq!(
        asked,
        [
            (true, None),
            (true, from("120")),
            (false, None),
            (true, from("40"))
        ]
    );
}

#[tokio::test]
async fn odd_indexes_are_no_indexes() {
    for odd in ["abc", "0", "", "-1", "99999999999999999999", "1 2"] {
        let backend = Backend::start().await.expect("a port");
        backend.then(answer(odd, &["a"]));
        backend.then(answer("7", &["a", "b"]));
        backend.then(answer("8", &["a"]));
        let mut watch = watch(config(&backend));
        let first = next(&mut watch).await.expect("a list");
        assert_eq!((ids(&first), first.revision), (vec!["a"], None), "{odd:?}");
        next(&mut watch).await.expect("a list");
        next(&mut watch).await.expect("a list");
        let requests = backend.requests();
        let asked: Vec<_> = requests.iter().map(|r| query(r, "index")).collect();
        assert_eq!(asked, [None, None, Some("7".into())], "{odd:?}");
    }
}

#[tokio::test]
async fn an_absurdly_high_index_is_left_again() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("18446744073709551000", &["a"]));
    backend.then(answer("50", &["b"]));
    backend.then(answer("50", &["b"]));
    backend.then(answer("51", &["c"]));
    let mut watch = watch(config(&backend));
    for expected in ["a", "b", "c"] {
        assert_eq!(ids(&next(&mut watch).await.expect("a list")), [expected]);
    }
}

#[tokio::test]
async fn headers_that_are_no_text_and_missing_ones_do_no_harm() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port");
    let address = listener.local_addr().expect("bound");
    let server = tokio::spawn(async move {
        let body = list(&["a"]);
        for odd in [
            &b"X-Consul-Index: \xff\xfe\r\nX-Consul-KnownLeader: \xf0\r\n"[..],
            b"",
        ] {
            let (mut stream, _) = listener.accept().await.expect("a client");
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await.expect("a request");
            let mut answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\n".to_vec();
            answer.extend_from_slice(odd);
            answer.extend(format!("content-length: {}\r\n\r\n{body}", body.len()).bytes());
            stream.write_all(&answer).await.expect("a client");
        }
    });
    let source = consul(at(format!("http://{address}")));
    for _ in 0..2 {
        let update = source.fetch(&key()).await.expect("a list");
        assert_eq!((ids(&update), update.revision), (vec!["a"], None));
    }
    within(5, server).await.expect("no panic");
}

/// Runs a supervisor for three seconds and returns how many snapshots it reported.
async fn supervise(backend: &Backend) -> usize {
    let config = config(backend).with_poll_interval(Duration::from_millis(500));
    let source = Arc::new(consul(config));
    let mut supervisor = Supervisor::new(source, key(), WatchConfig::default());
    let mut snapshots = 0;
    let _ = tokio::time::timeout(Duration::from_secs(3), async {
        loop {
            if let Event::Snapshot(_) = supervisor.next().await {
                snapshots += 1;
            }
        }
    })
    .await;
    snapshots
}

#[tokio::test]
async fn a_server_that_always_answers_at_once_is_asked_a_few_times_a_second() {
    for index in ["0", "7"] {
        let backend = Backend::start().await.expect("a port");
        backend.always(answer(index, &["a"]));
        assert_eq!(supervise(&backend).await, 1, "nothing changed");
        let count = backend.request_count();
        assert!((5..=12).contains(&count), "{count} requests in 3 s");
    }
    // The index moves for others' sake.
    let backend = Backend::start().await.expect("a port");
    for index in 100..200 {
        backend.then(answer(&index.to_string(), &["a"]));
    }
    assert_eq!(supervise(&backend).await, 1, "nothing changed");
    let count = backend.request_count();
    assert!((5..=12).contains(&count), "{count} requests in 3 s");
}

#[tokio::test]
async fn a_server_that_is_overloaded_is_left_alone() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("7", &["a"]));
    backend.always(Answer::status(429));
    assert_eq!(supervise(&backend).await, 1, "the list stays");
    let count = backend.request_count();
    assert!(count <= 15, "{count} requests in 3 s");
}

#[tokio::test]
async fn changes_in_a_row_are_not_held_up() {
    let backend = Backend::start().await.expect("a port");
    for index in 1..=4 {
        backend.then(answer(&index.to_string(), &["a"]));
    }
    let started = tokio::time::Instant::now();
    let mut watch = watch(config(&backend).with_poll_interval(Duration::from_secs(10)));
    for _ in 0..4 {
        next(&mut watch).await.expect("a list");
    }
    assert!(started.elapsed() < Duration::from_secs(2));
}
