//! When a request that was refused goes on, and what the next instance is told.
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::io::ErrorKind as Io;
use std::time::Duration;

use bytes::Bytes;
use common::{Cluster, Once as _, config, keyed};
use futures_util::future::join_all;
use http::{HeaderValue, Request, StatusCode};
use http_body_util::Full;
use ringfence_balancer::{BalancerConfig, RetryBudgetConfig};
use ringfence_testkit::{ProbeAnswer, ProbeService};
use ringfence_tower::{Idempotent, RetryPolicy, Ringfence, RoutingKey};
use tokio::time::{Instant, timeout};

const UNAVAILABLE: ProbeAnswer = ProbeAnswer::Status(StatusCode::SERVICE_UNAVAILABLE);
const ALL: [&str; 4] = ["a:80", "b:80", "c:80", "d:80"];

/// Hops are not what is counted here, unless a test says so.
fn lavish() -> BalancerConfig {
    config().with_retry_budget(RetryBudgetConfig::default().with_min_per_second(1_000))
}

async fn four(config: BalancerConfig) -> Cluster {
    let instances = ALL.map(|authority| (&authority[..1], authority));
    let config = config.with_max_attempts(4).unwrap();
    Cluster::with_config(&instances, config).await
}

fn get(key: &RoutingKey) -> Request<Full<Bytes>> {
    keyed(Request::get("/").body(Full::default()).unwrap(), key)
}

fn grpc(key: &RoutingKey) -> Request<Full<Bytes>> {
    let request = Request::post("/shop.Orders/Get").header("content-type", "application/grpc");
    let mut request = keyed(request.body(Full::default()).unwrap(), key);
    request.extensions_mut().insert(Idempotent(true));
    request
}

async fn status(client: &Ringfence<ProbeService>, request: Request<Full<Bytes>>) -> StatusCode {
    client.clone().once(request).await.unwrap().status()
}

/// The times from each call to the next.
fn gaps(probe: &ProbeService) -> Vec<Duration> {
    let calls = probe.calls();
    calls.windows(2).map(|two| two[1].at - two[0].at).collect()
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A tick of tokio's timers.
const TICK: Duration = millis(1);

#[tokio::test(start_paused = true)]
async fn only_a_pool_that_refuses_again_is_given_time() {
    let cluster = four(lavish()).await;
    let policy = RetryPolicy::default().with_backoff(millis(100), millis(150));
    let key = cluster.key(&["a", "b", "c", "d"]);
    let (mut second, mut third) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        let probe = ProbeService::new();
        ALL.iter().for_each(|at| probe.always(at, UNAVAILABLE));
        let client = cluster
            .layer()
            .with_retry(policy.clone())
            .wrap(probe.clone());
        assert_eq!(status(&client, get(&key)).await, 503);
        let gaps = gaps(&probe);
        assert_eq!(gaps.len(), 3);
        assert_eq!(gaps[0], Duration::ZERO);
        second.push(gaps[1]);
        third.push(gaps[2]);
    }
    // With full jitter 50 draws lie in one half once in 10^15 runs.
    for (drawn, most) in [(second, millis(100)), (third, millis(150))] {
        let (least, longest) = (drawn.iter().min().unwrap(), drawn.iter().max().unwrap());
        assert!(*longest <= most + TICK, "{longest:?}");
        assert!(*least < most / 2 && *longest > most / 2, "{drawn:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_refusal_is_not_waited_for() {
    let cluster = four(lavish()).await;
    let policy = RetryPolicy::default().with_backoff(millis(100), millis(150));
    let probe = ProbeService::new();
    for (at, kind) in [
        ("a:80", Io::ConnectionRefused),
        ("b:80", Io::ConnectionReset),
    ] {
        probe.always(at, ProbeAnswer::Fail(kind));
    }
    probe.always("c:80", UNAVAILABLE);
    let client = cluster.layer().with_retry(policy).wrap(probe.clone());
    let start = Instant::now();
    assert_eq!(
        status(&client, get(&cluster.key(&["a", "b", "c", "d"]))).await,
        200
    );
    assert_eq!(status(&client, get(&cluster.key(&["d"]))).await, 200);
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(probe.calls().len(), 5);
}

/// How long the second attempt is after the first, if there is one, where the first is answered so.
async fn second_after(
    name: &'static str,
    value: &'static str,
    limit: Option<&'static str>,
) -> Option<Duration> {
    let cluster = four(lavish()).await;
    let probe = ProbeService::new();
    let answer = ProbeAnswer::Headed(StatusCode::SERVICE_UNAVAILABLE, name, value);
    probe.always("a:80", answer);
    let client = cluster.layer().wrap(probe.clone());
    let mut request = get(&cluster.key(&["a", "b"]));
    if let Some(limit) = limit {
        let limit = HeaderValue::from_static(limit);
        request.headers_mut().insert("grpc-timeout", limit);
    }
    let start = Instant::now();
    let answer = status(&client, request).await;
    let second = gaps(&probe).first().copied();
    // An answer that is not waited for is the caller's at once.
    let expected = second.map_or((StatusCode::SERVICE_UNAVAILABLE, Duration::ZERO), |gap| {
        (StatusCode::OK, gap)
    });
    assert_eq!((answer, start.elapsed()), expected);
    second
}

#[tokio::test(start_paused = true)]
async fn servers_say_when_to_come_again() {
    let at = |pause| {
        move |gap: Option<Duration>| gap.is_some_and(|gap| gap >= pause && gap <= pause + TICK)
    };
    for name in ["grpc-retry-pushback-ms", "retry-after"] {
        assert!(at(Duration::ZERO)(second_after(name, "0", None).await));
    }
    assert!(at(millis(70))(
        second_after("grpc-retry-pushback-ms", "70", None).await
    ));
    assert!(at(millis(1_000))(
        second_after("retry-after", "1", None).await
    ));
    // Longer than allowed: the call waits for no pushback, and one instance's absence is not another's.
    assert_eq!(
        second_after("grpc-retry-pushback-ms", "1001", None).await,
        None
    );
    assert!(at(Duration::ZERO)(
        second_after("retry-after", "120", None).await
    ));
    assert_eq!(
        second_after("grpc-retry-pushback-ms", "-1", None).await,
        None
    );
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_does_not_end_in_time_is_not_begun() {
    assert_eq!(
        second_after("grpc-retry-pushback-ms", "70", Some("50m")).await,
        None
    );
    assert_eq!(second_after("retry-after", "1", Some("500m")).await, None);
    assert!(
        second_after("retry-after", "1", Some("1500m"))
            .await
            .is_some()
    );
}

#[tokio::test(start_paused = true)]
async fn those_that_wait_have_paid_before() {
    let cluster = four(config()).await;
    let policy = RetryPolicy::default().with_backoff(millis(200), millis(200));
    let probe = ProbeService::new();
    ALL.iter().for_each(|at| probe.always(at, UNAVAILABLE));
    let client = cluster.layer().with_retry(policy).wrap(probe.clone());
    let key = cluster.key(&["a"]);
    let all = join_all((0..1_000).map(|_| status(&client, get(&key))));
    // All of them have been answered once, and those that may go on wait.
    let _ = timeout(Duration::ZERO, all).await;
    let granted = cluster.balancer.status().counters.hops_granted;
    assert!(granted <= 203, "{granted}");
    assert!(granted > 100, "{granted}");
    assert_eq!(cluster.in_flight("a"), 0, "the waiting were dropped");
}

#[tokio::test(start_paused = true)]
async fn the_next_instance_is_told_that_it_is_not_the_first() {
    let cluster = four(lavish()).await;
    let probe = ProbeService::new();
    probe.always("a:80", ProbeAnswer::Fail(Io::ConnectionRefused));
    probe.always("b:80", UNAVAILABLE);
    probe.always("c:80", ProbeAnswer::Fail(Io::ConnectionReset));
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["a", "b", "c", "d"]);
    assert_eq!(status(&client, get(&key)).await, 200);
    assert_eq!(status(&client, grpc(&key)).await, 200);
    let told: Vec<_> = probe
        .calls()
        .iter()
        .map(|call| {
            ["ringfence-previous-attempts", "grpc-previous-rpc-attempts"].map(|name| {
                let value = call.headers.get(name)?;
                value.to_str().ok()?.parse::<u32>().ok()
            })
        })
        .collect();
    // Who refused the connection has not seen the request.
    let counts = [None, None, Some(1), Some(2)];
    let http = counts.map(|count| [count, None]);
    let grpc = counts.map(|count| [None, count]);
    assert_eq!(told, [http, grpc].concat());
}
