//! A second attempt beside one that is slow.
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::io::ErrorKind as Io;
use std::time::Duration;

use bytes::Bytes;
use common::{Cluster, Once as _, config, keyed};
use futures_util::stream;
use http::{Request, StatusCode};
use http_body::Frame;
use http_body_util::{Full, StreamBody};
use ringfence_balancer::{BalancerConfig, OutlierConfig, RetryBudgetConfig};
use ringfence_testkit::{ProbeAnswer, ProbeService};
use ringfence_tower::{Body, Error, RetryPolicy, Ringfence, RoutingKey};
use tokio::time::{Instant, sleep};

const OK: StatusCode = StatusCode::OK;
const UNAVAILABLE: StatusCode = StatusCode::SERVICE_UNAVAILABLE;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

struct Hedged {
    cluster: Cluster,
    probe: ProbeService,
    key: RoutingKey,
    client: Ringfence<ProbeService>,
}

/// Four instances, which a request reaches in the order of their names, and 100 ms until the second attempt.
async fn hedged(config: BalancerConfig) -> Hedged {
    let instances = ["a:80", "b:80", "c:80", "d:80"].map(|at| (&at[..1], at));
    let config = config.with_max_attempts(4).unwrap();
    let cluster = Cluster::with_config(&instances, config).await;
    let probe = ProbeService::new();
    let retry = RetryPolicy::default().with_hedging(millis(100));
    let key = cluster.key(&["a", "b", "c", "d"]);
    Hedged {
        client: cluster.layer().with_retry(retry).wrap(probe.clone()),
        cluster,
        probe,
        key,
    }
}

impl Hedged {
    fn slow(&self, id: char, after: u64, status: StatusCode) {
        let answer = ProbeAnswer::Slow(millis(after), status);
        self.probe.always(&format!("{id}:80"), answer);
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> (Result<StatusCode, Error>, u128) {
        let start = Instant::now();
        let answer = self.client.clone().once(keyed(request, &self.key)).await;
        let took = start.elapsed().as_millis();
        (answer.map(|response| response.status()), took)
    }

    async fn get(&self) -> (StatusCode, u128) {
        let (status, took) = self
            .send(Request::get("/").body(Full::default()).unwrap())
            .await;
        (status.unwrap(), took)
    }

    /// Who was called, in order.
    fn called(&self) -> String {
        let calls = self.probe.calls();
        let hosts = calls.iter().map(|call| call.uri.host().unwrap().to_owned());
        hosts.collect()
    }

    fn at_rest(&self) -> bool {
        ["a", "b", "c", "d"]
            .iter()
            .all(|id| self.cluster.in_flight(id) == 0)
            && self.probe.reserved() == 0
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_time_needs_no_second_attempt() {
    let hedged = hedged(config()).await;
    hedged.slow('a', 99, OK);
    assert_eq!(hedged.get().await, (OK, 99));
    assert_eq!(hedged.called(), "a");
    assert_eq!(hedged.cluster.balancer.status().counters.hops_granted, 0);
}

#[tokio::test(start_paused = true)]
async fn the_first_good_answer_wins_and_the_other_attempt_blames_nobody() {
    let blame_at_once =
        config().with_outlier(OutlierConfig::default().with_consecutive_failures(1));
    let hedged = hedged(blame_at_once).await;
    hedged.slow('a', 10_000, OK);
    hedged.slow('b', 30, OK);
    assert_eq!(hedged.get().await, (OK, 130));
    assert_eq!(hedged.called(), "ab");
    let second = &hedged.probe.calls()[1];
    assert_eq!(second.headers["ringfence-previous-attempts"], "1");
    assert!(hedged.at_rest());

    hedged.slow('a', 120, OK);
    hedged.slow('b', 10_000, OK);
    assert_eq!(hedged.get().await, (OK, 120));
    assert_eq!(hedged.called(), "abab");
    assert!(hedged.at_rest());
    sleep(millis(1)).await;
    let counters = hedged.cluster.balancer.status().counters;
    assert_eq!((counters.hops_granted, counters.ejections), (2, 0));
    assert_eq!((counters.failures_timeout, counters.failures_reset), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn where_one_fails_the_other_is_waited_for() {
    let hedged = hedged(config()).await;
    // The first fails first, then the second does.
    hedged.slow('a', 150, UNAVAILABLE);
    hedged.slow('b', 400, OK);
    assert_eq!(hedged.get().await, (OK, 500));
    hedged.slow('a', 300, OK);
    hedged
        .probe
        .then("b:80", ProbeAnswer::Fail(Io::ConnectionReset));
    assert_eq!(hedged.get().await, (OK, 300));
    assert_eq!(hedged.called(), "abab");
    let counters = hedged.cluster.balancer.status().counters;
    assert_eq!((counters.failures_status, counters.failures_reset), (1, 1));
    assert!(hedged.at_rest());
}

#[tokio::test(start_paused = true)]
async fn where_both_fail_the_next_one_is_asked() {
    let hedged = hedged(config()).await;
    for (first, second) in [(150, 400), (400, 150)] {
        hedged.slow('a', first, UNAVAILABLE);
        hedged.slow('b', second, UNAVAILABLE);
        let (status, took) = hedged.get().await;
        assert_eq!(status, OK);
        // The second refusal of a call is followed by a pause.
        let both = u128::from(first.max(second + 100));
        assert!((both..=both + 26).contains(&took), "{took}");
    }
    assert_eq!(hedged.called(), "abcabc");
    let third = &hedged.probe.calls()[2];
    assert_eq!(third.headers["ringfence-previous-attempts"], "2");
    assert!(hedged.at_rest());
}

#[tokio::test(start_paused = true)]
async fn writes_and_requests_without_budget_go_to_one_instance() {
    let none = RetryBudgetConfig::default()
        .with_percent(0)
        .unwrap()
        .with_min_per_second(0);
    let poor = hedged(config().with_retry_budget(none)).await;
    poor.slow('a', 500, OK);
    assert_eq!(poor.get().await, (OK, 500));
    assert_eq!(poor.called(), "a");

    let rich = hedged(config()).await;
    rich.slow('a', 500, OK);
    let write = Request::post("/").body(Full::from("order")).unwrap();
    let (status, took) = rich.send(write).await;
    assert_eq!((status.unwrap(), took), (OK, 500));
    assert_eq!(rich.called(), "a");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_both() {
    let hedged = hedged(config()).await;
    hedged.probe.always("a:80", ProbeAnswer::Hang);
    hedged.probe.always("b:80", ProbeAnswer::Hang);
    let request = Request::get("/")
        .header("grpc-timeout", "300m")
        .body(Full::default());
    let (answer, took) = hedged.send(request.unwrap()).await;
    answer.unwrap_err();
    assert!((300..=302).contains(&took), "{took}");
    assert!(hedged.at_rest());
}

/// A body that is read frame by frame.
#[tokio::test(start_paused = true)]
async fn a_streamed_body_is_sent_twice_once_it_was_read() {
    let hedged = hedged(config()).await;
    hedged.slow('a', 10_000, OK);
    hedged.slow('b', 10, OK);
    for (pause, called, took) in [(10, "ab", 110), (150, "aba", 10_300)] {
        let frames = stream::unfold(0, move |n| async move {
            sleep(millis(pause)).await;
            (n < 2).then(|| {
                (
                    Ok::<_, Error>(Frame::data(Bytes::from_static(b"half"))),
                    n + 1,
                )
            })
        });
        let body = Body::new(StreamBody::new(Box::pin(frames)));
        let request = keyed(Request::put("/").body(body).unwrap(), &hedged.key);
        let start = Instant::now();
        hedged.client.clone().once(request).await.unwrap();
        assert_eq!(hedged.called(), called);
        assert!(
            start.elapsed().as_millis().abs_diff(took) < 160,
            "{:?}",
            start.elapsed()
        );
    }
    for call in hedged.probe.calls() {
        assert_eq!(call.body.as_deref(), Some(&b"halfhalf"[..]));
    }
    assert!(hedged.at_rest());
}
