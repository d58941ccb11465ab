//! The page that Prometheus reads. A program that has an HTTP server mounts it there.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use ringfence::Metrics;
use ringfence_examples::BoxError;
use tokio::{net::TcpListener, task::JoinSet};

/// Ends only with an error of the listener; its connections end with it.
pub(crate) async fn serve(listener: TcpListener, metrics: &Metrics) -> BoxError {
    let mut connections = JoinSet::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => return error.into(),
        };
        while connections.try_join_next().is_some() {}
        let metrics = metrics.clone();
        let answer = service_fn(move |request| {
            let answer = answer(&request, &metrics);
            async { Ok::<_, Infallible>(answer) }
        });
        let mut server = http1::Builder::new();
        // Whoever sends no request is let go.
        server.timer(TokioTimer::new());
        connections.spawn(server.serve_connection(TokioIo::new(stream), answer));
    }
}

fn answer(request: &Request<Incoming>, metrics: &Metrics) -> Response<Full<Bytes>> {
    let is_asked = request.method() == Method::GET && request.uri().path() == "/metrics";
    let (status, text) = match is_asked {
        true => (StatusCode::OK, metrics.render()),
        false => (StatusCode::NOT_FOUND, "it is at /metrics\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    if let Ok(kind) = Metrics::CONTENT_TYPE.parse() {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    response
}
