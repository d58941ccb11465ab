//! An HTTP server whose spans belong to the trace of whoever calls it.

use std::{convert::Infallible, net::SocketAddr};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use ringfence_examples::BoxError;
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};
use tracing::info_span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::propagate::extract;

pub(crate) struct Server {
    id: &'static str,
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn bind(id: &'static str) -> Result<Self, BoxError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(serve(listener, id));
        Ok(Self { id, address, task })
    }

    pub(crate) fn id(&self) -> &'static str {
        self.id
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes its port and its connections.
    pub(crate) async fn stop(self) {
        self.task.abort();
        // It ends as it was told to.
        let _ = self.task.await;
    }
}

async fn serve(listener: TcpListener, id: &'static str) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let answer =
            service_fn(move |request| async move { Ok::<_, Infallible>(answer(id, &request)) });
        connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    }
}

fn answer(id: &'static str, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let span = info_span!("serve", "otel.kind" = "server", server = id);
    // Without a context in the headers it is a trace of its own.
    let _ = span.set_parent(extract(request.headers()));
    span.in_scope(|| Response::new(Full::new(Bytes::from_static(id.as_bytes()))))
}
