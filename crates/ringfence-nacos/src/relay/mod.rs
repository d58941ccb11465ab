//! The way from the client library to whichever server is there.
//!
//! Left to itself the library waits up to 64 s before it tries again to connect, tries one server at a time for as long as it
//! hangs, and sends small packets with delay. So it is given an address on loopback that always accepts. Behind it a connection
//! is made to the first server that answers, at once when there is one, and what the library said meanwhile is passed on.

mod carry;
#[cfg(test)]
mod tests;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    net::TcpListener,
    runtime::{Builder, Handle, Runtime},
    sync::{Notify, Semaphore, watch},
};

use self::carry::carry;

/// Connections at a time. The library has one, and for moments two.
const MOST: usize = 8;

static BACKGROUND: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
    Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("ringfence-nacos")
        .enable_all()
        .build()
});

/// The runtime for what lives as long as the process, since the library does: one thread.
pub(crate) fn background() -> Option<&'static Handle> {
    BACKGROUND.as_ref().ok().map(Runtime::handle)
}

/// The way to some servers. It stays open for the life of the process.
pub(crate) struct Relay {
    address: SocketAddr,
    servers: Arc<Servers>,
}

impl Relay {
    /// Opens the way to these servers (host and port).
    pub(crate) fn open(servers: Vec<(String, u16)>) -> io::Result<Self> {
        let runtime = background().ok_or_else(|| io::Error::other("no background thread"))?;
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = {
            let _entered = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let servers = Arc::new(Servers::new(servers));
        runtime.spawn(accept(listener, servers.clone()));
        Ok(Self { address, servers })
    }

    /// Where it begins.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Tells of every connection to a server that is made or ends from now on.
    pub(crate) fn links(&self) -> watch::Receiver<u64> {
        self.servers.links.subscribe()
    }

    /// Cuts all connections that it carries, for the library to make new ones.
    pub(crate) fn reset(&self) {
        self.servers.reset.notify_waiters();
    }
}

async fn accept(listener: TcpListener, servers: Arc<Servers>) {
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((library, _)) => {
                let servers = servers.clone();
                tokio::spawn(async move {
                    tokio::select! {
                        () = servers.reset.notified() => {}
                        () = carry(library, &servers) => {}
                    }
                    drop(place);
                });
            }
            // Out of descriptors, as a rule; it passes.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// The servers, taken in turn: a new connection means that the last one's server failed.
struct Servers {
    all: Vec<(String, u16)>,
    next: AtomicUsize,
    reset: Notify,
    /// How often a connection to a server was made or ended.
    links: watch::Sender<u64>,
}

impl Servers {
    fn new(all: Vec<(String, u16)>) -> Self {
        Self {
            // Not all processes of a fleet at the same one.
            next: AtomicUsize::new(fastrand::usize(..all.len().max(1))),
            all,
            reset: Notify::new(),
            links: watch::Sender::new(0),
        }
    }

    fn next(&self) -> Option<(&str, u16)> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let (host, port) = self.all.get(at % self.all.len().max(1))?;
        Some((host, *port))
    }

    fn len(&self) -> usize {
        self.all.len()
    }
}
