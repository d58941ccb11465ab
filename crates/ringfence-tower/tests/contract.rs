//! What the layer owes to the service inside of it and to the caller, against a probe.
#![allow(clippy::panic, clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::io::ErrorKind as Io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use common::{Cluster, Once as _, config, keyed, poll_once};
use futures_util::future::join_all;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use ringfence_balancer::{MissingKey, OutlierConfig, RetryBudgetConfig};
use ringfence_testkit::{ProbeAnswer, ProbeService};
use ringfence_tower::{
    Classify, Error, ErrorKind, Idempotent, KeySource, RequestTags, RetryPolicy, Ringfence,
    RoutingKey, Verdict, classify_response,
};
use tower::Service;
use tower::limit::ConcurrencyLimit;

const UNAVAILABLE: ProbeAnswer = ProbeAnswer::Status(StatusCode::SERVICE_UNAVAILABLE);

const TWO: &[(&str, &str)] = &[("a", "a:80"), ("b", "b:80")];
const THREE: &[(&str, &str)] = &[("a", "a:80"), ("b", "b:80"), ("c", "c:80")];

fn request(method: Method, key: &RoutingKey) -> Request<Full<Bytes>> {
    let request = Request::builder().method(method).uri("/orders?x=1");
    keyed(request.body(Full::from("0123456789")).unwrap(), key)
}

fn get(key: &RoutingKey) -> Request<Full<Bytes>> {
    request(Method::GET, key)
}

fn post(key: &RoutingKey) -> Request<Full<Bytes>> {
    request(Method::POST, key)
}

/// Five failures in a row eject, and one of two instances may go.
fn ejecting() -> OutlierConfig {
    let outlier = OutlierConfig::default().with_consecutive_failures(5);
    outlier.with_max_ejection_percent(50).unwrap()
}

/// Lets the balancer's task judge what was reported.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

fn calls(probe: &ProbeService) -> [usize; 3] {
    ["a:80", "b:80", "c:80"].map(|authority| probe.calls_to(authority))
}

async fn status(
    client: &Ringfence<ProbeService>,
    request: Request<Full<Bytes>>,
) -> Result<u16, Error> {
    let response = client.clone().once(request).await?;
    Ok(response.status().as_u16())
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_a_readiness_of_its_own() {
    let cluster = Cluster::start(TWO).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    probe.then("a:80", UNAVAILABLE);
    let key = cluster.key(&["a", "b"]);
    assert_eq!(status(&client, get(&key)).await.unwrap(), 200);
    assert_eq!(calls(&probe), [1, 1, 0]);

    // The same for a gRPC status without messages, where the caller allows it.
    probe.then("a:80", ProbeAnswer::Grpc(14));
    let mut call = post(&key);
    call.extensions_mut().insert(Idempotent(true));
    let response = client.clone().once(call).await.unwrap();
    assert!(!response.headers().contains_key("grpc-status"));
    assert_eq!(calls(&probe), [2, 2, 0]);
    assert_eq!(probe.reserved(), 0);
    let bodies: Vec<_> = probe.calls().into_iter().map(|call| call.body).collect();
    assert!(
        bodies
            .iter()
            .all(|body| body.as_deref() == Some(b"0123456789"))
    );
}

/// Who comes behind the owner is looked for when that has failed.
#[tokio::test(start_paused = true)]
async fn a_hop_goes_where_the_latest_list_says() {
    let cluster = Cluster::start(THREE).await;
    let probe = ProbeService::new();
    let limit = RetryPolicy::default().with_per_try_timeout(Duration::from_secs(1));
    let client = cluster.layer().with_retry(limit).wrap(probe.clone());
    let key = cluster.key(&["a", "b", "c"]);
    probe.then("a:80", ProbeAnswer::Hang);
    let call = tokio::spawn(client.clone().once(get(&key)));
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(calls(&probe), [1, 0, 0]);
    // Whom it would have gone to leaves before the owner's time is over.
    cluster.registry.deregister(&cluster.service, "b");
    cluster.until(|b| b.status().instances == 2).await;
    let response = call.await.unwrap().unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(calls(&probe), [1, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn where_all_others_have_left_the_call_ends_with_its_owner() {
    let cluster = Cluster::start(TWO).await;
    let probe = ProbeService::new();
    let limit = RetryPolicy::default().with_per_try_timeout(Duration::from_secs(1));
    let client = cluster.layer().with_retry(limit).wrap(probe.clone());
    let key = cluster.key(&["a"]);
    probe.then("a:80", ProbeAnswer::Hang);
    let call = tokio::spawn(client.clone().once(get(&key)));
    tokio::time::sleep(Duration::from_millis(500)).await;
    cluster.registry.deregister(&cluster.service, "b");
    cluster.until(|b| b.status().instances == 1).await;
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AttemptsExhausted);
    let ids = error
        .attempts()
        .iter()
        .map(|attempt| attempt.instance().as_str());
    assert_eq!(ids.collect::<Vec<_>>(), ["a"]);
    assert_eq!(calls(&probe), [1, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn readiness_that_is_not_used_is_given_back() {
    let cluster = Cluster::start(TWO).await;
    let probe = ProbeService::new();
    let limited = ConcurrencyLimit::new(probe.clone(), 1);
    let client = cluster.layer().wrap(limited);
    let key = cluster.key(&["a"]);
    for n in 0..100 {
        let mut client = client.clone();
        let ready =
            std::future::poll_fn(|cx| Service::<Request<Full<Bytes>>>::poll_ready(&mut client, cx));
        ready.await.unwrap();
        if n % 3 == 0 {
            continue;
        }
        let call = client.call(get(&key));
        if n % 3 == 1 {
            // Dropped in the midst: the permit is held by then.
            probe.then("a:80", ProbeAnswer::Hang);
            let waited = tokio::time::timeout(Duration::from_millis(1), call).await;
            assert!(waited.is_err());
        } else {
            let response = call.await.unwrap();
            assert_eq!(response.status(), 200);
        }
    }
    assert_eq!(probe.reserved(), 0);
    assert_eq!(cluster.in_flight("a"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_local_limit_is_no_fault_of_the_instance() {
    let outlier = ejecting();
    let config = config().with_outlier(outlier);
    let cluster = Cluster::with_config(TWO, config).await;
    let probe = ProbeService::new();
    probe.always("a:80", ProbeAnswer::Hang);
    probe.always("b:80", ProbeAnswer::Hang);
    let client = cluster
        .layer()
        .wrap(ConcurrencyLimit::new(probe.clone(), 1));
    let key = cluster.key(&["a"]);
    let limited = || {
        let mut request = post(&key);
        let timeout = HeaderValue::from_static("50m");
        request.headers_mut().insert("grpc-timeout", timeout);
        client.clone().once(request)
    };
    let waiting = (0..100).map(|_| limited());
    for answer in join_all(waiting).await {
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::DeadlineExceeded);
    }
    assert_eq!(probe.calls().len(), 1);

    // The same with a permit that is never given back.
    let mut holder = Box::pin(client.clone().once(post(&key)));
    assert!(poll_once(&mut holder).await.is_pending());
    let waiting = (0..20).map(|_| limited());
    for answer in join_all(waiting).await {
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::DeadlineExceeded);
    }
    assert_eq!(probe.calls().len(), 2);
    settle().await;
    assert_eq!(cluster.balancer.status().ejected, 0);
}

#[tokio::test(start_paused = true)]
async fn callers_that_hang_up_leave_no_trace() {
    let outlier = ejecting();
    let cluster = Cluster::with_config(TWO, config().with_outlier(outlier)).await;
    let probe = ProbeService::new();
    probe.always("a:80", ProbeAnswer::Hang);
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["a"]);
    let mut running: Vec<_> = (0..64)
        .map(|_| Box::pin(client.clone().once(post(&key))))
        .collect();
    for call in &mut running {
        assert!(poll_once(call).await.is_pending());
    }
    assert_eq!(cluster.in_flight("a"), 64);
    drop(running);
    assert_eq!(cluster.in_flight("a"), 0);
    settle().await;
    assert_eq!(cluster.balancer.status().ejected, 0);
    probe.always("a:80", ProbeAnswer::Status(StatusCode::OK));
    assert_eq!(status(&client, post(&key)).await.unwrap(), 200);
    assert_eq!(probe.calls_to("a:80"), 65);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_leaves_and_returns_counts_from_zero() {
    let cluster = Cluster::start(TWO).await;
    let probe = ProbeService::new();
    probe.always("a:80", ProbeAnswer::Hang);
    let client = cluster.layer().wrap(probe);
    let key = cluster.key(&["a"]);
    let mut call = Box::pin(client.once(get(&key)));
    assert!(poll_once(&mut call).await.is_pending());
    let epoch = cluster.balancer.status().epoch;
    cluster.registry.deregister(&cluster.service, "a");
    cluster.until(|b| b.status().epoch > epoch).await;
    cluster.register("a", "a:80");
    cluster.until(|b| b.status().instances == 2).await;
    drop(call);
    assert_eq!(cluster.in_flight("a"), 0);
}

/// Counts over all instances for one request to `a`, which behaves like this.
async fn attempts(
    answer: ProbeAnswer,
    policy: RetryPolicy,
    request: Request<Full<Bytes>>,
) -> [usize; 3] {
    let cluster = Cluster::start(TWO).await;
    let probe = ProbeService::new();
    probe.always("a:80", answer);
    let client = cluster.layer().with_retry(policy).wrap(probe.clone());
    let mut request = request;
    request.extensions_mut().insert(cluster.key(&["a", "b"]));
    let _ = client.once(request).await;
    calls(&probe)
}

#[tokio::test(start_paused = true)]
async fn writes_are_sent_again_only_if_they_surely_never_arrived() {
    let key = RoutingKey::from("set below");
    let lost = ProbeAnswer::Fail(Io::ConnectionReset);
    let refused = ProbeAnswer::Fail(Io::ConnectionRefused);
    let default = RetryPolicy::default;
    let opt_in = || RetryPolicy::default().with_idempotent(|head| head.uri.path() == "/orders");
    let hasty = |policy: RetryPolicy| policy.with_per_try_timeout(Duration::from_millis(50));

    for answer in [lost, UNAVAILABLE] {
        assert_eq!(
            attempts(answer, default(), post(&key)).await,
            [1, 0, 0],
            "{answer:?}"
        );
        assert_eq!(
            attempts(answer, default(), get(&key)).await,
            [1, 1, 0],
            "{answer:?}"
        );
        assert_eq!(
            attempts(answer, opt_in(), post(&key)).await,
            [1, 1, 0],
            "{answer:?}"
        );
        let strict = RetryPolicy::unprocessed_only();
        assert_eq!(
            attempts(answer, strict, get(&key)).await,
            [1, 0, 0],
            "{answer:?}"
        );
    }
    let late = ProbeAnswer::Hang;
    assert_eq!(
        attempts(late, hasty(default()), post(&key)).await,
        [1, 0, 0]
    );
    assert_eq!(attempts(late, hasty(default()), get(&key)).await, [1, 1, 0]);
    assert_eq!(attempts(late, hasty(opt_in()), post(&key)).await, [1, 1, 0]);

    assert_eq!(attempts(refused, default(), post(&key)).await, [1, 1, 0]);
    assert_eq!(
        attempts(refused, RetryPolicy::never(), post(&key)).await,
        [1, 0, 0]
    );
    // Other statuses are answers.
    let not_found = ProbeAnswer::Status(StatusCode::NOT_FOUND);
    assert_eq!(attempts(not_found, default(), get(&key)).await, [1, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn the_last_answer_is_the_callers() {
    let cluster = Cluster::start(THREE).await;
    let probe = ProbeService::new();
    for authority in ["a:80", "b:80", "c:80"] {
        probe.always(authority, UNAVAILABLE);
    }
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["a", "b", "c"]);
    assert_eq!(status(&client, get(&key)).await.unwrap(), 503);
    assert_eq!(calls(&probe), [1, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn the_error_lists_what_was_tried() {
    let cluster = Cluster::start(THREE).await;
    let probe = ProbeService::new();
    for authority in ["a:80", "b:80", "c:80"] {
        probe.always(authority, ProbeAnswer::Fail(Io::ConnectionRefused));
    }
    let client = cluster.layer().wrap(probe.clone());
    let error = status(&client, post(&cluster.key(&["b", "c", "a"])))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AttemptsExhausted);
    let tried: Vec<_> = error
        .attempts()
        .iter()
        .map(|a| a.instance().as_str())
        .collect();
    assert_eq!(tried, ["b", "c", "a"]);
    assert!(error.pool().is_some());
    let source = std::error::Error::source(&error).unwrap();
    let source = source.downcast_ref::<std::io::Error>().unwrap();
    assert_eq!(source.kind(), Io::ConnectionRefused);
    assert!(error.to_string().contains("3 attempts"), "{error}");
    assert!(error.to_string().contains("a (a:80)"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn without_failover_the_error_still_names_the_instance() {
    let cluster = Cluster::with_config(TWO, config().with_max_attempts(1).unwrap()).await;
    let probe = ProbeService::new();
    probe.always("b:80", ProbeAnswer::Fail(Io::ConnectionRefused));
    let client = cluster.layer().wrap(probe);
    let error = status(&client, get(&cluster.key(&["b"])))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AttemptsExhausted);
    assert!(error.to_string().contains("b (b:80)"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_is_the_limit() {
    let cluster = Cluster::start(THREE).await;
    let probe = ProbeService::new();
    probe.always("a:80", ProbeAnswer::Hang);
    probe.always("b:80", ProbeAnswer::Hang);
    let policy = RetryPolicy::default().with_per_try_timeout(Duration::from_millis(200));
    let client = cluster.layer().with_retry(policy).wrap(probe.clone());
    let key = cluster.key(&["a", "b", "c"]);
    let limited = || {
        let mut request = get(&key);
        let timeout = HeaderValue::from_static("500m");
        request.headers_mut().insert("grpc-timeout", timeout);
        request
    };
    let start = tokio::time::Instant::now();
    assert_eq!(status(&client, limited()).await.unwrap(), 200);
    assert!(start.elapsed() < Duration::from_millis(500));
    let timeouts: Vec<Duration> = probe.calls().iter().map(rest).collect();
    assert!(
        timeouts.windows(2).all(|pair| pair[0] > pair[1]),
        "{timeouts:?}"
    );
    assert_eq!(timeouts[0], Duration::from_millis(500));

    probe.always("c:80", ProbeAnswer::Hang);
    let start = tokio::time::Instant::now();
    let error = status(&client, limited()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
    let elapsed = start.elapsed();
    assert!((480..=501).contains(&elapsed.as_millis()), "{elapsed:?}");
    assert_eq!(error.attempts().len(), 3);
    assert_eq!(cluster.in_flight("c"), 0);
}

fn rest(call: &ringfence_testkit::ProbeCall) -> Duration {
    let text = call.headers["grpc-timeout"].to_str().unwrap();
    let (digits, unit) = text.split_at(text.len() - 1);
    let number = digits.parse().unwrap();
    match unit {
        "n" => Duration::from_nanos(number),
        "u" => Duration::from_micros(number),
        "m" => Duration::from_millis(number),
        other => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn timeouts_count_against_the_instance() {
    let outlier = ejecting();
    let cluster = Cluster::with_config(TWO, config().with_outlier(outlier)).await;
    let probe = ProbeService::new();
    probe.always("a:80", ProbeAnswer::Hang);
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["a"]);
    for _ in 0..5 {
        let mut request = post(&key);
        let timeout = HeaderValue::from_static("20m");
        request.headers_mut().insert("grpc-timeout", timeout);
        let error = status(&client, request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
        assert!(error.to_string().contains("a (a:80)"), "{error}");
    }
    cluster
        .until(|balancer| balancer.status().ejected == 1)
        .await;
    assert_eq!(status(&client, post(&key)).await.unwrap(), 200);
    assert_eq!(calls(&probe), [5, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn hops_stay_within_the_budget() {
    let cluster = Cluster::start(THREE).await;
    let probe = ProbeService::new();
    for authority in ["a:80", "b:80", "c:80"] {
        probe.always(authority, UNAVAILABLE);
    }
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["a"]);
    let all = (0..1_000).map(|_| status(&client, get(&key)));
    for answer in join_all(all).await {
        assert_eq!(answer.unwrap(), 503);
    }
    assert!(probe.calls().len() <= 1_203, "{}", probe.calls().len());

    let budget = RetryBudgetConfig::default()
        .with_percent(0)
        .unwrap()
        .with_min_per_second(0);
    let cluster = Cluster::with_config(TWO, config().with_retry_budget(budget)).await;
    let probe = ProbeService::new();
    probe.then("a:80", ProbeAnswer::Fail(Io::ConnectionReset));
    probe.always("a:80", ProbeAnswer::Fail(Io::ConnectionRefused));
    let client = cluster.layer().wrap(probe);
    let key = cluster.key(&["a"]);
    let error = status(&client, get(&key)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BudgetExhausted);
    assert!(error.to_string().contains("a (a:80)"), "{error}");

    // What no instance has seen may go on without a budget: it is not one request more.
    for _ in 0..4 {
        assert_eq!(status(&client, get(&key)).await.unwrap(), 200);
    }
    let counters = cluster.balancer.status().counters;
    assert_eq!((counters.hops_granted, counters.hops_free), (0, 4));
}

#[tokio::test(start_paused = true)]
async fn picking_fails_with_a_kind() {
    let cluster = Cluster::with_config(TWO, config().with_missing_key(MissingKey::Reject)).await;
    let client = cluster.layer().wrap(ProbeService::new());
    let keyless = Request::get("/").body(Full::<Bytes>::default()).unwrap();
    let error = status(&client, keyless).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KeyRequired);

    let tagged = |tags: RequestTags| {
        let mut request = get(&RoutingKey::from("x"));
        request.extensions_mut().insert(tags);
        status(&client, request)
    };
    let tenant = RequestTags::new().with_tenant("without instances of its own");
    assert_eq!(tagged(tenant).await.unwrap(), 200);
    let strange = RequestTags::new().with_tag("gpu", "h100");
    let error = tagged(strange).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoInstances);
    assert!(error.to_string().contains("orders.internal"), "{error}");

    cluster.balancer.shutdown().await;
    let error = status(&client, get(&RoutingKey::from("x")))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShutDown);
    assert!(!error.is_temporary());
}

#[tokio::test(start_paused = true)]
async fn before_the_first_view_calls_wait_no_longer_than_ready_timeout() {
    let source = ringfence_testkit::ScriptedDiscovery::new();
    let balancer = ringfence_balancer::Balancer::builder(source.clone(), "orders")
        .build()
        .unwrap();
    let client = ringfence_tower::RingfenceLayer::new(balancer).wrap(ProbeService::new());
    let start = tokio::time::Instant::now();
    let request = || Request::get("/").body(Full::<Bytes>::default()).unwrap();
    let error = status(&client, request()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotReady);
    assert_eq!(start.elapsed().as_secs(), 5);

    let waiting = tokio::spawn({
        let client = client.clone();
        async move { status(&client, request()).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    source.push_instances([common::instance("a", "a:80")]);
    assert_eq!(waiting.await.unwrap().unwrap(), 200);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_sent_is_the_callers_error() {
    let cluster = Cluster::start(TWO).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let connect = Request::connect("orders:443")
        .body(Full::<Bytes>::default())
        .unwrap();
    let error = status(&client, connect).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadRequest);
    assert_eq!(probe.calls().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_chosen_instance_is_the_one_that_is_called() {
    let cluster = Cluster::start(THREE).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    for id in ["a", "b", "c"] {
        let key = cluster.key(&[id]);
        // Removed between choice and call: the choice stands.
        probe.hold();
        let mut call = Box::pin(client.clone().once(get(&key)));
        assert!(poll_once(&mut call).await.is_pending());
        cluster.registry.deregister(&cluster.service, id);
        cluster
            .until(|balancer| balancer.status().instances == 2)
            .await;
        probe.release();
        call.await.unwrap();
        assert_eq!(probe.calls_to(&format!("{id}:80")), 1);
        cluster.register(id, &format!("{id}:80"));
        cluster
            .until(|balancer| balancer.status().instances == 3)
            .await;
    }
    let call = &probe.calls()[0];
    assert_eq!(call.uri, "http://a:80/orders?x=1");
}

#[tokio::test(start_paused = true)]
async fn hops_keep_extensions_and_headers_for_the_service_inside() {
    #[derive(Clone)]
    struct Session(u32);
    let cluster = Cluster::start(TWO).await;
    let seen = std::sync::Arc::new(AtomicUsize::new(0));
    let inside = tower::service_fn({
        let seen = std::sync::Arc::clone(&seen);
        move |request: Request<Full<Bytes>>| {
            let session = request
                .extensions()
                .get::<Session>()
                .map(|session| session.0);
            assert_eq!(session, Some(7));
            assert_eq!(request.headers()["x-many"], "a");
            assert_eq!(request.headers().get_all("x-many").iter().count(), 2);
            assert!(request.extensions().get::<RoutingKey>().is_none());
            let first = seen.fetch_add(1, Ordering::Relaxed) == 0;
            async move {
                if first {
                    return Err(std::io::Error::from(Io::ConnectionRefused));
                }
                Ok(Response::new(Full::<Bytes>::default()))
            }
        }
    });
    let client = cluster.layer().wrap(inside);
    let mut request = post(&cluster.key(&["a"]));
    request.extensions_mut().insert(Session(7));
    request.headers_mut().append("x-many", "a".parse().unwrap());
    request.headers_mut().append("x-many", "b".parse().unwrap());
    client.once(request).await.unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 2);
}

#[derive(Debug)]
struct Throttled;

impl Classify for Throttled {
    fn response(&self, status: StatusCode, headers: &HeaderMap) -> Verdict {
        match status {
            StatusCode::TOO_MANY_REQUESTS => Verdict::Unavailable,
            _ => classify_response(status, headers),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_classifier_can_be_replaced() {
    let cluster = Cluster::start(TWO).await;
    let probe = ProbeService::new();
    probe.always("a:80", ProbeAnswer::Status(StatusCode::TOO_MANY_REQUESTS));
    let client = cluster
        .layer()
        .with_classifier(Throttled)
        .wrap(probe.clone());
    assert_eq!(
        status(&client, get(&cluster.key(&["a"]))).await.unwrap(),
        200
    );
    assert_eq!(calls(&probe), [1, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn keys_from_several_sources() {
    let cluster = Cluster::start(THREE).await;
    let probe = ProbeService::new();
    let layer = cluster
        .layer()
        .with_key(KeySource::header(http::HeaderName::from_static("x-user")))
        .with_key(KeySource::path_segment(1));
    let client = layer.wrap(probe.clone());
    let key = cluster.key(&["c"]);
    let key = std::str::from_utf8(key.as_bytes()).unwrap();
    let by_header = Request::get("/users/nobody").header("x-user", key);
    let by_path = Request::get(format!("/users/{key}?q"));
    for request in [by_header, by_path] {
        let response = client
            .clone()
            .once(request.body(Full::<Bytes>::default()).unwrap());
        response.await.unwrap().into_body().collect().await.unwrap();
    }
    assert_eq!(calls(&probe), [0, 0, 2]);
    // Too long for a key: counted, and the request goes on as one without.
    let long = Request::get(format!("/users/{}", "x".repeat(2_000)));
    client
        .once(long.body(Full::<Bytes>::default()).unwrap())
        .await
        .unwrap();
    assert_eq!(cluster.balancer.status().counters.keys_too_long, 1);
}
