//! What happens between the pick of a call and its further attempts.
#![allow(clippy::panic, clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::io::ErrorKind as Io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use common::{Cluster, Once as _, config, instance, keyed, poll_once};
use http::{HeaderValue, Request, StatusCode};
use http_body::Frame;
use http_body_util::Full;
use ringfence_balancer::{
    CallEnd, CallObserver, ConcurrencyLimits, Observer, OutlierConfig, PoolLabel,
};
use ringfence_discovery::ServiceKey;
use ringfence_testkit::{ProbeAnswer, ProbeService};
use ringfence_tower::{Body, RetryPolicy, RoutingKey};

const UNAVAILABLE: ProbeAnswer = ProbeAnswer::Status(StatusCode::SERVICE_UNAVAILABLE);
const REFUSED: ProbeAnswer = ProbeAnswer::Fail(Io::ConnectionRefused);
const FOUR: &[(&str, &str)] = &[("a", "a:80"), ("b", "b:80"), ("c", "c:80"), ("d", "d:80")];

fn get(key: &RoutingKey) -> Request<Full<Bytes>> {
    let request = Request::get("/orders?x=1").body(Full::from("0123456789"));
    keyed(request.unwrap(), key)
}

fn within_a_second(key: &RoutingKey) -> Request<Full<Bytes>> {
    let mut request = get(key);
    let second = HeaderValue::from_static("1000m");
    request.headers_mut().insert("grpc-timeout", second);
    request
}

fn slow(milliseconds: u64, status: StatusCode) -> ProbeAnswer {
    ProbeAnswer::Slow(Duration::from_millis(milliseconds), status)
}

async fn wait(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

/// The instances that were called, one after the other.
fn called(probe: &ProbeService) -> Vec<String> {
    let calls = probe.calls().into_iter();
    calls
        .map(|call| call.uri.authority().unwrap().to_string())
        .collect()
}

/// Wants to hear of calls, so that their begin is known.
struct Listener;

impl CallObserver for Listener {
    fn ended(&self, _: &CallEnd<'_>) {}
}

impl Observer for Listener {
    fn pool(&self, _: &ServiceKey, _: &PoolLabel) -> Arc<dyn CallObserver> {
        Arc::new(Self)
    }
}

/// Were the wait the attempt's, healthy instances would get timeouts that are none of theirs, and be ejected.
#[tokio::test(start_paused = true)]
async fn the_wait_for_a_place_is_no_time_of_the_attempt() {
    let limits = ConcurrencyLimits::default().with_max_in_flight(1);
    let limits = limits.and_then(|limits| limits.with_max_queued(100));
    let limits = limits.and_then(|limits| limits.with_queue_timeout(Duration::from_secs(60)));
    let outlier = OutlierConfig::default().with_max_ejection_percent(100);
    let config = config()
        .with_concurrency(limits.unwrap())
        .with_outlier(outlier.unwrap());
    let all = FOUR.iter().map(|(id, at)| instance(id, at));
    let cluster = Cluster::build(all, |balancer| {
        balancer.with_config(config).with_observer(Listener)
    })
    .await;
    let probe = ProbeService::new();
    for (_, at) in FOUR {
        probe.always(at, slow(20, StatusCode::OK));
    }
    let retry = RetryPolicy::default().with_per_try_timeout(Duration::from_millis(100));
    let client = cluster.layer().with_retry(retry).wrap(probe.clone());
    let key = cluster.key(&["a"]);
    let calls: Vec<_> = (0..60)
        .map(|_| tokio::spawn(client.clone().once(get(&key))))
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().status(), 200);
    }
    let counters = cluster.balancer.status().counters;
    assert_eq!((counters.failures_timeout, counters.ejections), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_instance_is_told_what_the_wait_for_readiness_left_of_the_time() {
    let cluster = Cluster::start(FOUR).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    probe.hold();
    let key = cluster.key(&["a"]);
    let running = tokio::spawn(client.clone().once(within_a_second(&key)));
    wait(900).await;
    probe.release();
    running.await.unwrap().unwrap();
    let told = probe.calls()[0].headers["grpc-timeout"].clone();
    let (left, unit) = told.to_str().unwrap().split_at(told.len() - 1);
    let second = match unit {
        "m" => 1_000,
        "u" => 1_000_000,
        "n" => 1_000_000_000,
        _ => panic!("{told:?}"),
    };
    assert!(left.parse::<u64>().unwrap() <= second / 10, "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_came_back_under_another_id_is_not_asked_again() {
    let two = config().with_max_attempts(2).unwrap();
    let cluster = Cluster::with_config(FOUR, two).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["a", "b"]);
    probe.then("a:80", slow(100, StatusCode::SERVICE_UNAVAILABLE));
    probe.always("a:80", UNAVAILABLE);
    let running = tokio::spawn(client.clone().once(get(&key)));
    wait(10).await;
    cluster.registry.deregister(&cluster.service, "a");
    cluster.until(|b| b.status().instances == 3).await;
    cluster.register("a2", "a:80");
    cluster.until(|b| b.status().instances == 4).await;
    assert_eq!(running.await.unwrap().unwrap().status(), 200);
    let called = called(&probe);
    assert_eq!(called.len(), 2, "{called:?}");
    assert!(called[0] == "a:80" && called[1] != "a:80", "{called:?}");
}

#[tokio::test(start_paused = true)]
async fn who_left_during_a_pause_is_not_asked_after_it() {
    let cluster = Cluster::start(FOUR).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["a", "b", "c"]);
    let later = ProbeAnswer::Headed(
        StatusCode::SERVICE_UNAVAILABLE,
        "grpc-retry-pushback-ms",
        "900",
    );
    probe.always("a:80", later);
    let running = tokio::spawn(client.once(get(&key)));
    wait(300).await;
    cluster.registry.deregister(&cluster.service, "b");
    assert_eq!(running.await.unwrap().unwrap().status(), 200);
    assert_eq!(called(&probe), ["a:80", "c:80"]);
}

#[tokio::test(start_paused = true)]
async fn hops_heed_the_slots_of_who_came_on_trial() {
    let outlier = OutlierConfig::default().with_max_ejection_percent(50);
    let config = config().with_outlier(outlier.unwrap());
    let cluster = Cluster::with_config(FOUR, config.with_max_attempts(2).unwrap()).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let (over_b, of_b) = (cluster.key(&["a", "b"]), cluster.key(&["b"]));
    probe.always("a:80", slow(40_000, StatusCode::SERVICE_UNAVAILABLE));
    let calls: Vec<_> = (0..3)
        .map(|_| tokio::spawn(client.clone().once(get(&over_b))))
        .collect();
    wait(10).await;
    probe.always("b:80", REFUSED);
    for _ in 0..3 {
        assert!(client.clone().once(get(&of_b)).await.is_ok());
    }
    cluster.until(|b| b.status().on_trial == 1).await;
    let before = probe.calls_to("b:80");
    probe.always("b:80", ProbeAnswer::Hang);
    let mut trying = Box::pin(client.clone().once(get(&of_b)));
    assert!(poll_once(&mut trying).await.is_pending());
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().status(), 200);
    }
    assert_eq!(probe.calls_to("b:80"), before + 1, "one slot, one request");
}

/// What runs goes on, hops included (B58).
#[tokio::test(start_paused = true)]
async fn a_call_hops_while_the_balancer_is_shut_down() {
    for answer in [REFUSED, UNAVAILABLE] {
        let cluster = Cluster::start(FOUR).await;
        let probe = ProbeService::new();
        let client = cluster.layer().wrap(probe.clone());
        let key = cluster.key(&["a"]);
        probe.hold();
        probe.then("a:80", answer);
        let running = tokio::spawn(client.clone().once(get(&key)));
        wait(10).await;
        let balancer = cluster.balancer.clone();
        let limit = Duration::from_secs(30);
        let down = tokio::spawn(async move { balancer.shutdown_within(limit).await });
        wait(10).await;
        probe.release();
        assert_eq!(running.await.unwrap().unwrap().status(), 200);
        assert_eq!(down.await.unwrap(), 0);
    }
}

/// A body that waits for its first frame for as long as its client lets it, counted from when it was asked first.
struct Patient {
    asked: Arc<AtomicBool>,
}

impl http_body::Body for Patient {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.asked.store(true, Ordering::Relaxed);
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_is_not_asked_before_the_client_is_ready() {
    let cluster = Cluster::start(FOUR).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    probe.hold();
    let asked = Arc::new(AtomicBool::new(false));
    let body = Body::new(Patient {
        asked: Arc::clone(&asked),
    });
    let request = keyed(Request::post("/").body(body).unwrap(), &cluster.key(&["a"]));
    let call = tokio::spawn(client.once(request));
    wait(200).await;
    assert!(!asked.load(Ordering::Relaxed), "it waits for its turn");
    probe.release();
    wait(200).await;
    assert!(asked.load(Ordering::Relaxed));
    call.abort();
}
