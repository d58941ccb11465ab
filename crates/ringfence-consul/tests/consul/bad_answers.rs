//! An error is never a list, and a list that may not be whole is an error.

use std::{error::Error as _, sync::Arc, time::Duration};

use ringfence_consul::ConsulToken;
use ringfence_discovery::{Discovery as _, ErrorKind, Event, ServiceKey, Supervisor, WatchConfig};
use ringfence_testkit::{Answer, Backend, Behaviour, RefusedAddress};
use tokio::time::Instant;

use crate::fake::{answer, at, config, consul, ids, key, list, next, within};

#[tokio::test]
async fn answers_that_are_no_list_are_errors_of_the_right_kind() {
    let cut = list(&["a", "b"]);
    let (cut, _) = cut.split_at(60);
    for (what, reply, kind, word) in [
        (
            "leader",
            Answer::status(500).chunk("No cluster leader"),
            ErrorKind::Unavailable,
            "No cluster leader",
        ),
        (
            "filter",
            Answer::status(500).chunk("Failed to create boolean expression"),
            ErrorKind::Unavailable,
            "boolean",
        ),
        (
            "rate",
            Answer::status(429).header("retry-after", "1"),
            ErrorKind::Unavailable,
            "429",
        ),
        (
            "gateway",
            Answer::status(504),
            ErrorKind::Unavailable,
            "504",
        ),
        (
            "namespace",
            Answer::status(400).chunk("Invalid query parameter: \"ns\""),
            ErrorKind::Config,
            "ns",
        ),
        (
            "token",
            Answer::status(403).chunk("ACL not found"),
            ErrorKind::Unauthorized,
            "ACL not found",
        ),
        ("login", Answer::status(401), ErrorKind::Unauthorized, "401"),
        (
            "not consul",
            Answer::status(404).chunk("<html>\r\nno\u{1b}[31m"),
            ErrorKind::Protocol,
            "<html>",
        ),
        (
            "no body",
            Answer::status(204),
            ErrorKind::Malformed,
            "no whole list",
        ),
        (
            "html",
            Answer::ok("<html>"),
            ErrorKind::Malformed,
            "no whole list",
        ),
        (
            "object",
            Answer::ok("{}"),
            ErrorKind::Malformed,
            "no whole list",
        ),
        (
            "cut",
            Answer::ok(cut.to_owned()),
            ErrorKind::Malformed,
            "no whole list",
        ),
        (
            "foreign",
            Answer::ok("[{\"a\":1}]"),
            ErrorKind::Malformed,
            "none of the 1",
        ),
        (
            "unled",
            answer("0", &[]).header("x-consul-knownleader", "false"),
            ErrorKind::Unavailable,
            "",
        ),
        (
            "huge",
            Answer::ok(vec![b' '; 5000]),
            ErrorKind::Malformed,
            "4096",
        ),
        (
            "broken off",
            Answer::ok("[").then_reset(),
            ErrorKind::Unavailable,
            "connection",
        ),
        (
            "slow",
            Answer::ok("[").then_hang(),
            ErrorKind::Unavailable,
            "no whole answer",
        ),
    ] {
        let backend = Backend::start().await.expect("a port");
        // The scripted answers carry what real ones do.
        backend.always(reply);
        let source = consul(config(&backend).with_max_body(4_096));
        let started = Instant::now();
        let error = source.fetch(&key()).await.expect_err(what);
        assert_eq!(error.kind(), kind, "{what}: {error}");
        assert!(error.to_string().contains(word), "{what}: {error}");
        assert!(!error.to_string().contains(char::is_control), "{error:?}");
        assert!(started.elapsed() < Duration::from_secs(2), "{what}");
    }
}

#[tokio::test]
async fn lists_without_instances_are_lists() {
    for body in ["[]", "null", " [ ]\n"] {
        let backend = Backend::start().await.expect("a port");
        backend.always(Answer::ok(body).header("x-consul-index", "7"));
        let update = consul(config(&backend)).fetch(&key()).await;
        assert_eq!(ids(&update.expect(body)), [""; 0]);
    }
}

#[tokio::test]
async fn an_empty_list_of_what_the_token_may_see_is_no_list() {
    let backend = Backend::start().await.expect("a port");
    let filtered = "x-consul-results-filtered-by-acls";
    backend.then(answer("7", &[]).header(filtered, "true"));
    backend.then(answer("7", &["a"]).header(filtered, "true"));
    let source = consul(config(&backend));
    let error = source.fetch(&key()).await.expect_err("filtered");
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
    source.fetch(&key()).await.expect("what it may see");
}

#[tokio::test]
async fn nobody_there_is_an_error_with_its_cause() {
    let refused = RefusedAddress::new().expect("a port");
    let source = consul(at(format!("http://{}", refused.address())));
    let error = source.fetch(&key()).await.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(error.source().is_some());
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_token_stays_here() {
    let elsewhere = Backend::start().await.expect("a port");
    for code in [301, 302, 303, 307, 308] {
        let backend = Backend::start().await.expect("a port");
        let target = format!("{}/v1/health/service/order", elsewhere.uri());
        backend.always(Answer::status(code).header("location", &target));
        let source = consul(config(&backend).with_token(ConsulToken::value("s3cr3t")));
        let error = source.fetch(&key()).await.expect_err("a redirect");
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.to_string().contains("redirect"), "{error}");
        assert_eq!(
            backend.requests()[0].header("x-consul-token"),
            Some("s3cr3t")
        );
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn an_error_ends_the_watch() {
    use futures_util::StreamExt as _;

    let backend = Backend::start().await.expect("a port");
    backend.then(answer("7", &["a"]));
    backend.always(Answer::status(500));
    let source = consul(config(&backend));
    let mut watch = source.watch(&key());
    next(&mut watch).await.expect("a list");
    next(&mut watch).await.expect_err("500");
    assert!(within(1, watch.next()).await.is_none());
}

#[tokio::test]
async fn names_that_cannot_be_asked_for_are_unknown_ones() {
    let backend = Backend::start().await.expect("a port");
    for name in ["", ".", "..", "a/../b", "a//b", "/a", "a/", "a\nb", "a\tb"] {
        let key = ServiceKey::new(name);
        let source = consul(config(&backend));
        let update = source.fetch(&key).await.expect(name);
        assert!(update.state.as_snapshot().is_none(), "{name:?}");
        let update = next(&mut source.watch(&key)).await.expect(name);
        assert!(update.state.as_snapshot().is_none(), "{name:?}");
    }
    assert_eq!(backend.connections(), 0);
}

/// The next snapshot, whatever else is reported before it.
pub(crate) async fn snapshot(supervisor: &mut Supervisor) -> Vec<String> {
    loop {
        if let Event::Snapshot(accepted) = supervisor.next().await {
            let ids = accepted.snapshot.instances().iter();
            return ids
                .map(|i| i.id().as_str().trim_start_matches("dc/n/").to_owned())
                .collect();
        }
    }
}

#[tokio::test]
async fn what_is_in_use_survives_all_of_it() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("5", &["a", "b"]));
    backend.always(Behaviour::Hang);
    let watching = WatchConfig::default()
        .with_empty_hold(Duration::from_secs(2))
        .expect("legal")
        .with_backoff(Duration::from_millis(10), Duration::from_millis(50))
        .expect("legal");
    let mut supervisor = Supervisor::new(Arc::new(consul(config(&backend))), key(), watching);
    assert_eq!(within(5, snapshot(&mut supervisor)).await, ["a", "b"]);
    let cut = list(&["a"]);
    let cut = cut.trim_end_matches(']').to_owned();
    for bad in [
        Answer::status(500).chunk("No cluster leader"),
        answer("0", &[]).header("x-consul-knownleader", "false"),
        Answer::ok(cut).header("x-consul-index", "9"),
        Answer::status(503),
    ] {
        backend.always(bad);
        backend.close_connections();
        let quiet = async {
            loop {
                assert!(!matches!(
                    supervisor.next().await,
                    Event::Snapshot(_) | Event::NoSuchService
                ));
            }
        };
        let seen = backend.request_count() + 2;
        tokio::select! {
            () = quiet => {}
            () = within(5, backend.until(|b| b.request_count() >= seen)) => {}
        }
        assert!(supervisor.status().held.is_none());
    }
    // A proper empty list is data, and the guard decides on it.
    backend.always(answer("7", &[]));
    let held = async {
        loop {
            match supervisor.next().await {
                Event::Status(status) if status.held.is_some() => return,
                Event::Snapshot(_) | Event::NoSuchService => panic!("believed at once"),
                _ => {}
            }
        }
    };
    within(5, held).await;
    assert_eq!(supervisor.status().counters.held, 1);
    backend.always(answer("8", &["c"]));
    assert_eq!(within(5, snapshot(&mut supervisor)).await, ["c"]);
}

#[tokio::test]
async fn without_protection_an_empty_list_is_believed_at_once() {
    let backend = Backend::start().await.expect("a port");
    backend.then(answer("5", &["a", "b"]));
    backend.then(answer("7", &[]));
    backend.then(answer("8", &["c"]));
    backend.always(Behaviour::Hang);
    let source = Arc::new(consul(config(&backend)));
    let watching = WatchConfig::default().without_hold();
    let mut supervisor = Supervisor::new(source, key(), watching);
    for expected in [&["a", "b"][..], &[], &["c"]] {
        assert_eq!(within(5, snapshot(&mut supervisor)).await, expected);
    }
    assert_eq!(supervisor.status().counters.held, 0);
}
