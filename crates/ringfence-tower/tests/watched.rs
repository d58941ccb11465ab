//! What those who watch calls are told: observers of the balancer, and traces.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "all of it is tests"
)]

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use common::{Cluster, Once as _, config, instance, keyed, policy};
use http::{HeaderName, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use ringfence_balancer::{
    CallEnd, CallObserver, CallOutcome, Observer, PoolLabel, RetryBudgetConfig, ServiceKey,
};
use ringfence_core::Instance;
use ringfence_testkit::{ProbeAnswer, ProbeService, Spans};
use ringfence_tower::{Baseline, ErrorKind, KeySource, RequestTags, RetryPolicy, RoutingKey};
use tokio::time::sleep;

const TARGET: &str = "ringfence::call";
const UNAVAILABLE: ProbeAnswer = ProbeAnswer::Status(StatusCode::SERVICE_UNAVAILABLE);

#[derive(Clone, Debug, PartialEq)]
struct Told {
    pool: String,
    outcome: CallOutcome,
    attempts: u32,
    instance: Option<String>,
    millis: u128,
}

#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<Told>>>);

struct Pool(Calls, PoolLabel);

impl Observer for Calls {
    fn pool(&self, _: &ServiceKey, pool: &PoolLabel) -> Arc<dyn CallObserver> {
        Arc::new(Pool(self.clone(), pool.clone()))
    }
}

impl CallObserver for Pool {
    fn ended(&self, call: &CallEnd<'_>) {
        self.0.0.lock().unwrap().push(Told {
            pool: self.1.to_string(),
            outcome: call.outcome,
            attempts: call.attempts,
            instance: call.instance.map(ToString::to_string),
            millis: call.took.as_millis(),
        });
    }
}

impl Calls {
    fn take(&self) -> Vec<Told> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    fn one(&self) -> Told {
        let told = self.take();
        assert_eq!(told.len(), 1, "{told:?}");
        told.into_iter().next().unwrap()
    }
}

fn told(outcome: CallOutcome, attempts: u32, instance: &str) -> Told {
    Told {
        pool: "default/0".to_owned(),
        outcome,
        attempts,
        instance: (!instance.is_empty()).then(|| instance.to_owned()),
        millis: 0,
    }
}

async fn cluster(calls: &Calls) -> Cluster {
    let instances = ["a:80", "b:80", "c:80"].map(|at| instance(&at[..1], at));
    let calls = calls.clone();
    Cluster::build(instances, |b| b.with_config(config()).with_observer(calls)).await
}

fn get(key: &RoutingKey) -> Request<Full<Bytes>> {
    keyed(
        Request::get("/orders/42").body(Full::default()).unwrap(),
        key,
    )
}

#[tokio::test(start_paused = true)]
async fn a_call_is_told_once_with_its_last_instance_when_its_answer_has_been_read() {
    let calls = Calls::default();
    let cluster = cluster(&calls).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["a", "b", "c"]);

    let response = client.clone().once(get(&key)).await.unwrap();
    assert_eq!(response.status(), 200);
    drop(response);
    assert_eq!(calls.one(), told(CallOutcome::Success, 1, "a"));

    probe.then("a:80", UNAVAILABLE);
    drop(client.clone().once(get(&key)).await.unwrap());
    let end = calls.one();
    let expected = told(CallOutcome::Success, 2, "b");
    assert_eq!(Told { millis: 0, ..end }, expected);

    for at in ["a:80", "b:80", "c:80"] {
        probe.then(at, UNAVAILABLE);
    }
    let response = client.clone().once(get(&key)).await.unwrap();
    assert_eq!(response.status(), 503);
    drop(response);
    let end = calls.one();
    let expected = told(CallOutcome::FailedResponse, 3, "c");
    // There are pauses between attempts, of random length.
    assert_eq!(Told { millis: 0, ..end }, expected);

    probe.then(
        "a:80",
        ProbeAnswer::Slow(Duration::from_millis(70), StatusCode::OK),
    );
    drop(client.clone().once(get(&key)).await.unwrap());
    assert_eq!(calls.one().millis, 70);
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_goes_away_is_told_as_such() {
    let calls = Calls::default();
    let cluster = cluster(&calls).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["a"]);
    probe.then(
        "a:80",
        ProbeAnswer::Slow(Duration::from_secs(60), StatusCode::OK),
    );
    let call = client.clone().once(get(&key));
    assert!(
        tokio::time::timeout(Duration::from_millis(5), call)
            .await
            .is_err()
    );
    let cancelled = calls.one();
    assert_eq!(
        (cancelled.outcome, cancelled.attempts),
        (CallOutcome::Cancelled, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn calls_that_come_to_no_instance_say_why() {
    let calls = Calls::default();
    let cluster = cluster(&calls).await;
    cluster.registry.replace(&cluster.service, []);
    cluster
        .until(|balancer| balancer.status().instances == 0)
        .await;
    let client = cluster.layer().wrap(ProbeService::new());
    let error = client.once(get(&RoutingKey::from("k"))).await.unwrap_err();
    let end = calls.one();
    assert_eq!(error.kind(), ErrorKind::NoInstances);
    assert_eq!(end.outcome, CallOutcome::NoInstances);
    assert_eq!(
        (end.pool.as_str(), end.attempts, end.instance),
        ("none", 0, None)
    );
}

#[tokio::test(start_paused = true)]
async fn errors_have_their_kind_and_a_spent_budget_is_one() {
    let calls = Calls::default();
    let instances = ["a:80", "b:80"].map(|at| instance(&at[..1], at));
    let budget = RetryBudgetConfig::default().with_percent(0).unwrap();
    let config = config().with_retry_budget(budget.with_min_per_second(0));
    let observer = calls.clone();
    let set_up =
        |b: ringfence_balancer::BalancerBuilder| b.with_config(config).with_observer(observer);
    let cluster = Cluster::build(instances, set_up).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["a", "b"]);
    // An answer that says no is the caller's, if nobody else may be asked.
    probe.then("a:80", UNAVAILABLE);
    drop(client.clone().once(get(&key)).await.unwrap());
    assert_eq!(calls.one(), told(CallOutcome::FailedResponse, 1, "a"));
    probe.then(
        "a:80",
        ProbeAnswer::Fail(std::io::ErrorKind::ConnectionReset),
    );
    let error = client.once(get(&key)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BudgetExhausted);
    assert_eq!(calls.one(), told(CallOutcome::BudgetExhausted, 1, "a"));
}

#[tokio::test(start_paused = true)]
async fn a_second_attempt_beside_the_first_counts_too() {
    let calls = Calls::default();
    let cluster = cluster(&calls).await;
    let probe = ProbeService::new();
    let retry = RetryPolicy::default().with_hedging(Duration::from_millis(100));
    let client = cluster.layer().with_retry(retry).wrap(probe.clone());
    let key = cluster.key(&["a", "b"]);
    probe.then(
        "a:80",
        ProbeAnswer::Slow(Duration::from_secs(5), StatusCode::OK),
    );
    drop(client.once(get(&key)).await.unwrap());
    let end = calls.one();
    assert_eq!(
        (end.outcome, end.attempts, end.instance.as_deref()),
        (CallOutcome::Success, 2, Some("b"))
    );
}

#[tokio::test(start_paused = true)]
async fn the_pool_is_named_by_the_rule_and_what_is_left_untouched_is_not_told() {
    let calls = Calls::default();
    let observer = calls.clone();
    let text = "
ringfence: 1
gray: { next: { to: { version: v2 }, percent: 100 } }
rules:
  - { name: carts, match: [{ path: { prefix: /carts } }], key: [{ header: x-user }] }
  - { name: orders, match: [{ path: { prefix: /orders } }], key: [{ header: x-user }], gray: [next] }
  - { name: rest, mode: off }";
    let instances = ["a:80", "b:80"].map(|at| instance(&at[..1], at));
    let set_up = |b: ringfence_balancer::BalancerBuilder| {
        b.with_config(config())
            .with_policy(policy(text))
            .with_observer(observer)
    };
    let cluster = Cluster::build(instances, set_up).await;
    let layer = cluster.layer().with_baseline(Baseline::untouched());
    let client = layer.wrap(ProbeService::new());
    let request = |path: &str| {
        Request::get(path)
            .header("x-user", "u")
            .body(Full::<Bytes>::default())
            .unwrap()
    };
    let spans = Spans::capture(TARGET);
    drop(client.clone().once(request("/carts/1")).await.unwrap());
    assert_eq!(calls.one().pool, "carts/0");
    let span = spans.take_closed().pop().unwrap();
    assert_eq!(span.get("ringfence.pool"), Some("carts/0"));
    assert_eq!(span.get("ringfence.key_source"), Some("header x-user"));
    // Calls of a release are apart from others of the rule, whichever stage serves them.
    drop(client.clone().once(request("/orders/1")).await.unwrap());
    assert_eq!(calls.one().pool, "orders@next/1");
    assert_eq!(
        spans.take_closed().pop().unwrap().get("ringfence.pool"),
        Some("orders@next/1")
    );
    drop(client.once(request("/other")).await.unwrap());
    assert!(calls.take().is_empty());
    let span = spans.take_closed().pop().unwrap();
    assert_eq!(span.get("ringfence.outcome"), Some("untouched"));
}

#[tokio::test(start_paused = true)]
async fn each_call_has_one_span_that_says_where_it_went_and_not_its_key() {
    let cluster = Cluster::start(&[("a", "a:80"), ("b", "b:80")]).await;
    let probe = ProbeService::new();
    let layer = cluster
        .layer()
        .with_key(KeySource::header(HeaderName::from_static("x-user")));
    let client = layer.wrap(probe.clone());
    let key = cluster.key(&["a", "b"]);
    let text = String::from_utf8(key.as_bytes().to_vec()).unwrap();
    let spans = Spans::capture(TARGET);
    probe.then("a:80", UNAVAILABLE);
    let response = client.clone().once(get(&key)).await.unwrap();
    assert_eq!(
        (spans.open(), spans.take_closed().len()),
        (0, 1),
        "the body is empty"
    );
    drop(response);

    probe.then("a:80", UNAVAILABLE);
    drop(client.clone().once(get(&key)).await.unwrap());
    let span = spans.take_closed().pop().unwrap();
    assert_eq!(span.name, "ringfence.call");
    let expected = [
        ("otel.kind", "client"),
        ("otel.name", "GET"),
        ("http.request.method", "GET"),
        ("http.response.status_code", "200"),
        ("server.address", "b"),
        ("server.port", "80"),
        ("ringfence.service", common::SERVICE),
        ("ringfence.pool", "default/0"),
        ("ringfence.instance", "b"),
        ("ringfence.hop", "1"),
        ("ringfence.epoch", "1"),
        ("ringfence.key_source", "extension"),
        ("ringfence.outcome", "success"),
    ];
    assert_eq!(span.fields.len(), expected.len(), "{span:?}");
    for (field, value) in expected {
        assert_eq!(span.get(field), Some(value), "{field}");
    }
    assert!(!format!("{span:?}").contains(&text) && !format!("{span:?}").contains("orders/42"));

    let told = cluster.layer().with_traced_keys(true).wrap(probe.clone());
    drop(told.once(get(&key)).await.unwrap());
    let span = spans.take_closed().pop().unwrap();
    assert_eq!(span.get("ringfence.key"), Some(text.as_str()));
}

#[tokio::test(start_paused = true)]
async fn spans_of_failures_say_what_failed_and_grpc_has_its_names() {
    let cluster = Cluster::start(&[("a", "a:80")]).await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let key = RoutingKey::from("k");
    let spans = Spans::capture(TARGET);
    probe.then("a:80", ProbeAnswer::Grpc(14));
    let request = Request::post("/shop.Cart/Add").header("content-type", "application/grpc");
    let request = keyed(request.body(Full::<Bytes>::default()).unwrap(), &key);
    let response = client.clone().once(request).await.unwrap();
    let _ = response.into_body().collect().await;
    let span = spans.take_closed().pop().unwrap();
    for (field, value) in [
        ("otel.name", "shop.Cart/Add"),
        ("rpc.system", "grpc"),
        ("rpc.service", "shop.Cart"),
        ("rpc.method", "Add"),
        ("rpc.grpc.status_code", "14"),
        ("otel.status_code", "ERROR"),
        ("error.type", "failed_response"),
    ] {
        assert_eq!(span.get(field), Some(value), "{field}: {span:?}");
    }

    probe.then(
        "a:80",
        ProbeAnswer::Fail(std::io::ErrorKind::ConnectionRefused),
    );
    client.once(get(&key)).await.unwrap_err();
    let span = spans.take_closed().pop().unwrap();
    assert_eq!(span.get("error.type"), Some("attempts_exhausted"));
    let told = span.get("otel.status_description").unwrap();
    assert!(told.starts_with("attempts_exhausted; a (a:80): "), "{told}");
}

/// Tags are no more for a trace than keys are: the error that the caller gets names the pool with its tenant.
#[tokio::test(start_paused = true)]
async fn spans_of_failures_do_not_name_tenants() {
    let theirs = Instance::builder("a", "a:80").tag("tenant", "acme-secret");
    let instances = [theirs.build().unwrap()];
    let cluster = Cluster::build(instances, |b| b.with_config(config())).await;
    let probe = ProbeService::new();
    probe.always(
        "a:80",
        ProbeAnswer::Fail(std::io::ErrorKind::ConnectionRefused),
    );
    let client = cluster.layer().wrap(probe);
    let spans = Spans::capture(TARGET);
    let mut request = get(&RoutingKey::from("k"));
    let tags = RequestTags::new().with_tenant("acme-secret");
    request.extensions_mut().insert(tags);
    let error = client.once(request).await.unwrap_err();
    assert!(error.to_string().contains("acme-secret"), "{error}");
    let span = spans.take_closed().pop().unwrap();
    assert!(!format!("{span:?}").contains("acme-secret"), "{span:?}");
}

/// A second attempt counts from its begin on, and one that has no answer at the deadline is to blame as the first one is.
#[tokio::test(start_paused = true)]
async fn both_attempts_of_a_hedged_call_are_told_however_it_ends() {
    let calls = Calls::default();
    let cluster = cluster(&calls).await;
    let probe = ProbeService::new();
    let retry = RetryPolicy::default().with_hedging(Duration::from_millis(100));
    let client = cluster.layer().with_retry(retry).wrap(probe.clone());
    let key = cluster.key(&["a", "b"]);
    for at in ["a:80", "b:80"] {
        probe.always(at, ProbeAnswer::Hang);
    }
    let cancelled = client.clone().once(get(&key));
    let waited = tokio::time::timeout(Duration::from_millis(300), cancelled).await;
    assert!(waited.is_err());
    let end = calls.one();
    assert_eq!((end.outcome, end.attempts), (CallOutcome::Cancelled, 2));

    let mut late = get(&key);
    late.headers_mut()
        .insert("grpc-timeout", "300m".parse().unwrap());
    let error = client.once(late).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
    assert_eq!(error.attempts().len(), 2, "{error}");
    let end = calls.one();
    assert_eq!(
        (end.outcome, end.attempts),
        (CallOutcome::DeadlineExceeded, 2)
    );
    assert_eq!(cluster.balancer.status().counters.failures_timeout, 2);
}

#[tokio::test(start_paused = true)]
async fn the_context_of_the_trace_goes_with_each_attempt() {
    let cluster = Cluster::start(&[("a", "a:80"), ("b", "b:80")]).await;
    let probe = ProbeService::new();
    let spans = Spans::capture(TARGET);
    let current = spans.current();
    let layer = cluster.layer().with_propagator(move |headers| {
        headers.insert("x-span", current().into());
    });
    let client = layer.wrap(probe.clone());
    let key = cluster.key(&["a", "b"]);
    probe.then("a:80", UNAVAILABLE);
    drop(client.clone().once(get(&key)).await.unwrap());
    sleep(Duration::from_millis(1)).await;
    drop(client.once(get(&key)).await.unwrap());
    assert_eq!(spans.take_closed().len(), 2);
    let seen: Vec<_> = probe
        .calls()
        .iter()
        .map(|call| call.headers["x-span"].to_str().unwrap().to_owned())
        .collect();
    assert_eq!(seen, ["1", "1", "2"]);
}
