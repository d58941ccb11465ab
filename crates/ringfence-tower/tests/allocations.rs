//! What a request costs over its inner service.
#![allow(clippy::panic, clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use common::{Cluster, instance, keyed};
use http::{HeaderValue, Request, Response};
use http_body_util::{Full, combinators::BoxBody};
use ringfence_testkit::allocations;
use ringfence_tower::{RequestBody, Ringfence, RoutingKey};
use tower::Service;

/// Answers at once without an allocation.
#[derive(Clone)]
struct Free;

impl<B> Service<Request<B>> for Free {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        ready(Ok(Response::default()))
    }
}

fn request<B>(body: B, key: &RoutingKey) -> Request<B> {
    let mut request = Request::get("/orders?x=1").body(body).unwrap();
    let headers = request.headers_mut();
    headers.insert("te", HeaderValue::from_static("trailers"));
    headers.insert(
        "x-trace",
        "4bf92f3577b34da6a3ce929d0e0e4736".parse().unwrap(),
    );
    headers.insert("authorization", "Bearer 0123456789".parse().unwrap());
    keyed(request, key)
}

fn count<B: RequestBody>(client: &mut Ringfence<Free>, request: Request<B>) -> u64 {
    let mut cx = Context::from_waker(Waker::noop());
    let mut request = Some(request);
    let info = allocations(|| {
        let call = pin!(client.call(request.take().unwrap()));
        let Poll::Ready(response) = call.poll(&mut cx) else {
            panic!("the inner service answers at once");
        };
        drop(response.unwrap());
    });
    info.count_total
}

#[tokio::test]
async fn a_request_that_needs_no_second_attempt_costs_one_allocation() {
    let instances = [("a", "a:80"), ("b", "b:80"), ("c", "c:80")];
    let cluster = Cluster::start(&instances).await;
    let mut client = cluster.layer().wrap(Free);
    let key = cluster.key(&["a"]);
    let body = || Full::new(Bytes::from_static(b"0123456789"));
    // The first request to an instance parses its address.
    for id in ["a", "b", "c"] {
        count(&mut client, request(body(), &cluster.key(&[id])));
    }
    assert_eq!(count(&mut client, request(body(), &key)), 1);
    // A body that is kept for a second attempt: the box around what there is of it.
    assert_eq!(count(&mut client, request(BoxBody::new(body()), &key)), 2);
    let without_key = RoutingKey::from(Bytes::new());
    assert_eq!(count(&mut client, request(body(), &without_key)), 1);
}

#[tokio::test]
async fn a_policy_without_regular_expressions_adds_none() {
    let instances = [("a", "a:80"), ("b", "b:80"), ("c", "c:80")];
    let instances = instances.map(|(id, at)| instance(id, at));
    let text = "
ringfence: 1
gray: { next: { to: { version: gray }, percent: 30 } }
rules:
  - { name: other, match: [{ methods: [POST] }, { path: { prefix: /cart } }, { headers: { x-lane: { exact: blue } } }] }
  - name: orders
    match: [{ path: { exact: /orders } }]
    tags_from_headers: { x-lane: { tag: lane } }
    key: [{ cookie: sid }, { query: user }, { extension: {}, normalise: [trim, case_fold_ascii] }]
    gray: [next]
    pools: [{ require: { version: stable }, min_usable: 2 }, {}]
    missing_key: round_robin
    limits: { max_attempts: 2 }
";
    let cluster = Cluster::with_policy(instances, text).await;
    let mut client = cluster.layer().wrap(Free);
    let body = || Full::new(Bytes::from_static(b"0123456789"));
    for n in 0..100 {
        let key = RoutingKey::from(format!(" User-{n} "));
        count(&mut client, request(body(), &key));
    }
    for n in 0..100 {
        let key = RoutingKey::from(format!(" User-{n} "));
        assert_eq!(count(&mut client, request(body(), &key)), 1);
    }
    let without_key = RoutingKey::from(Bytes::new());
    assert_eq!(count(&mut client, request(body(), &without_key)), 1);
}
