use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::Reason;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::{
    body::{Body, Frame, Incoming},
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, crypto, pki_types::pem::PemObject},
};

use super::{Answer, Backend, Behaviour, OnConnect};
use crate::TestCa;

type Client<B> = http2::SendRequest<B>;
type Text = Full<Bytes>;

async fn h2_client<B>(backend: &Backend) -> Client<B>
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + Unpin
        + 'static,
{
    let stream = TcpStream::connect(backend.address()).await.unwrap();
    let (client, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    client
}

async fn h1(backend: &Backend, request: Request<Text>) -> hyper::Result<Response<Incoming>> {
    let stream = TcpStream::connect(backend.address()).await.unwrap();
    let (mut client, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    client.send_request(request).await
}

fn post(backend: &Backend, body: &'static str) -> Request<Text> {
    let uri = format!("{}/path?q=1", backend.uri());
    Request::post(uri).body(body.into()).unwrap()
}

fn h1_post(body: &'static str) -> Request<Text> {
    let request = Request::post("/path?q=1").header("host", "orders.internal");
    request.body(body.into()).unwrap()
}

fn reason(error: &hyper::Error) -> Option<Reason> {
    let source = std::error::Error::source(error)?;
    source.downcast_ref::<h2::Error>()?.reason()
}

#[tokio::test]
async fn records_requests_over_http1_and_http2() {
    let backend = Backend::start().await.unwrap();
    let response = h1(&backend, h1_post("one")).await.unwrap();
    assert_eq!(
        response.into_body().collect().await.unwrap().to_bytes(),
        "ok"
    );

    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", HeaderValue::from_static("3"));
    let frames = [
        Frame::data(Bytes::from("two")),
        Frame::trailers(trailers.clone()),
    ];
    let body = StreamBody::new(futures_util::stream::iter(
        frames.map(Ok::<_, hyper::Error>),
    ));
    let request = Request::post("http://orders.internal/x")
        .body(body)
        .unwrap();
    let response = h2_client(&backend)
        .await
        .send_request(request)
        .await
        .unwrap();
    assert_eq!(response.status(), 200);

    let requests = backend.requests();
    assert_eq!(requests[0].uri, "/path?q=1");
    assert_eq!(
        (requests[0].authority(), requests[0].host()),
        (None, Some("orders.internal"))
    );
    assert_eq!(
        (&requests[0].body[..], requests[0].body_complete),
        (&b"one"[..], true)
    );
    assert_eq!(requests[1].authority(), Some("orders.internal"));
    assert_eq!(
        (requests[1].connection, &requests[1].body[..]),
        (1, &b"two"[..])
    );
    assert_eq!(requests[1].trailers, Some(trailers));
    backend.until(|backend| backend.in_flight() == 0).await;
    assert_eq!((backend.request_count(), backend.connections()), (2, 2));
}

#[tokio::test]
async fn answers_with_trailers_over_both_versions() {
    let backend = Backend::start().await.unwrap();
    backend.always(Answer::ok("a").chunk("b").trailer("x-sum", "2"));
    let over_h2 = h2_client(&backend)
        .await
        .send_request(post(&backend, ""))
        .await;
    let mut request = h1_post("");
    request
        .headers_mut()
        .insert("te", HeaderValue::from_static("trailers"));
    let over_h1 = h1(&backend, request).await;
    for response in [over_h2, over_h1] {
        let body = response.unwrap().into_body().collect().await.unwrap();
        assert_eq!(body.trailers().unwrap()["x-sum"], "2");
        assert_eq!(body.to_bytes(), "ab");
    }
}

#[tokio::test]
async fn answers_without_reading_or_after_a_delay() {
    let backend = Backend::start().await.unwrap();
    backend.then(Answer::status(503).reading(0));
    backend.then(Answer::ok("late").after(Duration::from_millis(30)));
    let mut client = h2_client(&backend).await;
    let response = client.send_request(post(&backend, "unread")).await.unwrap();
    assert_eq!(response.status(), 503);
    assert!(backend.requests()[0].body.is_empty());

    let start = Instant::now();
    client.send_request(post(&backend, "")).await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(30));
}

#[tokio::test]
async fn grpc_errors_come_in_headers_or_trailers() {
    let backend = Backend::start().await.unwrap();
    backend.then(Answer::grpc_error(14, "not now"));
    backend.then(Answer::grpc_error_after(b"m", 8, "full"));
    let mut client = h2_client(&backend).await;
    let response = client.send_request(post(&backend, "")).await.unwrap();
    assert_eq!(response.headers()["grpc-status"], "14");
    assert!(response.body().is_end_stream(), "trailers-only");
    let response = client.send_request(post(&backend, "")).await.unwrap();
    let body = response.into_body().collect().await.unwrap();
    assert_eq!(body.trailers().unwrap()["grpc-status"], "8");
    assert_eq!(body.to_bytes(), &b"\0\0\0\0\x01m"[..]);
}

#[tokio::test]
async fn resets_and_closes_connections_before_the_answer() {
    let backend = Backend::start().await.unwrap();
    backend.then(Behaviour::Reset { after: 2 });
    backend.then(Behaviour::Close { after: 0 });
    let error = h1(&backend, h1_post("body")).await.unwrap_err();
    let source = std::error::Error::source(&error).unwrap();
    let io = source.downcast_ref::<std::io::Error>().unwrap();
    assert_eq!(io.kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(backend.requests()[0].body, "body");

    // Closed with the body unread in the socket, which the system may still turn into a reset.
    let error = h1(&backend, h1_post("")).await.unwrap_err();
    assert!(error.is_incomplete_message(), "{error:?}");
    backend
        .until(|backend| backend.open_connections() == 0)
        .await;
}

#[tokio::test]
async fn cuts_a_body_after_what_was_before() {
    let backend = Backend::start().await.unwrap();
    backend.then(Answer::ok("half").then_reset());
    backend.then(Answer::ok("half").then_close());
    backend.then(Answer::ok("half").then_reset_stream(Reason::INTERNAL_ERROR.into()));
    for _ in 0..3 {
        let response = h2_client(&backend)
            .await
            .send_request(post(&backend, ""))
            .await;
        let mut body = response.unwrap().into_body();
        let first = body.frame().await.unwrap().unwrap();
        assert_eq!(first.into_data().unwrap(), "half");
        assert!(body.frame().await.unwrap().is_err());
    }
}

/// Over HTTP/1 a body of unknown length ends by an empty chunk, which must not be there when the connection is cut.
#[tokio::test]
async fn a_cut_body_over_http1_has_no_end() {
    let backend = Backend::start().await.unwrap();
    for cut in [
        Answer::ok("half").then_reset(),
        Answer::ok("half").then_close(),
        Answer::ok("half").then_reset_stream(Reason::INTERNAL_ERROR.into()),
        Answer::status(200).then_close(),
    ] {
        backend.then(cut);
        let mut socket = TcpStream::connect(backend.address()).await.unwrap();
        socket
            .write_all(b"GET / HTTP/1.1\r\nhost: orders.internal\r\n\r\n")
            .await
            .unwrap();
        let mut said = Vec::new();
        // What came before a reset is read all the same.
        let _ = socket.read_to_end(&mut said).await;
        let said = String::from_utf8(said).unwrap();
        assert!(said.starts_with("HTTP/1.1 200"), "{said:?}");
        assert!(said.contains("transfer-encoding: chunked"), "{said:?}");
        assert!(!said.ends_with("0\r\n\r\n"), "{said:?}");

        backend.then(Answer::ok("half").then_close());
        let response = h1(&backend, h1_post("")).await.unwrap();
        assert!(response.into_body().collect().await.is_err());
    }
}

#[tokio::test]
async fn hangs_until_the_client_gives_up() {
    let backend = Backend::start().await.unwrap();
    backend.then(Behaviour::Hang);
    let mut client = h2_client(&backend).await;
    let waiting = tokio::spawn(client.send_request(post(&backend, "x")));
    backend
        .until(|backend| backend.requests().first().is_some_and(|r| r.body_complete))
        .await;
    assert_eq!(backend.in_flight(), 1);
    waiting.abort();
    backend.until(|backend| backend.in_flight() == 0).await;
}

#[tokio::test]
async fn refuses_streams() {
    let backend = Backend::start().await.unwrap();
    backend.then(Behaviour::RefuseStream);
    let mut client = h2_client(&backend).await;
    let error = client.send_request(post(&backend, "")).await.unwrap_err();
    assert_eq!(reason(&error), Some(Reason::REFUSED_STREAM));
    assert!(
        client.send_request(post(&backend, "")).await.is_ok(),
        "the connection stays"
    );
}

#[tokio::test]
async fn goes_away_with_an_answer_or_when_told() {
    let backend = Backend::start().await.unwrap();
    backend.then(Answer::ok("last").with_go_away());
    let mut client = h2_client(&backend).await;
    let response = client.send_request(post(&backend, "")).await.unwrap();
    assert_eq!(
        response.into_body().collect().await.unwrap().to_bytes(),
        "last"
    );
    backend
        .until(|backend| backend.open_connections() == 0)
        .await;

    let mut client = h2_client(&backend).await;
    client.send_request(post(&backend, "")).await.unwrap();
    backend.go_away();
    backend
        .until(|backend| backend.open_connections() == 0)
        .await;
    assert!(client.send_request(post(&backend, "")).await.is_err());
}

#[tokio::test]
async fn goes_away_before_the_first_request() {
    let backend = Backend::start().await.unwrap();
    backend.then_on_connect(OnConnect::GoAwayUnprocessed);
    let mut client = h2_client(&backend).await;
    let error = client.send_request(post(&backend, "")).await.unwrap_err();
    let source = std::error::Error::source(&error).and_then(|e| e.downcast_ref::<h2::Error>());
    assert!(
        source.is_some_and(|e| e.is_go_away() && e.is_remote()),
        "{error:?}"
    );
    assert_eq!(backend.request_count(), 0);
}

#[tokio::test]
async fn treats_connections_as_told() {
    let backend = Backend::start().await.unwrap();
    backend.then_on_connect(OnConnect::Close);
    backend.then_on_connect(OnConnect::Reset);
    backend.always_on_connect(OnConnect::Silent);
    for _ in 0..2 {
        assert!(h1(&backend, h1_post("")).await.is_err());
    }
    let silent = tokio::time::timeout(Duration::from_millis(50), h1(&backend, h1_post(""))).await;
    assert!(silent.is_err());
    backend.reset_connections();
    backend
        .until(|backend| backend.open_connections() == 0)
        .await;
    assert_eq!((backend.connections(), backend.request_count()), (3, 0));
}

#[tokio::test]
async fn a_killed_backend_refuses() {
    let backend = Backend::start().await.unwrap();
    let address = backend.address();
    let mut client = h2_client(&backend).await;
    client.send_request(post(&backend, "")).await.unwrap();
    let request = post(&backend, "");
    backend.kill().await;
    assert!(client.send_request(request).await.is_err());
    assert!(TcpStream::connect(address).await.is_err());
    assert!(Backend::start_on(address).await.is_ok());
}

#[tokio::test]
async fn tls_reports_the_server_name() {
    let ca = TestCa::new().unwrap();
    let identity = ca.server(&["orders.internal"]).unwrap();
    let backend = Backend::start_tls(&identity).await.unwrap();
    let mut roots = RootCertStore::empty();
    let certificate = PemObject::from_pem_slice(ca.certificate_pem().as_bytes()).unwrap();
    roots.add(certificate).unwrap();
    let mut config = ClientConfig::builder_with_provider(crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];

    let stream = TcpStream::connect(backend.address()).await.unwrap();
    let name = "orders.internal".try_into().unwrap();
    let stream = TlsConnector::from(std::sync::Arc::new(config))
        .connect(name, stream)
        .await
        .unwrap();
    let (mut client, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let request = Request::get("https://orders.internal/")
        .body(Text::default())
        .unwrap();
    client.send_request(request).await.unwrap();

    let request = &backend.requests()[0];
    assert_eq!(
        (request.sni.as_deref(), request.authority()),
        (Some("orders.internal"), Some("orders.internal"))
    );
}

#[tokio::test(start_paused = true)]
async fn works_under_paused_time() {
    let backend = Backend::start().await.unwrap();
    backend.always(
        Answer::ok("a")
            .pause(Duration::from_secs(60))
            .chunk("b")
            .after(Duration::from_secs(60)),
    );
    let mut client = h2_client(&backend).await;
    let response = client.send_request(post(&backend, "x")).await.unwrap();
    assert_eq!(
        response.into_body().collect().await.unwrap().to_bytes(),
        "ab"
    );
}
