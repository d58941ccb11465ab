use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use http::Response;
use hyper::{body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    task::{JoinHandle, JoinSet},
    time::sleep,
};
use tonic::{Status, codegen::Service};

use crate::{
    Call, Fault,
    counters::{CountedBody, Counters},
    fault::{Faults, Reset},
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
    faults: Arc<Faults>,
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
        let faults = Arc::new(Faults::default());
        let (phase, watched) = watch::channel(Phase::Serving);
        let service = EchoService {
            instance: Arc::clone(&id),
        };
        let serving = Serving {
            service,
            counters: Arc::clone(&counters),
            faults: Arc::clone(&faults),
            phase: watched,
        };
        let task = tokio::spawn(accept(listener, serving));
        Ok(Self {
            id,
            address,
            counters,
            faults,
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

    /// Does this wrong with the requests that arrive from now on, until it is told otherwise.
    pub fn set_fault(&self, fault: Fault) {
        self.faults.current.send_replace(fault);
    }

    /// Says GOAWAY on each connection that is open now: running calls end, and further ones come on connections made anew.
    pub fn go_away(&self) {
        self.faults.go_aways.send_modify(|times| *times += 1);
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

/// What each connection needs of its server.
#[derive(Clone)]
struct Serving {
    service: EchoService,
    counters: Arc<Counters>,
    faults: Arc<Faults>,
    phase: watch::Receiver<Phase>,
}

async fn accept(listener: TcpListener, serving: Serving) {
    let mut connections = JoinSet::new();
    let mut ended = serving.phase.clone();
    loop {
        tokio::select! {
            _ = ended.wait_for(|phase| *phase != Phase::Serving) => break,
            accepted = listener.accept() => {
                // Accepting fails for reasons of the peer or of a full descriptor table; both pass.
                if let Ok((stream, _)) = accepted {
                    connections.spawn(serving.clone().connection(stream));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

impl Serving {
    async fn connection(self, stream: TcpStream) {
        let (number, _open) = self.counters.connection();
        // Small answers must not wait for the peer's delayed acknowledgement. Failing to set it costs only latency.
        let _ = stream.set_nodelay(true);
        let reset = Arc::new(Notify::new());
        let (mut drained, mut killed) = (self.phase.clone(), self.phase.clone());
        let mut told_to_go = self.faults.go_aways.subscribe();
        let executor = KilledWith(self.phase.clone());
        let answer = service_fn({
            let reset = Arc::clone(&reset);
            move |request| self.answer(request, number, &reset)
        });
        let serving = http2::Builder::new(executor).serve_connection(TokioIo::new(stream), answer);
        let mut serving = std::pin::pin!(serving);
        let mut draining = false;
        loop {
            tokio::select! {
                // Killed outranks all: nothing more may be written then.
                biased;
                _ = killed.wait_for(|phase| *phase == Phase::Killed) => return,
                () = reset.notified() => return,
                _ = drained.wait_for(|phase| *phase != Phase::Serving), if !draining => {
                    serving.as_mut().graceful_shutdown();
                    draining = true;
                }
                Ok(()) = told_to_go.changed(), if !draining => {
                    serving.as_mut().graceful_shutdown();
                    draining = true;
                }
                // How a connection ended is the client's business.
                _ = serving.as_mut() => return,
            }
        }
    }

    fn answer(
        &self,
        request: http::Request<Incoming>,
        connection: u64,
        reset: &Arc<Notify>,
    ) -> impl Future<Output = Result<Response<CountedBody<tonic::body::Body>>, Reset>> + use<> {
        let in_flight = self.counters.request(Call::new(&request, connection));
        let fault = *self.faults.current.borrow();
        let mut service = Grpc::new(self.service.clone());
        let reset = Arc::clone(reset);
        async move {
            match fault {
                Fault::None => {}
                Fault::Slow(delay) => sleep(delay).await,
                Fault::Status(code) => {
                    let body = Status::new(code, "told to say so").into_http();
                    return Ok(body.map(|body| CountedBody { body, in_flight }));
                }
                Fault::ResetStream => return Err(Reset),
                Fault::CutConnection => {
                    reset.notify_one();
                    return Err(Reset);
                }
            }
            let response = match service.call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            Ok(response.map(|body| CountedBody { body, in_flight }))
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
