//! hyper-util's client through the layer, against real servers on loopback.
#![cfg(feature = "hyper")]
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use common::{Cluster, Once as _, config, keyed, until};
use futures_util::{StreamExt as _, stream};
use http::header::HOST;
use http::{HeaderMap, HeaderValue, Method, Request, Uri, Version};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt, StreamBody};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use ringfence_balancer::{OutlierConfig, RetryBudgetConfig};
use ringfence_discovery::TcpProbe;
use ringfence_testkit::{Answer, Backend, Behaviour, OnConnect, RefusedAddress, SilentAddress};
use ringfence_tower::{Authority, Body, ErrorKind, Idempotent, RetryPolicy, Ringfence, RoutingKey};

type Http = Client<HttpConnector, Body>;

fn http1() -> Http {
    Client::builder(TokioExecutor::new()).build_http()
}

fn http2() -> Http {
    Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http()
}

/// Two backends, and a cluster of them.
async fn two() -> (Backend, Backend, Cluster) {
    let (a, b) = (
        Backend::start().await.unwrap(),
        Backend::start().await.unwrap(),
    );
    let cluster = Cluster::start(&[
        ("a", &a.address().to_string()),
        ("b", &b.address().to_string()),
    ])
    .await;
    (a, b, cluster)
}

/// To `a` first, then to `b`.
fn post(cluster: &Cluster, body: Body) -> Request<Body> {
    let request = Request::post("/orders").body(body).unwrap();
    keyed(request, &cluster.key(&["a", "b"]))
}

fn idempotent<B>(mut request: Request<B>) -> Request<B> {
    request.extensions_mut().insert(Idempotent(true));
    request
}

fn get(key: &RoutingKey) -> Request<Body> {
    keyed(Request::get("/orders").body(Body::empty()).unwrap(), key)
}

/// A body that says nothing of its length.
fn streamed(chunks: impl IntoIterator<Item = &'static str>) -> Body {
    let frames: Vec<_> = chunks
        .into_iter()
        .map(|chunk| Ok::<_, std::io::Error>(Frame::data(Bytes::from(chunk))))
        .collect();
    Body::new(StreamBody::new(stream::iter(frames)))
}

async fn send(
    client: &Ringfence<Http>,
    request: Request<Body>,
) -> Result<(u16, Bytes), ringfence_tower::Error> {
    let response = client.clone().once(request).await?;
    let status = response.status().as_u16();
    Ok((
        status,
        response.into_body().collect().await.unwrap().to_bytes(),
    ))
}

#[tokio::test]
async fn path_and_query_arrive_byte_for_byte() {
    let backend = Backend::start().await.unwrap();
    let address = backend.address().to_string();
    let cluster = Cluster::start(&[("a", &address)]).await;
    let cases = [
        (Method::GET, "/a?x=1&y=%2F", "/a?x=1&y=%2F"),
        (Method::GET, "/", "/"),
        (Method::GET, "http://orders", "/"),
        (Method::GET, "http://orders?q", "/?q"),
        (Method::GET, "//evil/x", "//evil/x"),
        (Method::OPTIONS, "*", "*"),
        (Method::GET, "/%e4%b8%ad", "/%e4%b8%ad"),
        (Method::GET, "http://user:secret@orders:99/p?q", "/p?q"),
        (Method::GET, "https://orders/v1//v1x", "/v1//v1x"),
    ];
    for (client, version) in [(http1(), Version::HTTP_11), (http2(), Version::HTTP_2)] {
        let client = cluster.layer().wrap(client);
        for (method, uri, seen) in cases.clone() {
            let request = Request::builder().method(method).uri(uri).version(version);
            let (status, _) = send(&client, request.body(Body::empty()).unwrap())
                .await
                .unwrap();
            assert_eq!(status, 200, "{uri}");
            let request = backend.requests().pop().unwrap();
            assert_eq!(request.version, version);
            let path = request.uri.path_and_query().map(|path| path.as_str());
            assert_eq!(path, Some(seen), "{uri}");
            let text = format!("{request:?}");
            assert!(!text.contains("secret"), "{text}");
            if version == Version::HTTP_2 {
                assert_eq!(request.authority(), Some(&*address), "{uri}");
                assert_eq!(request.host(), None, "{uri}");
            } else {
                assert_eq!(request.authority(), None, "origin form: {uri}");
                assert_eq!(request.host(), Some(&*address), "{uri}");
            }
        }
    }
}

#[tokio::test]
async fn there_is_one_host_and_it_is_the_one_asked_for() {
    let backend = Backend::start().await.unwrap();
    let address = backend.address().to_string();
    let cluster = Cluster::start(&[("a", &address)]).await;
    let with_host = |version| {
        let request = Request::get("/")
            .version(version)
            .header(HOST, "x")
            .header(HOST, "y");
        request.body(Body::empty()).unwrap()
    };
    let seen = |client: Ringfence<Http>, version| {
        let request = with_host(version);
        let backend = &backend;
        async move {
            send(&client, request).await.unwrap();
            let request = backend.requests().pop().unwrap();
            let hosts = request.headers.get_all(HOST).iter().count();
            let host = request.host().map(str::to_owned);
            (request.authority().map(str::to_owned), hosts, host)
        }
    };
    let instance = || Some(address.clone());
    let v1 = Version::HTTP_11;
    let v2 = Version::HTTP_2;
    let layer = cluster.layer();
    assert_eq!(seen(layer.wrap(http1()), v1).await, (None, 1, instance()));
    assert_eq!(seen(layer.wrap(http2()), v2).await, (instance(), 0, None));

    let layer = cluster.layer().with_authority(Authority::Service);
    let service = Some(common::SERVICE.to_owned());
    assert_eq!(seen(layer.wrap(http1()), v1).await, (None, 1, service));
    assert_eq!(seen(layer.wrap(http2()), v2).await, (instance(), 0, None));

    let fixed = Authority::Fixed(http::uri::Authority::from_static("shop:81"));
    let layer = cluster.layer().with_authority(fixed);
    assert_eq!(
        seen(layer.wrap(http1()), v1).await,
        (None, 1, Some("shop:81".to_owned()))
    );
}

#[tokio::test]
async fn a_body_without_length_is_sent_again_whole() {
    let (a, b, cluster) = two().await;
    a.then(Answer::status(503).reading(0));
    let client = cluster.layer().wrap(http1());
    let request = idempotent(post(&cluster, streamed(["01234", "56789"])));
    assert_eq!(send(&client, request).await.unwrap().0, 200);
    assert_eq!((a.request_count(), b.request_count()), (1, 1));
    assert_eq!(b.requests()[0].body, "0123456789");
    assert!(b.requests()[0].body_complete);
}

#[tokio::test]
async fn a_known_length_stays_known() {
    let (a, b, cluster) = two().await;
    a.then(Behaviour::Close { after: 0 });
    let client = cluster.layer().wrap(http1());
    let request = idempotent(post(&cluster, Body::from("0123456789")));
    assert_eq!(send(&client, request).await.unwrap().0, 200);
    assert_eq!(b.requests()[0].header("content-length"), Some("10"));
    assert_eq!(b.requests()[0].body, "0123456789");
}

/// A chunk that knows how many of its kind are held at the same time.
struct Chunk {
    bytes: Box<[u8]>,
    alive: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_sent_once_and_not_held() {
    const CHUNK: usize = 16 * 1_024;
    const CHUNKS: usize = 640;
    let (a, b, cluster) = two().await;
    a.then(Answer::status(503));
    let client = cluster.layer().wrap(http1());
    let (alive, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let chunks = stream::iter(0..CHUNKS).then({
        let (alive, most) = (Arc::clone(&alive), Arc::clone(&most));
        move |_| {
            most.fetch_max(alive.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            let chunk = Chunk {
                bytes: vec![b'x'; CHUNK].into(),
                alive: Arc::clone(&alive),
            };
            async move {
                // So that the connection writes what it has before it asks for more.
                tokio::task::yield_now().await;
                Ok::<_, std::io::Error>(Frame::data(Bytes::from_owner(chunk)))
            }
        }
    });
    let body = Body::new(StreamBody::new(Box::pin(chunks)));
    let (status, _) = send(&client, idempotent(post(&cluster, body)))
        .await
        .unwrap();
    assert_eq!(status, 503, "the failure is the caller's");
    assert_eq!(a.requests()[0].body.len(), CHUNKS * CHUNK);
    assert_eq!(b.request_count(), 0);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    // Four fit into the limit; some more are on their way through the connection.
    let most = most.load(Ordering::Relaxed);
    assert!(most < CHUNKS / 2, "{most} chunks were held at once");
}

#[tokio::test]
async fn half_read_and_reset_is_sent_again_whole() {
    let (a, b, cluster) = two().await;
    a.then(Behaviour::Reset { after: 5 });
    let client = cluster.layer().wrap(http1());
    let request = idempotent(post(&cluster, streamed(["01234", "56789"])));
    assert_eq!(send(&client, request).await.unwrap().0, 200);
    assert_eq!(b.requests()[0].body, "0123456789");
}

#[tokio::test]
async fn a_slow_second_frame_is_neither_lost_nor_doubled() {
    for client in [http1(), http2()] {
        let (a, b, cluster) = two().await;
        a.then(Behaviour::Close { after: 5 });
        let client = cluster.layer().wrap(client);
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        let chunks = tokio_stream::wrappers::UnboundedReceiverStream::new(receiver);
        let frames = chunks.map(|chunk| Ok::<_, std::io::Error>(Frame::data(Bytes::from(chunk))));
        let request = idempotent(post(&cluster, Body::new(StreamBody::new(frames))));
        sender.send("01234").unwrap();
        let sending = tokio::spawn(async move { send(&client, request).await });
        until(|| b.request_count() == 1).await;
        sender.send("56789").unwrap();
        drop(sender);
        assert_eq!(sending.await.unwrap().unwrap().0, 200);
        assert_eq!(b.requests()[0].body, "0123456789");
        assert!(a.requests()[0].body.len() <= 5);
    }
}

#[tokio::test]
async fn trailers_of_a_request_are_sent_again() {
    let (a, b, cluster) = two().await;
    a.then(Behaviour::RefuseStream);
    let client = cluster.layer().wrap(http2());
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", HeaderValue::from_static("42"));
    let frames = [
        Frame::data(Bytes::from("0123456789")),
        Frame::trailers(trailers.clone()),
    ];
    let frames = stream::iter(frames.map(Ok::<_, std::io::Error>));
    // Not declared idempotent: a refused stream was surely not processed.
    let request = post(&cluster, Body::new(StreamBody::new(frames)));
    assert_eq!(send(&client, request).await.unwrap().0, 200);
    assert_eq!(b.requests()[0].body, "0123456789");
    assert_eq!(b.requests()[0].trailers.as_ref(), Some(&trailers));
}

#[tokio::test]
async fn streams_above_a_goaway_hop_even_if_they_write() {
    let (a, b, cluster) = two().await;
    a.then_on_connect(OnConnect::GoAwayUnprocessed);
    let client = cluster.layer().wrap(http2());
    let request = post(&cluster, Body::from("0123456789"));
    assert_eq!(send(&client, request).await.unwrap().0, 200);
    assert_eq!((a.request_count(), b.request_count()), (0, 1));
}

#[tokio::test]
async fn a_write_that_may_have_arrived_is_not_repeated() {
    for client in [http1(), http2()] {
        let (a, b, cluster) = two().await;
        let client = cluster.layer().wrap(client);
        // Reads it, then closes without an answer.
        a.always(Behaviour::Close { after: 10 });
        let request = post(&cluster, Body::from("0123456789"));
        let error = send(&client, request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport);
        assert!(
            error.to_string().contains(&a.address().to_string()),
            "{error}"
        );
        assert_eq!((a.request_count(), b.request_count()), (1, 0));

        a.always(Answer::status(503));
        let request = post(&cluster, Body::from("0123456789"));
        assert_eq!(send(&client, request).await.unwrap().0, 503);
        assert_eq!((a.request_count(), b.request_count()), (2, 0));

        let request = idempotent(post(&cluster, Body::from("0123456789")));
        assert_eq!(send(&client, request).await.unwrap().0, 200);
        assert_eq!((a.request_count(), b.request_count()), (3, 1));

        a.always(Behaviour::Hang);
        let policy = RetryPolicy::default().with_per_try_timeout(Duration::from_millis(100));
        let hasty = cluster.layer().with_retry(policy).wrap(client.into_inner());
        let request = post(&cluster, Body::from("0123456789"));
        send(&hasty, request).await.unwrap_err();
        assert_eq!((a.request_count(), b.request_count()), (4, 1));
    }
}

/// As a file that was cut short after its length was looked up.
#[tokio::test]
async fn a_body_that_is_shorter_than_it_said_never_looks_complete() {
    for http in [http1(), http2()] {
        let (a, _b, cluster) = two().await;
        let said = SizeHint::with_exact(10);
        let short = StreamBody::new(stream::iter([Ok::<_, std::io::Error>(Frame::data(
            Bytes::from("01234"),
        ))]));
        let body = Body::new(Says { said, body: short });
        let client = cluster.layer().wrap(http);
        // HTTP/1: hyper waits for the rest that never comes.
        let call = send(&client, post(&cluster, body));
        let _ = tokio::time::timeout(Duration::from_secs(1), call).await;
        assert!(a.requests().iter().all(|request| !request.body_complete));
    }
}

pin_project_lite::pin_project! {
    /// A body that says it has so many bytes.
    struct Says<B> {
        said: SizeHint,
        #[pin]
        body: B,
    }
}

impl<B: http_body::Body<Data = Bytes>> http_body::Body for Says<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        let polled = this.body.poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            let left = this.said.exact().unwrap_or(0);
            *this.said = SizeHint::with_exact(left - u64::try_from(data.len()).unwrap());
        }
        polled
    }

    fn size_hint(&self) -> SizeHint {
        self.said
    }
}

#[tokio::test]
async fn a_body_that_fails_is_the_callers_fault() {
    for client in [http1(), http2()] {
        let (a, b) = (
            Backend::start().await.unwrap(),
            Backend::start().await.unwrap(),
        );
        let addresses = [a.address().to_string(), b.address().to_string()];
        let instances = [("a", &*addresses[0]), ("b", &*addresses[1])];
        let outlier = OutlierConfig::default().with_consecutive_failures(2);
        let outlier = outlier.with_max_ejection_percent(50).unwrap();
        let cluster = Cluster::with_config(&instances, config().with_outlier(outlier)).await;
        let client = cluster.layer().wrap(client);
        for _ in 0..5 {
            // Looks like a connection that was refused, but it is another one.
            let failure = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
            let frames = [Ok(Frame::data(Bytes::from("01234"))), Err(failure)];
            let body = Body::new(StreamBody::new(stream::iter(frames)));
            let request = idempotent(post(&cluster, body));
            let error = send(&client, request).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
        }
        until(|| a.in_flight() == 0).await;
        assert_eq!(b.request_count(), 0);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(cluster.balancer.status().ejected, 0);
    }
}

#[tokio::test]
async fn a_closed_port_is_a_hop_then_an_ejection_then_a_return() {
    let a = Backend::start().await.unwrap();
    let refused = RefusedAddress::new().unwrap();
    let (at_a, at_b) = (a.address().to_string(), refused.address().to_string());
    let outlier = OutlierConfig::default()
        .with_consecutive_failures(5)
        .with_max_ejection_percent(50)
        .unwrap()
        .with_base_ejection_time(Duration::from_millis(300))
        .unwrap();
    let instances = [("a", &*at_a), ("b", &*at_b)];
    // The first requests of a service have earned few hops yet.
    let budget = RetryBudgetConfig::default().with_min_per_second(10);
    let config = config().with_outlier(outlier).with_retry_budget(budget);
    let cluster = Cluster::with_config(&instances, config).await;
    let client = cluster.layer().wrap(http1());
    let key = cluster.key(&["b"]);
    for _ in 0..100 {
        let request = keyed(Request::post("/").body(Body::from("x")).unwrap(), &key);
        assert_eq!(send(&client, request).await.unwrap().0, 200);
    }
    assert_eq!(a.request_count(), 100);
    assert!(cluster.balancer.status().counters.ejections >= 1);

    let address = refused.address();
    drop(refused);
    let b = Backend::start_on(address).await.unwrap();
    while b.request_count() == 0 {
        assert_eq!(send(&client, get(&key)).await.unwrap().0, 200);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_restarted_server_has_its_keys_back_within_five_seconds() {
    let a = Backend::start().await.unwrap();
    let refused = RefusedAddress::new().unwrap();
    let (at_a, at_b) = (a.address().to_string(), refused.address().to_string());
    let outlier = OutlierConfig::default().with_max_ejection_percent(50);
    let config = config().with_outlier(outlier.unwrap());
    let instances = [("a", &*at_a), ("b", &*at_b)].map(|(id, at)| common::instance(id, at));
    let cluster = Cluster::build(instances, |balancer| {
        balancer.with_config(config).with_probe(TcpProbe)
    });
    let cluster = cluster.await;
    let client = cluster.layer().wrap(http1());
    let key = cluster.key(&["b"]);
    while cluster.balancer.status().ejected == 0 {
        assert_eq!(send(&client, get(&key)).await.unwrap().0, 200);
    }
    let failed = cluster.balancer.status().counters.failures_connect;

    let address = refused.address();
    drop(refused);
    let b = Backend::start_on(address).await.unwrap();
    let start = Instant::now();
    while b.request_count() < 10 {
        assert!(start.elapsed() < Duration::from_secs(5), "not back");
        assert_eq!(send(&client, get(&key)).await.unwrap().0, 200);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let status = cluster.balancer.status();
    assert_eq!(status.counters.returns_by_probe, 1);
    assert_eq!(
        status.counters.failures_connect, failed,
        "no call was tried"
    );
    assert_eq!((status.ejected, status.on_trial), (0, 0));
}

#[tokio::test]
async fn without_failover_the_error_names_the_closed_port() {
    let refused = RefusedAddress::new().unwrap();
    let address = refused.address().to_string();
    let cluster = Cluster::start(&[("b", &address)]).await;
    let client = cluster.layer().wrap(http1());
    let error = send(&client, get(&RoutingKey::from("x")))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AttemptsExhausted);
    assert!(error.to_string().contains(&address), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
    let source = std::error::Error::source(&error).unwrap();
    let source = source
        .downcast_ref::<hyper_util::client::legacy::Error>()
        .unwrap();
    assert!(source.is_connect());
}

#[tokio::test]
async fn an_instance_that_wants_tls_needs_a_client_that_speaks_it() {
    let (a, b) = (
        Backend::start().await.unwrap(),
        Backend::start().await.unwrap(),
    );
    let secure = format!("https://{}", a.address());
    let cluster = Cluster::start(&[("a", &secure), ("b", &b.address().to_string())]).await;
    let client = cluster.layer().wrap(http1());
    let error = send(&client, get(&cluster.key(&["a", "b"])))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("HTTPS connector"), "{error}");
    let counters = cluster.balancer.status().counters;
    assert_eq!(counters.failures_connect, 0, "no fault of the instance");
    assert_eq!(b.request_count(), 0);
}

#[tokio::test]
async fn an_address_that_swallows_packets_is_a_hop() {
    let silent = SilentAddress::new().unwrap();
    let b = Backend::start().await.unwrap();
    let (at_a, at_b) = (silent.address().to_string(), b.address().to_string());
    let cluster = Cluster::start(&[("a", &at_a), ("b", &at_b)]).await;
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(Duration::from_millis(200)));
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let client = cluster.layer().wrap(client);
    let request = post(&cluster, Body::from("0123456789"));
    assert_eq!(send(&client, request).await.unwrap().0, 200);
    assert_eq!(b.request_count(), 1);
}

#[tokio::test]
async fn a_response_counts_as_in_flight_until_its_body_ends() {
    let (a, _b, cluster) = two().await;
    let client = cluster.layer().wrap(http1());
    let key = cluster.key(&["a"]);

    a.then(Answer::ok("first").chunk("second").then_hang());
    let response = client.clone().once(get(&key)).await.unwrap();
    assert_eq!(cluster.in_flight("a"), 1);
    let mut body = response.into_body();
    let frame = body.frame().await.unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), "first");
    assert_eq!(cluster.in_flight("a"), 1, "half read");
    drop(body);
    assert_eq!(cluster.in_flight("a"), 0);

    let response = client.clone().once(get(&key)).await.unwrap();
    let mut body = response.into_body();
    while body.frame().await.is_some() {}
    assert_eq!(cluster.in_flight("a"), 0, "read to the end, still held");
    drop(body);

    a.then(Answer::ok("first").then_reset());
    let response = client.clone().once(get(&key)).await.unwrap();
    let mut body = response.into_body();
    while let Some(Ok(_)) = body.frame().await {}
    assert_eq!(cluster.in_flight("a"), 0, "broken, still held");

    a.then(Answer::status(204));
    let response = client.clone().once(get(&key)).await.unwrap();
    assert_eq!(cluster.in_flight("a"), 0, "without a body");
    drop(response);
}

#[tokio::test]
async fn callers_that_read_no_bodies_see_successes_all_the_same() {
    let (a, b) = (
        Backend::start().await.unwrap(),
        Backend::start().await.unwrap(),
    );
    let addresses = [a.address().to_string(), b.address().to_string()];
    let instances = [("a", &*addresses[0]), ("b", &*addresses[1])];
    let outlier = OutlierConfig::default().with_consecutive_failures(2);
    let outlier = outlier.with_max_ejection_percent(50).unwrap();
    let cluster = Cluster::with_config(&instances, config().with_outlier(outlier)).await;
    let layer = cluster.layer().with_retry(RetryPolicy::never());
    let client = layer.wrap(http1());
    let key = cluster.key(&["a", "b"]);
    for _ in 0..5 {
        for status in [200, 503] {
            a.then(Answer::status(status).chunk("first").then_hang());
            let response = client.clone().once(get(&key)).await.unwrap();
            assert_eq!(response.status(), status);
        }
    }
    assert_eq!(cluster.balancer.status().counters.failures_status, 5);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(cluster.balancer.status().ejected, 0);
}

#[tokio::test]
async fn calls_dropped_before_the_head_leave_no_count() {
    let (a, _b, cluster) = two().await;
    a.always(Behaviour::Hang);
    let client = cluster.layer().wrap(http2());
    let key = cluster.key(&["a"]);
    let running: Vec<_> = (0..64)
        .map(|_| tokio::spawn(client.clone().once(get(&key))))
        .collect();
    until(|| a.in_flight() == 64).await;
    assert_eq!(cluster.in_flight("a"), 64);
    running.iter().for_each(tokio::task::JoinHandle::abort);
    until(|| a.in_flight() == 0).await;
    assert_eq!(cluster.in_flight("a"), 0);
    a.always(Answer::ok("ok"));
    assert_eq!(send(&client, get(&key)).await.unwrap().0, 200);
}

#[tokio::test]
async fn trailers_and_frames_of_a_response_pass_through() {
    let (a, _b, cluster) = two().await;
    let client = cluster.layer().wrap(http2());
    a.then(Answer::ok("first").chunk("second").trailer("x-sum", "2"));
    let response = client
        .clone()
        .once(get(&cluster.key(&["a"])))
        .await
        .unwrap();
    let collected = response.into_body().collect().await.unwrap();
    assert_eq!(collected.trailers().unwrap()["x-sum"], "2");
    assert_eq!(collected.to_bytes(), "firstsecond");
}

#[tokio::test]
async fn a_proxied_body_is_sent_once() {
    let (a, b, cluster) = two().await;
    let client: Client<_, hyper::body::Incoming> =
        Client::builder(TokioExecutor::new()).build_http();
    let client = cluster.layer().wrap(client);
    let source = http1();
    let uri: Uri = b.uri().parse().unwrap();
    a.always(Answer::status(503));
    let incoming = source.get(uri).await.unwrap().into_body();
    let request = Request::post("/").body(incoming).unwrap();
    let response = client.once(keyed(idempotent(request), &cluster.key(&["a", "b"])));
    assert_eq!(response.await.unwrap().status(), 503);
    assert_eq!(a.requests()[0].body, "ok");
}
