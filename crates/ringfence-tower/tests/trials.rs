//! Calls to an instance that fails, is left out, and comes back on trial.
#![allow(clippy::panic, clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::time::Duration;

use bytes::Bytes;
use common::{Cluster, Once as _, config, keyed, poll_once};
use http::{HeaderValue, Request, StatusCode};
use http_body_util::Full;
use ringfence_balancer::OutlierConfig;
use ringfence_testkit::{ProbeAnswer, ProbeService};
use ringfence_tower::{RetryPolicy, Ringfence, RoutingKey};

const OK: ProbeAnswer = ProbeAnswer::Status(StatusCode::OK);
const UNAVAILABLE: ProbeAnswer = ProbeAnswer::Status(StatusCode::SERVICE_UNAVAILABLE);
const REFUSED: ProbeAnswer = ProbeAnswer::Fail(std::io::ErrorKind::ConnectionRefused);
const THREE: &[(&str, &str)] = &[("a", "a:80"), ("b", "b:80"), ("c", "c:80")];

fn get(key: &RoutingKey) -> Request<Full<Bytes>> {
    keyed(Request::get("/").body(Full::default()).unwrap(), key)
}

fn post_within(key: &RoutingKey, timeout: &'static str) -> Request<Full<Bytes>> {
    let request = Request::post("/").header("grpc-timeout", HeaderValue::from_static(timeout));
    keyed(request.body(Full::default()).unwrap(), key)
}

async fn cluster() -> Cluster {
    let outlier = OutlierConfig::default()
        .with_max_ejection_percent(34)
        .unwrap();
    Cluster::with_config(THREE, config().with_outlier(outlier)).await
}

/// Lets five calls run into their deadline, which ejects `a`, and waits until it is back on trial.
async fn back_on_trial(
    cluster: &Cluster,
    client: &Ringfence<ProbeService>,
    probe: &ProbeService,
    key: &RoutingKey,
) {
    probe.always("a:80", ProbeAnswer::Hang);
    for _ in 0..5 {
        let call = client.clone().once(post_within(key, "20m"));
        assert!(call.await.is_err());
    }
    cluster.until(|b| b.status().ejected == 1).await;
    cluster.until(|b| b.status().on_trial == 1).await;
}

/// The replay of B18: those who give up are neutral, five real timeouts are not, and a trial that is cancelled is no end of it.
#[tokio::test(start_paused = true)]
async fn a_cancelled_trial_lets_the_next_request_try() {
    let cluster = cluster().await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["a"]);
    probe.always("a:80", ProbeAnswer::Hang);
    for _ in 0..100 {
        let call = client.clone().once(get(&key));
        let given_up = tokio::time::timeout(Duration::from_millis(5), call).await;
        assert!(given_up.is_err());
    }
    assert_eq!(probe.calls_to("a:80"), 100);
    assert_eq!(cluster.balancer.status().counters.ejections, 0);

    back_on_trial(&cluster, &client, &probe, &key).await;
    let before = probe.calls_to("a:80");
    for n in 1..=10 {
        let call = client.clone().once(get(&key));
        let given_up = tokio::time::timeout(Duration::from_millis(5), call).await;
        assert!(given_up.is_err());
        assert_eq!(probe.calls_to("a:80"), before + n, "the next one may try");
    }
    let status = cluster.balancer.status();
    assert_eq!((status.on_trial, status.counters.ejections), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn others_go_on_while_one_call_tries() {
    let cluster = cluster().await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["a"]);
    back_on_trial(&cluster, &client, &probe, &key).await;
    let before = probe.calls_to("a:80");
    let mut trying = Box::pin(client.clone().once(get(&key)));
    assert!(poll_once(&mut trying).await.is_pending());
    for _ in 0..20 {
        let response = client.clone().once(get(&key)).await.unwrap();
        assert_eq!(response.status(), 200);
    }
    assert_eq!(probe.calls_to("a:80"), before + 1, "the one that tries");
    drop(trying);
    // It serves again: three answers, and it has its full traffic.
    probe.always("a:80", OK);
    for _ in 0..3 {
        let response = client.clone().once(get(&key)).await.unwrap();
        assert_eq!(response.status(), 200);
    }
    assert_eq!(probe.calls_to("a:80"), before + 4);
    cluster.until(|b| b.status().on_trial == 0).await;
}

/// The second attempt finds the instance busy that had room when the first one began.
#[tokio::test(start_paused = true)]
async fn a_hop_passes_by_who_is_busy_on_trial() {
    let cluster = cluster().await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["a"]);
    let over_a = cluster.key(&["b", "a", "c"]);
    back_on_trial(&cluster, &client, &probe, &key).await;
    let before = probe.calls_to("a:80");
    probe.then("b:80", ProbeAnswer::Hang);
    let quick = RetryPolicy::default().with_per_try_timeout(Duration::from_millis(50));
    let quick = cluster.layer().with_retry(quick).wrap(probe.clone());
    let mut hopping = Box::pin(quick.once(get(&over_a)));
    assert!(poll_once(&mut hopping).await.is_pending());
    let mut trying = Box::pin(client.clone().once(get(&key)));
    assert!(poll_once(&mut trying).await.is_pending());
    assert_eq!(hopping.await.unwrap().status(), 200);
    assert_eq!(probe.calls_to("a:80"), before + 1);
    assert_eq!(probe.calls_to("c:80"), 1);
    drop(trying);
    // With room it is asked as always.
    probe.then("b:80", UNAVAILABLE);
    probe.always("a:80", OK);
    let response = client.clone().once(get(&over_a)).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(probe.calls_to("a:80"), before + 2);
}

/// Ejections are about the past: when those that are left all fail, one that is out may serve again, and is asked rather than nobody.
#[tokio::test(start_paused = true)]
async fn when_all_others_fail_an_ejected_instance_is_the_last_resort() {
    let cluster = cluster().await;
    let probe = ProbeService::new();
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["b", "a", "c"]);
    probe.always("a:80", REFUSED);
    for _ in 0..3 {
        let call = client.clone().once(get(&cluster.key(&["a"])));
        assert!(call.await.is_ok());
    }
    cluster.until(|b| b.status().ejected == 1).await;
    let before = probe.calls_to("a:80");
    assert!(client.clone().once(get(&key)).await.is_ok());
    assert_eq!(probe.calls_to("a:80"), before, "not while others serve");

    for gone in ["b:80", "c:80"] {
        probe.always(gone, REFUSED);
    }
    probe.always("a:80", OK);
    assert!(client.clone().once(get(&key)).await.is_ok());
    assert_eq!(probe.calls_to("a:80"), before + 1);

    let hedging = RetryPolicy::default().with_hedging(Duration::from_millis(10));
    let hedged = cluster.layer().with_retry(hedging).wrap(probe.clone());
    probe.always("b:80", ProbeAnswer::Hang);
    probe.always("c:80", ProbeAnswer::Hang);
    let call = hedged.once(get(&key));
    let slow = tokio::time::timeout(Duration::from_secs(1), call).await;
    assert!(slow.is_err(), "slowness alone is no reason to ask it");
    assert_eq!(probe.calls_to("a:80"), before + 1);
}
