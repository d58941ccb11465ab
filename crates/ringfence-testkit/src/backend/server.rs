use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use tokio::{
    net::TcpListener,
    sync::watch,
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::TlsAcceptor;

use super::{Behaviour, OnConnect, Recorded, connection, end::End, state::Shared};
use crate::ServerIdentity;

/// A scripted HTTP/1 and HTTP/2 server on loopback that records what it is sent.
///
/// Unless told otherwise it answers 200 with the body `ok`. The order of [`then`](Self::then) is the order in which
/// requests arrive. Dropping it closes its port and its connections.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// use ringfence_testkit::{Answer, Backend, Behaviour};
///
/// let backend = Backend::start().await?;
/// backend.then(Behaviour::Reset { after: 0 });
/// backend.always(Answer::status(503));
/// assert_eq!(backend.requests().len(), 0);
/// # Ok(())
/// # }
/// ```
pub struct Backend {
    address: SocketAddr,
    shared: Arc<Shared>,
    killed: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Backend {
    /// Starts a cleartext server on a free loopback port.
    ///
    /// # Errors
    /// Those of binding the port.
    ///
    /// # Panics
    /// If called outside a tokio runtime.
    pub async fn start() -> io::Result<Self> {
        Self::start_on(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await
    }

    /// Starts a cleartext server on `address`, for instance one that a [`RefusedAddress`](crate::RefusedAddress) held.
    ///
    /// # Errors
    /// Those of binding the port.
    ///
    /// # Panics
    /// If called outside a tokio runtime.
    pub async fn start_on(address: SocketAddr) -> io::Result<Self> {
        Self::listen(address, None).await
    }

    /// Starts a TLS server on a free loopback port. It offers HTTP/2 and HTTP/1.1, and records the server name asked for.
    ///
    /// # Errors
    /// Those of binding the port.
    ///
    /// # Panics
    /// If called outside a tokio runtime.
    pub async fn start_tls(identity: &ServerIdentity) -> io::Result<Self> {
        let tls = TlsAcceptor::from(identity.config());
        Self::listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), Some(tls)).await
    }

    async fn listen(address: SocketAddr, tls: Option<TlsAcceptor>) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(tls));
        let (killed, watched) = watch::channel(false);
        let task = tokio::spawn(accept(listener, Arc::clone(&shared), watched));
        Ok(Self {
            address,
            shared,
            killed,
            task,
        })
    }

    /// Where the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:port`, or `https` where it speaks TLS.
    #[must_use]
    pub fn uri(&self) -> String {
        let scheme = if self.shared.tls().is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address)
    }

    /// Treats the next request that has no behaviour yet so.
    pub fn then(&self, behaviour: impl Into<Behaviour>) {
        self.shared.lock().script.push_back(behaviour.into());
    }

    /// Treats all requests so, once those given to [`then`](Self::then) are used up.
    pub fn always(&self, behaviour: impl Into<Behaviour>) {
        self.shared.lock().always = behaviour.into();
    }

    /// Treats the next new connection that has no behaviour yet so.
    pub fn then_on_connect(&self, behaviour: OnConnect) {
        self.shared.lock().connections.push_back(behaviour);
    }

    /// Treats all new connections so, once those given to [`then_on_connect`](Self::then_on_connect) are used up.
    pub fn always_on_connect(&self, behaviour: OnConnect) {
        self.shared.lock().on_connect = behaviour;
    }

    /// All requests so far, in the order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.lock().requests.clone()
    }

    /// How many requests have arrived so far. Those that [`OnConnect::GoAwayUnprocessed`] turned away do not count.
    #[must_use]
    pub fn request_count(&self) -> usize {
        self.shared.lock().requests.len()
    }

    /// Requests that are being answered: until the end of the response body, or until the client went away.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.shared.lock().in_flight
    }

    /// Connections accepted so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.shared.lock().accepted
    }

    /// Connections that are open now.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        self.shared.lock().open.len()
    }

    /// Waits until `condition` holds; it is asked again whenever a request, a connection or a body has moved on.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn until(&self, condition: impl Fn(&Self) -> bool) {
        let mut changes = self.shared.subscribe();
        while !condition(self) {
            // The sender lives in `self`.
            let _ = changes.changed().await;
        }
    }

    /// Says GOAWAY on all open HTTP/2 connections and stops keep-alive on HTTP/1; running requests are still answered.
    pub fn go_away(&self) {
        self.end_all(End::GoAway);
    }

    /// Closes all open connections (TCP FIN); new ones are still accepted.
    pub fn close_connections(&self) {
        self.end_all(End::Close);
    }

    /// Resets all open connections (TCP RST); new ones are still accepted.
    pub fn reset_connections(&self) {
        self.end_all(End::Reset);
    }

    fn end_all(&self, end: End) {
        for connection in &self.shared.lock().open {
            connection.end(end);
        }
    }

    /// Closes the port and all connections at once; when it returns, the port refuses connections.
    ///
    /// # Cancel safety
    /// The server is gone even if the future is dropped.
    pub async fn kill(mut self) {
        self.killed.send_replace(true);
        // The task is never aborted, and its own panics would already have been printed.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.killed.send_replace(true);
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backend")
            .field("address", &self.address)
            .field("requests", &self.request_count())
            .finish_non_exhaustive()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, mut killed: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = killed.wait_for(|killed| *killed) => break,
            accepted = listener.accept() => {
                // Accepting fails for reasons of the peer or of a full descriptor table; both pass.
                if let Ok((stream, _)) = accepted {
                    let (connection, open) = shared.connection();
                    let shared = Arc::clone(&shared);
                    connections.spawn(async move {
                        let _open = open;
                        connection::run(stream, connection, shared).await;
                    });
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    shared
        .lock()
        .open
        .iter()
        .for_each(|connection| connection.end(End::Close));
    connections.shutdown().await;
}
