use std::{fmt, sync::Arc};

use crate::{BoxFuture, BoxStream, DiscoveryError, ServiceKey, Update};

/// A place that knows the instances of services: a registry, a file, a list.
///
/// An implementation only reads. It needs no backoff, no resync, no comparing with what it said before and no protection
/// against empty lists: the [`Supervisor`](crate::Supervisor) has all of that, once for all sources.
///
/// # The contract
/// - Every [`Update`] is the whole state of the service. A source whose protocol sends differences applies them to a list that
///   it read itself, and reads again when in doubt.
/// - **A failure is an `Err`, never an empty list.** An answer that is not surely a complete list (a non-2xx status, a cut
///   body, "no leader") is a failure. [`ServiceState::NoSuchService`](crate::ServiceState::NoSuchService) says that the name
///   is unknown; a source that cannot tell answers an empty list.
/// - A bad record goes into [`Update::rejected`] and the rest is used.
/// - Nothing panics on what a registry sends, and no lock is held over an await.
/// - Calls need a tokio runtime with time enabled only if the source itself does.
///
/// # Examples
/// A source of your own: it asks a function for the current list and has no native watch, so it asks every second.
/// ```
/// use std::{sync::Arc, time::Duration};
/// use ringfence_core::Instance;
/// use ringfence_discovery::{
///     BoxFuture, BoxStream, Discovery, DiscoveryError, ErrorKind, Provenance, ServiceKey, Update, unfold,
/// };
///
/// /// In a real source this would be a client of your registry.
/// #[derive(Clone, Debug)]
/// struct Inventory;
///
/// impl Inventory {
///     async fn lookup(&self, name: &str) -> Result<Vec<(String, String)>, std::io::Error> {
///         Ok(vec![(format!("{name}-1"), "10.0.0.1:80".into())])
///     }
///
///     async fn read(&self, service: &ServiceKey) -> Result<Update, DiscoveryError> {
///         let records = self.lookup(service.name()).await.map_err(|error| {
///             DiscoveryError::new(ErrorKind::Unavailable, self.name(), "the inventory does not answer").with_cause(error)
///         })?;
///         let (mut instances, mut rejected) = (Vec::new(), Vec::new());
///         for (id, address) in records {
///             match Instance::builder(&id, &address).build() {
///                 Ok(instance) => instances.push(instance),
///                 Err(error) => rejected.push(ringfence_discovery::RejectedRecord::new(error.to_string()).with_id(id)),
///             }
///         }
///         Ok(Update::instances(instances, Provenance::live(self.name())).with_rejected(rejected))
///     }
/// }
///
/// impl Discovery for Inventory {
///     fn name(&self) -> &str {
///         "inventory"
///     }
///
///     fn fetch(&self, service: &ServiceKey) -> BoxFuture<'static, Result<Update, DiscoveryError>> {
///         let (this, service) = (self.clone(), service.clone());
///         Box::pin(async move { this.read(&service).await })
///     }
///
///     fn watch(&self, service: &ServiceKey) -> BoxStream<'static, Result<Update, DiscoveryError>> {
///         let (this, service) = (self.clone(), service.clone());
///         unfold(true, move |first| {
///             let (this, service) = (this.clone(), service.clone());
///             async move {
///                 if !first {
///                     tokio::time::sleep(Duration::from_secs(1)).await;
///                 }
///                 Some((this.read(&service).await, false))
///             }
///         })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), DiscoveryError> {
/// let source: Arc<dyn Discovery> = Arc::new(Inventory);
/// assert_eq!(source.fetch(&ServiceKey::new("order")).await?.state.instance_count(), 1);
/// # Ok(())
/// # }
/// ```
pub trait Discovery: fmt::Debug + Send + Sync + 'static {
    /// Short name of the source for logs and metrics, such as `consul`. The same for all services.
    fn name(&self) -> &str;

    /// Names the very registry and the part of it that is read, among others of its kind: addresses, datacenter, namespace,
    /// filters, whatever makes the same service have other instances. Copies on disk are kept apart by it, also over restarts
    /// of the program. No secrets: it is written to disk and to logs.
    ///
    /// Default: the [`name`](Self::name), which will do for a source of which a program has one.
    fn registry(&self) -> String {
        self.name().to_owned()
    }

    /// An endless stream of the states of a service.
    ///
    /// - The first item is the current state; further ones come when it changed. Of several changes in a row only the last
    ///   needs to be given.
    /// - Giving the current state again is allowed and means "the registry is alive": a source whose protocol has heartbeats
    ///   or answers long polls without a change should do it then, since silence is no evidence of contact.
    /// - After an `Err` the stream may go on or end. It is watched anew, after a backoff, when it ends or when two errors come
    ///   within [`WatchConfig::backoff_base`](crate::WatchConfig::backoff_base); a stream that goes on must pace itself, and
    ///   gives the state again once it works.
    /// - Lazy: nothing happens before the first poll. Dropping the stream ends its sockets, tasks and registrations; it can be
    ///   dropped at any time.
    fn watch(&self, service: &ServiceKey) -> BoxStream<'static, Result<Update, DiscoveryError>>;

    /// Reads the current state of a service once, past any cache: it is what confirms that a service is really empty.
    ///
    /// Lazy like [`watch`](Self::watch), and dropped when it takes longer than
    /// [`WatchConfig::fetch_timeout`](crate::WatchConfig::fetch_timeout).
    fn fetch(&self, service: &ServiceKey) -> BoxFuture<'static, Result<Update, DiscoveryError>>;
}

impl<D: Discovery + ?Sized> Discovery for Arc<D> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn registry(&self) -> String {
        (**self).registry()
    }

    fn watch(&self, service: &ServiceKey) -> BoxStream<'static, Result<Update, DiscoveryError>> {
        (**self).watch(service)
    }

    fn fetch(&self, service: &ServiceKey) -> BoxFuture<'static, Result<Update, DiscoveryError>> {
        (**self).fetch(service)
    }
}
