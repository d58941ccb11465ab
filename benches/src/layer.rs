//! The layer over a service that answers at once, beside tower's power of two choices.

use std::{
    convert::Infallible,
    future::{Future, Ready, ready},
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use http::{Request, Response};
use http_body_util::Empty;
use ringfence_metrics::Metrics;
use ringfence_tower::{KeySource, RingfenceLayer, RoutingKey};
use tower::{Service, balance::p2c::Balance, discover::ServiceList, load::Constant};

use crate::{
    goals::Row,
    harness::{Work, interleaved, timed},
    pick::Fleet,
    ring::allocations,
};

type Body = Empty<&'static [u8]>;

const COUNT: u32 = 100;
const CALLS: u32 = 50_000;
const USERS: u32 = 1_024;

/// Answers at once.
#[derive(Clone, Debug)]
struct Mock;

impl<B> Service<Request<B>> for Mock {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        ready(Ok(Response::default()))
    }
}

fn request(key: &RoutingKey) -> Request<Body> {
    let mut request = Request::new(Body::new());
    request.extensions_mut().insert(key.clone());
    request
}

/// Polls what is ready at once.
fn call<S: Service<Request<Body>>>(service: &mut S, request: Request<Body>) {
    let mut context = Context::from_waker(Waker::noop());
    assert!(
        service.poll_ready(&mut context).is_ready(),
        "a mock is ready"
    );
    let answer = pin!(service.call(request)).poll(&mut context);
    assert!(matches!(answer, Poll::Ready(Ok(_))), "a mock answers");
}

fn calls<'a, S: Service<Request<Body>> + 'a>(mut service: S, keys: &'a [RoutingKey]) -> Work<'a> {
    let mut keys = keys.iter().cycle();
    Box::new(move |count| -> Duration {
        timed(|| {
            for key in keys.by_ref().take(count as usize) {
                call(&mut service, request(key));
            }
        })
    })
}

fn keys() -> Vec<RoutingKey> {
    let users = (0..USERS).map(|n| RoutingKey::from(format!("user-{n}")));
    users.collect()
}

fn balanced() -> impl Service<Request<Body>> {
    let mocks = ServiceList::new::<Request<Body>>((0..COUNT).map(|_| Constant::new(Mock, 1u32)));
    Balance::new(mocks)
}

/// Calls in a row, for Callgrind.
pub(crate) fn repeat(over: Over, count: u32) {
    let keys = keys();
    let fleet = Fleet::new(COUNT);
    let layer = RingfenceLayer::new(fleet.balancer.clone()).with_key(KeySource::extension());
    let metrics = Metrics::new();
    let watched = Fleet::watched(COUNT, &metrics);
    let with_metrics =
        RingfenceLayer::new(watched.balancer.clone()).with_key(KeySource::extension());
    let mut work = match over {
        Over::Mock => calls(Mock, &keys),
        Over::P2c => calls(balanced(), &keys),
        Over::Layer => calls(layer.wrap(Mock), &keys),
        Over::Watched => calls(with_metrics.wrap(Mock), &keys),
    };
    work(count);
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Over {
    Mock,
    P2c,
    Layer,
    /// The layer, with metrics, and spans that nobody subscribes to.
    Watched,
}

pub(crate) fn measure(steady: bool) -> Vec<Row> {
    let fleet = Fleet::new(COUNT);
    let layer = RingfenceLayer::new(fleet.balancer.clone()).with_key(KeySource::extension());
    let keys = keys();
    let mut ours = layer.wrap(Mock);
    for key in &keys {
        // The first request to an instance parses its address.
        call(&mut ours, request(key));
    }
    let allocated = |service: &mut dyn FnMut(Request<Body>)| {
        let one = request(&keys[0]);
        allocations(|| service(one))
    };
    let mock = allocated(&mut |request| call(&mut Mock, request));
    let with_layer = allocated(&mut |request| call(&mut ours, request));
    let row = Row::steady(
        format!("layer, N={COUNT}"),
        "allocations a request above the mock's",
        with_layer - mock,
    );
    let mut rows = vec![row.at_most(3.0, 1.0)];
    if steady {
        return rows;
    }
    let metrics = Metrics::new();
    let watched = Fleet::watched(COUNT, &metrics);
    let layer = RingfenceLayer::new(watched.balancer.clone()).with_key(KeySource::extension());
    let works = [
        calls(Mock, &keys),
        calls(ours, &keys),
        calls(balanced(), &keys),
        calls(layer.wrap(Mock), &keys),
    ];
    let times = interleaved(CALLS, works);
    let row = Row::noisy(
        format!("layer over a mock, N={COUNT}"),
        "time above the mock's to tower's p2c",
        times.ratio_above(0, 1, 2),
    );
    let sides = format!("{}, mock {:.1} ns", times.sides(1, 2), times.of(0));
    rows.push(row.at_most(1.5, 0.8).with_sides(sides));
    let row = Row::noisy(
        format!("metrics and tracing, N={COUNT}"),
        "ns a request above the layer's, without a subscriber",
        times.above(1, 3),
    );
    rows.push(row.at_most(150.0, 150.0).with_sides(times.sides(3, 1)));
    rows
}
