use std::{fmt, sync::Arc};

use ringfence_core::Instance;
use ringfence_discovery::{
    BoxFuture, BoxStream, Discovery, ErrorKind, Provenance, ServiceKey, Update,
};

use self::shared::{FetchAnswer, Said, Shared, Watch, error};

mod shared;
#[cfg(test)]
mod tests;

/// A discovery source that says exactly what a test tells it to. Clones are handles on the same source.
///
/// It knows one state, whatever the service. Streams that begin after a [`push`](Self::push) begin with the last state
/// pushed; before the first push they wait.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use ringfence_core::Instance;
/// use ringfence_discovery::{Discovery, ErrorKind, ServiceKey};
/// use ringfence_testkit::ScriptedDiscovery;
///
/// let registry = ScriptedDiscovery::new();
/// registry.push_instances([Instance::builder("a", "10.0.0.1:80").build()?]);
/// registry.then_fail_fetch(ErrorKind::Unavailable);
///
/// let service = ServiceKey::new("order");
/// assert!(registry.fetch(&service).await.is_err());
/// assert_eq!(registry.fetch(&service).await?.state.instance_count(), 1);
/// assert_eq!((registry.fetches(), registry.watches()), (2, 0));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ScriptedDiscovery {
    shared: Arc<Shared>,
}

impl ScriptedDiscovery {
    /// Name of the source in logs, errors and provenance.
    pub const NAME: &'static str = "scripted";

    /// A source that has said nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared::new()),
        }
    }

    /// Gives `update` to all live streams and keeps it as the current state.
    pub fn push(&self, update: Update) {
        let mut state = self.shared.lock();
        for stream in &state.streams {
            // A receiver that is gone has been dropped by its watcher.
            let _ = stream.send(Ok(update.clone()));
        }
        state.current = Some(update);
    }

    /// [`push`](Self::push) of a service with these instances, without a revision.
    pub fn push_instances(&self, instances: impl IntoIterator<Item = Instance>) {
        self.push(Update::instances(instances, Provenance::live(Self::NAME)));
    }

    /// [`push`](Self::push) of a service that does not exist.
    pub fn push_no_such_service(&self) {
        self.push(Update::no_such_service(Provenance::live(Self::NAME)));
    }

    /// Gives an error to all live streams, which go on.
    pub fn fail(&self, kind: ErrorKind) {
        for stream in &self.shared.lock().streams {
            let _ = stream.send(Err(error(kind)));
        }
    }

    /// Ends all live streams, without an error.
    pub fn end(&self) {
        self.shared.lock().streams.clear();
    }

    /// The registry is away: live streams fail and end, and so does all that is asked, until [`go_up`](Self::go_up).
    pub fn go_down(&self, kind: ErrorKind) {
        let mut state = self.shared.lock();
        state.down = Some(kind);
        for stream in state.streams.drain(..) {
            let _ = stream.send(Err(error(kind)));
        }
    }

    /// The registry is back.
    pub fn go_up(&self) {
        self.shared.lock().down = None;
    }

    /// Answers the next fetch that has no answer yet with `update`, whatever the current state is.
    pub fn then_fetch(&self, update: Update) {
        self.script(FetchAnswer::Update(update));
    }

    /// Fails the next fetch that has no answer yet.
    pub fn then_fail_fetch(&self, kind: ErrorKind) {
        self.script(FetchAnswer::Fail(kind));
    }

    /// Never answers the next fetch that has no answer yet.
    pub fn then_hang_fetch(&self) {
        self.script(FetchAnswer::Hang);
    }

    fn script(&self, answer: FetchAnswer) {
        self.shared.lock().fetch_script.push_back(answer);
    }

    /// Streams that have been polled so far.
    #[must_use]
    pub fn watches(&self) -> usize {
        self.shared.lock().watched.len()
    }

    /// The services of the streams that have been polled so far, in order.
    #[must_use]
    pub fn watched(&self) -> Vec<ServiceKey> {
        self.shared.lock().watched.clone()
    }

    /// Streams that have been polled and not dropped, ended ones too.
    #[must_use]
    pub fn live_streams(&self) -> usize {
        self.shared.lock().live_streams
    }

    /// Fetches that have been polled so far.
    #[must_use]
    pub fn fetches(&self) -> usize {
        self.shared.lock().fetches
    }

    /// Fetches that have been polled and neither answered nor dropped.
    #[must_use]
    pub fn live_fetches(&self) -> usize {
        self.shared.lock().live_fetches
    }

    /// Waits until `condition` holds; it is asked again whenever a stream or fetch has begun or ended.
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
}

impl Default for ScriptedDiscovery {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ScriptedDiscovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedDiscovery")
            .field("watches", &self.watches())
            .field("fetches", &self.fetches())
            .finish_non_exhaustive()
    }
}

impl Discovery for ScriptedDiscovery {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn watch(&self, service: &ServiceKey) -> BoxStream<'static, Said> {
        Box::pin(Watch::new(service.clone(), Arc::clone(&self.shared)))
    }

    fn fetch(&self, _service: &ServiceKey) -> BoxFuture<'static, Said> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let (answer, _live) = shared.fetch();
            match answer {
                FetchAnswer::Update(update) => Ok(update),
                FetchAnswer::Fail(kind) => Err(error(kind)),
                FetchAnswer::Hang => std::future::pending().await,
            }
        })
    }
}
