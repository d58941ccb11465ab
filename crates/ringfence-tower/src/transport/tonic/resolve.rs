//! Resolves the names of instances.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower_service::Service;

/// The future of [`Resolve::resolve`].
pub type ResolveFuture<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Resolves the host names of instances, in place of the operating system.
///
/// ```
/// use std::collections::HashMap;
/// use std::io::{Error, ErrorKind};
/// use std::net::IpAddr;
/// use ringfence_tower::{Resolve, ResolveFuture, TonicConnector};
///
/// #[derive(Debug)]
/// struct Hosts(HashMap<String, IpAddr>);
///
/// impl Resolve for Hosts {
///     fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a> {
///         let found = self.0.get(host).map(|address| vec![*address]);
///         Box::pin(async { found.ok_or_else(|| Error::from(ErrorKind::NotFound)) })
///     }
/// }
///
/// let hosts = HashMap::from([("orders-1.internal".to_owned(), [10, 0, 0, 1].into())]);
/// let connector = TonicConnector::new().with_resolver(Hosts(hosts));
/// # let _ = connector;
/// ```
pub trait Resolve: fmt::Debug + Send + Sync + 'static {
    /// All addresses of a host, in the order in which they are to be tried.
    ///
    /// # Errors
    /// Of the look-up; the connection fails with it.
    ///
    /// # Cancel safety
    /// The future is dropped when the connect timeout is over.
    fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a>;
}

/// Resolves for hyper's connector.
#[derive(Clone, Debug)]
pub(super) struct Resolver {
    own: Option<Arc<dyn Resolve>>,
    system: GaiResolver,
}

impl Resolver {
    pub(super) fn new(own: Option<Arc<dyn Resolve>>) -> Self {
        Self {
            own,
            system: GaiResolver::new(),
        }
    }
}

type Addresses = std::vec::IntoIter<SocketAddr>;

impl Service<Name> for Resolver {
    type Response = Addresses;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Addresses>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        if let Some(own) = self.own.clone() {
            return Box::pin(async move {
                let addresses = own.resolve(name.as_str()).await?;
                // hyper puts the port in.
                let addresses = addresses.into_iter().map(|address| (address, 0).into());
                Ok(addresses.collect::<Vec<_>>().into_iter())
            });
        }
        let resolved = self.system.call(name);
        Box::pin(async move { Ok(resolved.await?.collect::<Vec<_>>().into_iter()) })
    }
}
