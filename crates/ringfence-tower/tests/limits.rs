//! Limits on what is in flight, as callers of the layer meet them.
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::time::Duration;

use bytes::Bytes;
use common::{Cluster, Once as _, config, keyed, poll_once};
use futures_util::future::join_all;
use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use ringfence_balancer::{ConcurrencyLimits, OutlierConfig, PickRequest};
use ringfence_testkit::{ProbeAnswer, ProbeService};
use ringfence_tower::{Baseline, Error, ErrorKind, RoutingKey};
use tokio::time::Instant;

const TWO: &[(&str, &str)] = &[("a", "a:80"), ("b", "b:80")];

fn get(key: &RoutingKey) -> Request<Full<Bytes>> {
    keyed(Request::get("/orders").body(Full::default()).unwrap(), key)
}

async fn limited(limits: ConcurrencyLimits) -> (Cluster, ProbeService) {
    // One failure would eject.
    let outlier = OutlierConfig::default().with_consecutive_failures(1);
    let outlier = outlier.with_max_ejection_percent(50).unwrap();
    let config = config().with_outlier(outlier).with_concurrency(limits);
    (Cluster::with_config(TWO, config).await, ProbeService::new())
}

fn in_all(most: usize, queued: usize) -> ConcurrencyLimits {
    let limits = ConcurrencyLimits::default().with_max_in_flight(most);
    limits.unwrap().with_max_queued(queued).unwrap()
}

/// A hundred at once where each instance takes one (B18).
#[tokio::test(start_paused = true)]
async fn a_limit_of_one_lets_one_in_on_each_instance_and_ejects_nobody() {
    let limits = ConcurrencyLimits::default().with_max_in_flight_per_instance(1);
    let (cluster, probe) = limited(limits.unwrap()).await;
    probe.always("a:80", ProbeAnswer::Hang);
    probe.always("b:80", ProbeAnswer::Hang);
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["a"]);
    let call = || client.clone().once(get(&key));
    let mut running = [Box::pin(call()), Box::pin(call())];
    for call in &mut running {
        assert!(poll_once(call).await.is_pending());
    }
    for answer in join_all((0..98).map(|_| call())).await {
        let error: Error = answer.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Overloaded);
        assert!(error.is_temporary() && error.attempts().is_empty());
        assert_eq!(
            error.to_string(),
            "service orders.internal is overloaded here: every usable instance has \
             max_in_flight_per_instance requests in flight"
        );
    }
    assert_eq!((probe.calls_to("a:80"), probe.calls_to("b:80")), (1, 1));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(cluster.balancer.status().ejected, 0);
    drop(running);
    probe.always("a:80", ProbeAnswer::Status(StatusCode::OK));
    assert_eq!(call().await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_call_keeps_its_place_to_the_end_of_its_response() {
    let (cluster, probe) = limited(in_all(1, 0)).await;
    let client = cluster.layer().wrap(streaming(probe));
    let key = cluster.key(&["a"]);
    let call = || client.clone().once(get(&key));
    for is_read in [true, false] {
        let response = call().await.unwrap();
        let refused = call().await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Overloaded);
        if is_read {
            response.into_body().collect().await.unwrap();
        } else {
            drop(response);
        }
    }
    // A call that failed, and one that was dropped on its way.
    drop(call());
    let mut dropped = Box::pin(call());
    let _ = poll_once(&mut dropped).await;
    drop(dropped);
    drop(call().await.unwrap());
    assert_eq!(cluster.balancer.status().admitted, 0);
}

/// Answers with a body that does not end with its head.
fn streaming(
    probe: ProbeService,
) -> impl tower::Service<
    Request<Full<Bytes>>,
    Response = http::Response<http_body_util::StreamBody<Frames>>,
    Error = std::io::Error,
    Future: Send,
> + Clone
+ Send
+ 'static {
    tower::service_fn(move |request: Request<Full<Bytes>>| {
        let call = probe.clone().once(request);
        async move {
            call.await.map_err(std::io::Error::other)?;
            let frames = [Ok(http_body::Frame::data(Bytes::from_static(b"x")))];
            let body = http_body_util::StreamBody::new(futures_util::stream::iter(frames));
            Ok(http::Response::new(body))
        }
    })
}

type Frames = futures_util::stream::Iter<
    std::array::IntoIter<Result<http_body::Frame<Bytes>, std::io::Error>, 1>,
>;

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_its_place_and_not_past_its_deadline() {
    let (cluster, probe) = limited(in_all(1, 10)).await;
    probe.then("a:80", ProbeAnswer::Hang);
    let client = cluster.layer().wrap(probe.clone());
    let key = cluster.key(&["a"]);
    let mut first = Box::pin(client.clone().once(get(&key)));
    assert!(poll_once(&mut first).await.is_pending());

    let start = Instant::now();
    let mut hurried = get(&key);
    let timeout = HeaderValue::from_static("50m");
    hurried.headers_mut().insert("grpc-timeout", timeout);
    let error = client.clone().once(hurried).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
    assert_eq!(start.elapsed(), Duration::from_millis(50));
    let error = client.clone().once(get(&key)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Overloaded);
    assert_eq!(start.elapsed(), Duration::from_millis(1_050));

    let mut waiting = Box::pin(client.clone().once(get(&key)));
    assert!(poll_once(&mut waiting).await.is_pending());
    drop(first);
    assert_eq!(waiting.await.unwrap().status(), 200);
    assert_eq!(probe.calls().len(), 2);
    assert_eq!(cluster.balancer.status().queued, 0);
}

#[tokio::test(start_paused = true)]
async fn least_request_goes_where_the_least_is_in_flight() {
    let (cluster, probe) = limited(ConcurrencyLimits::default()).await;
    let layer = cluster.layer().with_baseline(Baseline::least_request());
    let client = layer.wrap(probe.clone());
    let key = cluster.key(&["a"]);
    let busy = cluster
        .balancer
        .pick(&PickRequest::new().with_key(key.as_bytes()));
    let busy = [busy.unwrap().first().begin()];
    for _ in 0..20 {
        // Whatever the key, and each call is over before the next one.
        assert_eq!(client.clone().once(get(&key)).await.unwrap().status(), 200);
    }
    drop(busy);
    assert_eq!((probe.calls_to("a:80"), probe.calls_to("b:80")), (0, 20));
}

#[tokio::test(start_paused = true)]
async fn what_the_client_does_by_itself_is_not_limited() {
    let (cluster, probe) = limited(in_all(1, 0)).await;
    let layer = cluster.layer().with_baseline(Baseline::untouched());
    let client = layer.wrap(probe);
    let _held = cluster.balancer.admit().await.unwrap();
    let request = Request::get("http://a:80/")
        .body(Full::<Bytes>::default())
        .unwrap();
    assert_eq!(client.once(request).await.unwrap().status(), 200);
}
