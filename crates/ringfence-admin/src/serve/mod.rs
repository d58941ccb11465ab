//! Serving the page on a port of its own.

mod connections;
mod host;
mod writing;

use std::{fmt, io, net::SocketAddr};

use tokio::{net::TcpListener, task::AbortHandle};

use crate::AdminService;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServeSettings {
    pub(crate) allow_remote: bool,
}

/// The page cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Other machines would reach it, and that was not allowed.
    #[error(
        "{0} is no loopback address: other machines would reach it, which `Admin::allow_remote` allows"
    )]
    Remote(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

/// Serves a page until it is dropped; [`Admin::serve`](crate::Admin::serve) gives it.
///
/// See [`Admin`](crate::Admin) for an example.
#[must_use = "the page is served until this is dropped"]
pub struct AdminServer {
    address: SocketAddr,
    /// Its connections are its own tasks, and end with it.
    task: AbortHandle,
}

impl AdminServer {
    pub(crate) async fn start(
        service: AdminService,
        address: SocketAddr,
        settings: ServeSettings,
    ) -> Result<Self, ServeError> {
        if !settings.allow_remote && !address.ip().to_canonical().is_loopback() {
            return Err(ServeError::Remote(address));
        }
        let failed = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let accepting = connections::accept(listener, service, settings.allow_remote);
        let task = tokio::spawn(accepting).abort_handle();
        tracing::info!(%address, "the admin page is served");
        Ok(Self { address, task })
    }

    /// Where it listens: with the port that was chosen, if that was left open.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for AdminServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for AdminServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminServer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
