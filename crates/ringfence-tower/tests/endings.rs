//! How a response may end, and for whom.
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use common::{Cluster, Once as _, config, keyed};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt as _, Full};
use ringfence_balancer::OutlierConfig;
use ringfence_tower::RoutingKey;

const TWO: &[(&str, &str)] = &[("a", "a:80"), ("b", "b:80")];

fn post(key: &RoutingKey) -> Request<Full<Bytes>> {
    keyed(Request::post("/orders").body(Full::default()).unwrap(), key)
}

/// What calls come to whose gRPC answer of one message ends without a status or with one, for a reader that looks for the end and
/// does not ask for more.
async fn ejected_after_five(trailers: Option<HeaderMap>) -> usize {
    let outlier = OutlierConfig::default().with_consecutive_failures(5);
    let outlier = outlier.with_max_ejection_percent(50).unwrap();
    let cluster = Cluster::with_config(TWO, config().with_outlier(outlier)).await;
    let answers = tower::service_fn(move |_: Request<Full<Bytes>>| {
        let frames = [Frame::data(Bytes::from_static(b"message"))].into_iter();
        let frames = frames.chain(trailers.clone().map(Frame::trailers));
        let answer = Response::builder().header(CONTENT_TYPE, "application/grpc");
        let answer = answer.body(Frames(frames.collect())).unwrap();
        async { Ok::<_, std::convert::Infallible>(answer) }
    });
    let client = cluster.layer().wrap(answers);
    let key = cluster.key(&["a", "b"]);
    for _ in 0..5 {
        let mut body = client.clone().once(post(&key)).await.unwrap().into_body();
        while !body.is_end_stream() {
            body.frame().await.unwrap().unwrap();
        }
    }
    // The balancer's task judges what was reported.
    tokio::time::sleep(Duration::from_secs(1)).await;
    cluster.balancer.status().ejected
}

/// Frames that are there, the last of which is known to be it.
struct Frames(VecDeque<Frame<Bytes>>);

impl http_body::Body for Frames {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_looks_for_the_end_sees_no_success_where_the_status_is_missing() {
    assert_eq!(ejected_after_five(None).await, 1);
    let mut ok = HeaderMap::new();
    ok.insert("grpc-status", HeaderValue::from_static("0"));
    assert_eq!(ejected_after_five(Some(ok.clone())).await, 0);
    ok.insert("grpc-status", HeaderValue::from_static("14"));
    assert_eq!(ejected_after_five(Some(ok)).await, 1);
}
