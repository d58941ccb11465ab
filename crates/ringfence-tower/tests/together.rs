//! Parts that were built apart, together.
#![cfg(feature = "tonic")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::time::Duration;

use bytes::Bytes;
use common::{Cluster, Once as _, config, instance, keyed, policy, poll_once, until};
use futures_util::future::join_all;
use http::{Request, StatusCode};
use http_body_util::Full;
use ringfence_balancer::{ConcurrencyLimits, OutlierConfig, RetryBudgetConfig};
use ringfence_echo::{EchoClient, EchoRequest, EchoServer};
use ringfence_testkit::{Answer, Backend, Behaviour, ProbeAnswer, ProbeService};
use ringfence_tower::{
    Baseline, Idempotent, Resolve, ResolveFuture, RetryPolicy, RoutingKey, TonicConnector,
};
use tokio::time::{Instant, sleep};

const OK: StatusCode = StatusCode::OK;
const UNAVAILABLE: StatusCode = StatusCode::SERVICE_UNAVAILABLE;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn get(key: &RoutingKey) -> Request<Full<Bytes>> {
    keyed(Request::get("/").body(Full::default()).unwrap(), key)
}

fn post_within(key: &RoutingKey, timeout: &'static str) -> Request<Full<Bytes>> {
    let request = Request::post("/").header("grpc-timeout", timeout);
    keyed(request.body(Full::default()).unwrap(), key)
}

fn unary(key: &RoutingKey) -> tonic::Request<EchoRequest> {
    let mut request = tonic::Request::new(EchoRequest::new("x"));
    request.extensions_mut().insert(key.clone());
    request.extensions_mut().insert(Idempotent(true));
    request
}

/// Requests hang on an instance that dies then: their connection was not idle, the instance is to blame, and the hops of all of
/// them at once are what the retry budget is for (B55).
#[tokio::test]
async fn a_server_that_hangs_and_dies_with_its_requests_is_to_blame() {
    let (a, b) = (
        Backend::start().await.unwrap(),
        Backend::start().await.unwrap(),
    );
    let message = Behaviour::from(Answer::grpc(b""));
    b.always(message.clone());
    a.then(message);
    a.always(Behaviour::Hang);
    let none = RetryBudgetConfig::default()
        .with_percent(0)
        .unwrap()
        .with_min_per_second(3);
    let at = [a.address().to_string(), b.address().to_string()];
    let cluster = Cluster::with_config(
        &[("a", &at[0]), ("b", &at[1])],
        config().with_retry_budget(none),
    )
    .await;
    let client = EchoClient::new(cluster.layer().wrap(TonicConnector::new()));
    let key = cluster.key(&["a", "b"]);
    client.clone().unary(unary(&key)).await.unwrap();
    sleep(ms(100)).await;
    let calls = (0..50).map(|_| {
        let (mut client, key) = (client.clone(), key.clone());
        tokio::spawn(async move { client.unary(unary(&key)).await.map(drop) })
    });
    let calls: Vec<_> = calls.collect();
    until(|| a.request_count() == 51).await;
    sleep(ms(2_000)).await;
    a.reset_connections();
    let answers = join_all(calls).await;
    let served = answers
        .iter()
        .filter(|answer| matches!(answer, Ok(Ok(()))))
        .count();
    let counters = cluster.balancer.status().counters;
    eprintln!(
        "served {served}, resets {}, hops free {}, granted {}, denied {}",
        counters.failures_reset, counters.hops_free, counters.hops_granted, counters.hops_denied
    );
    assert!(counters.failures_reset >= 40, "{}", counters.failures_reset);
    assert!(counters.hops_free <= 10, "{}", counters.hops_free);
}

/// The queue before the service must not send requests where nobody is any more (B39).
#[tokio::test(start_paused = true)]
async fn what_waited_in_the_queue_goes_to_an_instance_that_is_there() {
    let text = "
ringfence: 1
rules:
  - name: all
    key: [{ header: x-user }]
";
    let limits = ConcurrencyLimits::default().with_max_in_flight(1);
    let limits = limits.unwrap().with_max_queued(10).unwrap();
    let limits = limits.with_queue_timeout(ms(60_000)).unwrap();
    let cluster = Cluster::build([instance("a", "a:80"), instance("b", "b:80")], |balancer| {
        balancer
            .with_config(config().with_concurrency(limits))
            .with_policy(policy(text))
    })
    .await;
    let probe = ProbeService::new();
    let layer = cluster.layer().with_baseline(Baseline::untouched());
    let client = layer.wrap(probe.clone());
    let request = || {
        let request = Request::get("http://orders.internal/").header("x-user", "alice");
        request.body(Full::<Bytes>::default()).unwrap()
    };
    client.clone().once(request()).await.unwrap();
    let owner = probe.calls()[0].uri.host().unwrap().to_owned();
    let held = cluster.balancer.admit().await.unwrap();
    let mut waiting = Box::pin(client.clone().once(request()));
    assert!(poll_once(&mut waiting).await.is_pending());
    cluster
        .registry
        .deregister(&cluster.service, owner.as_str());
    cluster.until(|b| b.status().instances == 1).await;
    sleep(ms(10_000)).await;
    drop(held);
    waiting.await.unwrap();
    let last = probe.calls()[1].uri.host().unwrap().to_owned();
    assert_ne!(last, owner, "gone for ten seconds");
}

/// Deadline exceeded counts as a failure (B18), whoever was asked last.
#[tokio::test(start_paused = true)]
async fn the_deadline_is_put_down_to_the_hedge_that_is_waited_for() {
    let instances = ["a:80", "b:80", "c:80"].map(|at| (&at[..1], at));
    let cluster = Cluster::with_config(&instances, config()).await;
    let probe = ProbeService::new();
    let retry = RetryPolicy::default().with_hedging(ms(100));
    let client = cluster.layer().with_retry(retry).wrap(probe.clone());
    let key = cluster.key(&["a", "b", "c"]);
    probe.always("a:80", ProbeAnswer::Slow(ms(150), UNAVAILABLE));
    probe.always("b:80", ProbeAnswer::Hang);
    let request = Request::get("/").header("grpc-timeout", "5S");
    let request = keyed(request.body(Full::<Bytes>::default()).unwrap(), &key);
    let error = client.clone().once(request).await.unwrap_err();
    let counters = cluster.balancer.status().counters;
    eprintln!("{error}");
    assert_eq!(
        (
            counters.failures_status,
            counters.failures_timeout,
            error.attempts().len()
        ),
        (1, 1, 2)
    );
}

/// A hedge is a luxury: it must not take more than the slots of a trial.
#[tokio::test(start_paused = true)]
async fn hedges_do_not_flood_an_instance_on_trial() {
    let outlier = OutlierConfig::default()
        .with_max_ejection_percent(50)
        .unwrap();
    let budget = RetryBudgetConfig::default().with_percent(1_000).unwrap();
    let config = config()
        .with_outlier(outlier)
        .with_retry_budget(budget)
        .with_max_attempts(2)
        .unwrap();
    let instances = ["a:80", "b:80"].map(|at| (&at[..1], at));
    let cluster = Cluster::with_config(&instances, config).await;
    let probe = ProbeService::new();
    let retry = RetryPolicy::default().with_hedging(ms(100));
    let client = cluster.layer().with_retry(retry).wrap(probe.clone());
    let (key, key_b) = (cluster.key(&["a", "b"]), cluster.key(&["b"]));
    probe.always("b:80", ProbeAnswer::Hang);
    for _ in 0..5 {
        let call = client.clone().once(post_within(&key_b, "20m"));
        assert!(call.await.is_err());
    }
    cluster.until(|b| b.status().ejected == 1).await;
    cluster.until(|b| b.status().on_trial == 1).await;
    let before = probe.calls_to("b:80");
    probe.always("a:80", ProbeAnswer::Slow(ms(500), OK));
    let calls = (0..20).map(|_| client.clone().once(get(&key)));
    for answer in join_all(calls).await {
        assert_eq!(answer.unwrap().status(), OK);
    }
    assert_eq!(probe.calls_to("b:80") - before, 1, "one slot");
}

#[derive(Debug)]
struct Never;

impl Resolve for Never {
    fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a> {
        Box::pin(async move {
            if host.starts_with("never") {
                std::future::pending::<()>().await;
            }
            Ok(vec![[127, 0, 0, 1].into()])
        })
    }
}

/// New instances that cannot be reached must not keep requests from connecting to those that can.
#[tokio::test]
async fn warm_ups_leave_turns_to_connect_for_requests() {
    let b = EchoServer::bind("b").await.unwrap();
    let at = format!("b.test:{}", b.address().port());
    let connector = TonicConnector::new()
        .with_resolver(Never)
        .with_idle_timeout(ms(100));
    let warm_up = connector.warm_up();
    let cluster = Cluster::build([instance("b", &at)], |balancer| {
        let balancer = balancer.with_config(config());
        balancer.with_warm_up(warm_up, ms(60_000)).unwrap()
    })
    .await;
    let mut client = EchoClient::new(cluster.layer().wrap(connector));
    let key = cluster.key(&["b"]);
    client.unary(unary(&key)).await.unwrap();
    for n in 0..40 {
        cluster.register(&format!("never-{n}"), &format!("never-{n}.test:80"));
    }
    cluster.until(|b| b.status().warming == 40).await;
    let mut worst = Duration::ZERO;
    let mut failed = 0;
    for _ in 0..8 {
        until(|| b.open_connections() == 0).await;
        let start = Instant::now();
        failed += usize::from(client.unary(unary(&key)).await.is_err());
        worst = worst.max(start.elapsed());
    }
    assert!(worst < ms(300) && failed == 0, "{worst:?}, {failed} failed");
}

/// A pick that waits in the queue holds the slot of a trial.
#[tokio::test(start_paused = true)]
async fn the_queue_holds_no_slot_of_a_trial() {
    let text = "
ringfence: 1
rules:
  - name: all
    key: [{ header: x-user }]
";
    let limits = ConcurrencyLimits::default().with_max_in_flight(1);
    let limits = limits.unwrap().with_max_queued(10).unwrap();
    let limits = limits.with_queue_timeout(ms(600_000)).unwrap();
    let outlier = OutlierConfig::default()
        .with_max_ejection_percent(50)
        .unwrap();
    let cluster = Cluster::build([instance("a", "a:80"), instance("b", "b:80")], |balancer| {
        balancer
            .with_config(config().with_concurrency(limits).with_outlier(outlier))
            .with_policy(policy(text))
    })
    .await;
    let probe = ProbeService::new();
    let layer = cluster.layer().with_baseline(Baseline::untouched());
    let client = layer.wrap(probe.clone());
    let request = |timeout: Option<&'static str>| {
        let mut request = Request::post("http://orders.internal/").header("x-user", "alice");
        if let Some(timeout) = timeout {
            request = request.header("grpc-timeout", timeout);
        }
        request.body(Full::<Bytes>::default()).unwrap()
    };
    client.clone().once(request(None)).await.unwrap();
    let owner = probe.calls()[0].uri.authority().unwrap().to_string();
    probe.always(&owner, ProbeAnswer::Hang);
    for _ in 0..5 {
        let call = client.clone().once(request(Some("20m")));
        assert!(call.await.is_err());
    }
    cluster.until(|b| b.status().ejected == 1).await;
    cluster.until(|b| b.status().on_trial == 1).await;
    let held = cluster.balancer.admit().await.unwrap();
    let mut waiting = Box::pin(client.clone().once(request(None)));
    assert!(poll_once(&mut waiting).await.is_pending());
    let mut free = 0;
    for n in 0..50 {
        let key = format!("k{n}");
        let request = ringfence_balancer::PickRequest::new().with_key(&key);
        let picked = cluster.balancer.pick(&request).unwrap();
        free += usize::from(picked.instance().address().to_string() == owner);
    }
    drop(held);
    assert!(free > 0, "nobody sends anything to the one on trial");
}
