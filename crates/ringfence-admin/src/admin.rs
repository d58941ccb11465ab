use std::{fmt, net::SocketAddr, sync::Arc};

use ringfence_balancer::Balancer;

use crate::{AdminServer, AdminService, ServeError, mounted::Mounted, serve::ServeSettings};

type Metrics = Arc<dyn Fn() -> String + Send + Sync>;

/// What is shown, and to whom; [`service`](Self::service) mounts it, [`serve`](Self::serve) serves it.
///
/// # Examples
/// ```
/// use ringfence_admin::Admin;
/// use ringfence_balancer::Balancer;
/// use ringfence_discovery::MemoryRegistry;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let orders = Balancer::builder(MemoryRegistry::new(), "orders").build()?;
/// let carts = Balancer::builder(MemoryRegistry::new(), "carts").build()?;
/// let server = Admin::new()
///     .with_balancer(&orders)
///     .with_balancer(&carts)
///     .serve("127.0.0.1:0".parse()?)
///     .await?;
/// println!("http://{}/", server.local_addr());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Admin {
    pub(crate) mounted: Vec<Arc<Mounted>>,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) show_tags: bool,
    pub(crate) prefix: String,
    serve: ServeSettings,
}

impl Admin {
    /// Nothing to show yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows a balancer as well. It is held weakly: once its last handle is dropped, its service is shown as gone. The first one
    /// is what documents tell of where a request has no parameter `service`; of several balancers of one service, the first that is
    /// still there.
    pub fn with_balancer(mut self, balancer: &Balancer) -> Self {
        self.mounted.push(Arc::new(Mounted::new(balancer)));
        self
    }

    /// What `/metrics` answers, in Prometheus's text format: called for each scrape. Without it the answer is 404.
    pub fn with_metrics(mut self, render: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.metrics = Some(Arc::new(render));
        self
    }

    /// Shows the values of tags too, of instances and in the conditions of pools: tenants and the like, which may not be for
    /// everybody who can open the page. So are the fingerprints of pools whose ring or shard follows from a tenant's name, by which a guess
    /// of it could be confirmed, and what is wrong with the newest document of the policy, which quotes it: without tags its line and
    /// its part of the document are told alone, and the rest is in the program's log and in
    /// [`Status::policy_source`](ringfence_balancer::Status::policy_source). Off by default; version, zone and region are always
    /// shown, and so is the tag `hash_key` in `/dump`, because clients cannot be compared without it.
    pub fn with_tags(mut self) -> Self {
        self.show_tags = true;
        self
    }

    /// The path that it is mounted under, where the server does not take it off before it calls the service: axum's
    /// `nest_service` does, a bare hyper server does not. Empty by default.
    ///
    /// Requests for other paths are answered 404.
    pub fn with_prefix(mut self, prefix: impl AsRef<str>) -> Self {
        let inner = prefix.as_ref().trim_matches('/');
        self.prefix = if inner.is_empty() {
            String::new()
        } else {
            format!("/{inner}")
        };
        self
    }

    /// Lets [`serve`](Self::serve) listen on addresses that other machines reach, and answer to any name. There is no login: put
    /// a proxy with one in front, or a network that is closed. Off by default.
    pub fn allow_remote(mut self) -> Self {
        self.serve.allow_remote = true;
        self
    }

    /// The service, for a server of the program.
    #[must_use]
    pub fn service(self) -> AdminService {
        AdminService::new(self)
    }

    /// Serves it on an address of its own, port 0 for one that is free: a loopback address, unless
    /// [`allow_remote`](Self::allow_remote) was called. It ends when the handle is dropped, with its connections.
    ///
    /// It speaks HTTP/1.1, to at most 64 connections at a time. Who sends no request for 10 s is disconnected, or takes so long
    /// to read an answer, and so is every connection after ten minutes. While more than half of the places are taken, a connection
    /// ends with its answer, so that kept ones shut nobody out.
    ///
    /// # Errors
    /// [`ServeError`] where the address is not allowed, or cannot be listened on.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time and I/O enabled.
    pub async fn serve(self, address: SocketAddr) -> Result<AdminServer, ServeError> {
        let settings = self.serve;
        AdminServer::start(self.service(), address, settings).await
    }
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let services = self.mounted.iter().map(|mounted| &mounted.service);
        f.debug_struct("Admin")
            .field("services", &services.collect::<Vec<_>>())
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}
