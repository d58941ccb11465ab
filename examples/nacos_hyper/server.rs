use std::{convert::Infallible, net::SocketAddr};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::{rt::TokioIo, server::graceful::GracefulShutdown};
use ringfence_examples::{BoxError, Server};
use tokio::{
    net::TcpListener,
    sync::oneshot,
    task::{JoinHandle, JoinSet},
};

/// An HTTP server that answers every request with its id.
pub(crate) struct HttpServer {
    id: String,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl HttpServer {
    pub(crate) async fn bind(id: &str) -> Result<Self, BoxError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(listener, Bytes::from(id.to_owned()), stopped));
        Ok(Self {
            id: id.to_owned(),
            address,
            stop,
            task,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Server for HttpServer {
    fn id(&self) -> &str {
        &self.id
    }

    async fn stop(self) {
        // Fails only if the task has ended, which is what is wanted.
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

/// Until told to stop, or forgotten; then idle connections are closed, and busy ones after their answer.
async fn serve(listener: TcpListener, id: Bytes, mut stopped: oneshot::Receiver<()>) {
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            _ = &mut stopped => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // Of the peer or of a full descriptor table; both pass.
                Err(_) => continue,
            },
        };
        let id = id.clone();
        let answer = service_fn(move |_| {
            let answer = Response::new(Full::new(id.clone()));
            async { Ok::<_, Infallible>(answer) }
        });
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
        connections.spawn(graceful.watch(connection));
    }
    drop(listener);
    graceful.shutdown().await;
}
