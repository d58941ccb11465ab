use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use hyper::{body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};
use tonic::codegen::Service;

use crate::{
    Call,
    counters::{CountedBody, Counters},
    pb::echo_server::EchoServer as Grpc,
    service::EchoService,
};

/// A running echo server on loopback: one instance of the service.
///
/// It speaks gRPC over cleartext HTTP/2. Dropping it has the effect of [`kill`](Self::kill), without waiting.
pub struct EchoServer {
    id: Arc<str>,
    address: SocketAddr,
    counters: Arc<Counters>,
    phase: watch::Sender<Phase>,
    task: JoinHandle<()>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Serving,
    Draining,
    Killed,
}

impl EchoServer {
    /// Starts a server named `id` on a free loopback port.
    ///
    /// # Errors
    /// Those of binding the port.
    ///
    /// # Panics
    /// If called outside a tokio runtime.
    pub async fn bind(id: impl AsRef<str>) -> io::Result<Self> {
        Self::bind_to(id, SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await
    }

    /// Starts a server named `id` on `address`, for instance the one that a stopped server had.
    ///
    /// # Errors
    /// Those of binding the port; the port may be in use.
    ///
    /// # Panics
    /// If called outside a tokio runtime.
    pub async fn bind_to(id: impl AsRef<str>, address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let id: Arc<str> = id.as_ref().into();
        let counters = Arc::new(Counters::default());
        let (phase, watched) = watch::channel(Phase::Serving);
        let service = EchoService {
            instance: Arc::clone(&id),
        };
        let task = tokio::spawn(accept(listener, service, Arc::clone(&counters), watched));
        Ok(Self {
            id,
            address,
            counters,
            phase,
            task,
        })
    }

    /// The id that every response carries as `instance`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Requests that have arrived so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.counters.requests()
    }

    /// Requests whose response body has not ended yet.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.counters.in_flight()
    }

    /// Connections accepted so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.counters.accepted()
    }

    /// Connections that are open now.
    #[must_use]
    pub fn open_connections(&self) -> u64 {
        self.counters.open()
    }

    /// The last 10,000 requests, oldest first.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.counters.calls()
    }

    /// Stops accepting, says GOAWAY on each connection, lets running calls end, and returns when all have.
    ///
    /// # Cancel safety
    /// A dropped future kills the server at once.
    pub async fn stop(self) {
        self.end(Phase::Draining).await;
    }

    /// Closes the port and cuts every connection at once, in the middle of calls, as if the process had been killed.
    ///
    /// When it returns, no connection is open and the port refuses new ones.
    ///
    /// # Cancel safety
    /// The server is gone even if the future is dropped.
    pub async fn kill(self) {
        self.end(Phase::Killed).await;
    }

    async fn end(mut self, phase: Phase) {
        self.phase.send_replace(phase);
        // The task is never aborted while we wait for it, and its own panics would already have been printed.
        let _ = (&mut self.task).await;
    }
}

impl Drop for EchoServer {
    fn drop(&mut self) {
        self.phase.send_replace(Phase::Killed);
    }
}

impl fmt::Debug for EchoServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EchoServer")
            .field("id", &self.id)
            .field("address", &self.address)
            .field("requests", &self.requests())
            .finish_non_exhaustive()
    }
}

async fn accept(
    listener: TcpListener,
    service: EchoService,
    counters: Arc<Counters>,
    phase: watch::Receiver<Phase>,
) {
    let mut connections = JoinSet::new();
    let mut ended = phase.clone();
    loop {
        tokio::select! {
            _ = ended.wait_for(|phase| *phase != Phase::Serving) => break,
            accepted = listener.accept() => {
                // Accepting fails for reasons of the peer or of a full descriptor table; both pass.
                if let Ok((stream, _)) = accepted {
                    connections.spawn(connection(stream, service.clone(), Arc::clone(&counters), phase.clone()));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn connection(
    stream: TcpStream,
    service: EchoService,
    counters: Arc<Counters>,
    phase: watch::Receiver<Phase>,
) {
    let (number, _open) = counters.connection();
    // Small answers must not wait for the peer's delayed acknowledgement. Failing to set it costs only latency.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request: http::Request<Incoming>| {
        let in_flight = counters.request(Call::new(&request, number));
        let response = Grpc::new(service.clone()).call(request);
        async move {
            let response = response.await;
            response.map(|response| response.map(|body| CountedBody { body, in_flight }))
        }
    });
    let executor = KilledWith(phase.clone());
    let serving = http2::Builder::new(executor).serve_connection(TokioIo::new(stream), answer);
    let mut serving = std::pin::pin!(serving);
    let (mut drained, mut killed) = (phase.clone(), phase);
    let mut draining = false;
    loop {
        tokio::select! {
            // Killed outranks all: nothing more may be written then.
            biased;
            _ = killed.wait_for(|phase| *phase == Phase::Killed) => return,
            _ = drained.wait_for(|phase| *phase != Phase::Serving), if !draining => {
                serving.as_mut().graceful_shutdown();
                draining = true;
            }
            // How a connection ended is the client's business.
            _ = serving.as_mut() => return,
        }
    }
}

/// Runs hyper's per-stream tasks, and ends them when the server is killed.
#[derive(Clone, Debug)]
struct KilledWith(watch::Receiver<Phase>);

impl<F> hyper::rt::Executor<F> for KilledWith
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        let mut phase = self.0.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = phase.wait_for(|phase| *phase == Phase::Killed) => {}
                _ = future => {}
            }
        });
    }
}
