//! A source that does as it is told and counts what is asked of it.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use ringfence_core::Instance;
use ringfence_discovery::{
    BoxFuture, BoxStream, Discovery, DiscoveryError, ErrorKind, Event, Provenance, ServiceKey,
    Supervisor, Update, WatchConfig, unfold,
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};

pub(crate) type Answer = Result<Update, &'static str>;

/// What a watch does, in order; after the last step it stays open and yields what is pushed.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Yield(Answer),
    Wait(Duration),
    Panic,
    End,
}

/// What a read does.
#[derive(Clone, Debug)]
pub(crate) enum Fetch {
    Give(Answer),
    After(Duration, Answer),
    Panic,
    Hang,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Script(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    watches: Mutex<VecDeque<Vec<Step>>>,
    fallback: Mutex<Vec<Step>>,
    fetch: Mutex<Option<Fetch>>,
    fetched_at: Mutex<Vec<Instant>>,
    registry: Mutex<Option<&'static str>>,
    live: Mutex<Option<mpsc::UnboundedSender<Answer>>>,
    opened: AtomicUsize,
    alive: AtomicUsize,
}

/// Counts what is alive in the source: open watches and reads under way.
struct Alive(Arc<Inner>);

impl Alive {
    fn new(inner: &Arc<Inner>) -> Self {
        inner.alive.fetch_add(1, Ordering::Relaxed);
        Self(inner.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Script {
    /// Scripts of the first watches; later ones only yield what is pushed.
    pub(crate) fn new(watches: impl IntoIterator<Item = Vec<Step>>) -> Self {
        let script = Self::default();
        script.0.watches.lock().unwrap().extend(watches);
        script
    }

    /// What every watch does that has no script of its own.
    pub(crate) fn otherwise(self, steps: Vec<Step>) -> Self {
        *self.0.fallback.lock().unwrap() = steps;
        self
    }

    /// Names the registry that it stands for.
    #[cfg(feature = "disk")]
    pub(crate) fn in_registry(self, name: &'static str) -> Self {
        *self.0.registry.lock().unwrap() = Some(name);
        self
    }

    /// What reads do from now on; at first they fail.
    pub(crate) fn fetch(&self, fetch: Fetch) {
        *self.0.fetch.lock().unwrap() = Some(fetch);
    }

    /// Yields from the newest watch.
    pub(crate) fn push(&self, answer: Answer) {
        let live = self.0.live.lock().unwrap();
        live.as_ref().expect("watched").send(answer).expect("open");
    }

    pub(crate) fn is_watched(&self) -> bool {
        let live = self.0.live.lock().unwrap();
        live.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    /// Ends the newest watch.
    pub(crate) fn end(&self) {
        *self.0.live.lock().unwrap() = None;
    }

    pub(crate) fn opened(&self) -> usize {
        self.0.opened.load(Ordering::Relaxed)
    }

    pub(crate) fn fetches(&self) -> usize {
        self.0.fetched_at.lock().unwrap().len()
    }

    pub(crate) fn fetched_at(&self) -> Vec<Instant> {
        self.0.fetched_at.lock().unwrap().clone()
    }

    pub(crate) fn alive(&self) -> usize {
        self.0.alive.load(Ordering::Relaxed)
    }

    pub(crate) fn supervise(&self, config: WatchConfig) -> Supervisor {
        Supervisor::new(
            Arc::new(self.clone()),
            ServiceKey::new("order"),
            config.with_seed(7),
        )
    }
}

fn answer(answer: Answer) -> Result<Update, DiscoveryError> {
    answer.map_err(|message| DiscoveryError::new(ErrorKind::Unavailable, "script", message))
}

impl Discovery for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn registry(&self) -> String {
        let registry = self.0.registry.lock().unwrap().unwrap_or("script");
        assert_ne!(registry, "panic", "a fault of the name");
        registry.to_owned()
    }

    fn watch(&self, _: &ServiceKey) -> BoxStream<'static, Result<Update, DiscoveryError>> {
        self.0.opened.fetch_add(1, Ordering::Relaxed);
        let next = self.0.watches.lock().unwrap().pop_front();
        let steps = next.unwrap_or_else(|| self.0.fallback.lock().unwrap().clone());
        let (sender, receiver) = mpsc::unbounded_channel();
        *self.0.live.lock().unwrap() = Some(sender);
        let alive = Alive::new(&self.0);
        let state = (VecDeque::from(steps), receiver, alive);
        unfold(state, |(mut steps, mut receiver, alive)| async move {
            loop {
                match steps.pop_front() {
                    Some(Step::Yield(item)) => {
                        return Some((answer(item), (steps, receiver, alive)));
                    }
                    Some(Step::Wait(time)) => sleep(time).await,
                    Some(Step::Panic) => panic!("a fault of the watch"),
                    Some(Step::End) => return None,
                    None => {
                        let item = receiver.recv().await?;
                        return Some((answer(item), (steps, receiver, alive)));
                    }
                }
            }
        })
    }

    fn fetch(&self, _: &ServiceKey) -> BoxFuture<'static, Result<Update, DiscoveryError>> {
        self.0.fetched_at.lock().unwrap().push(Instant::now());
        let fetch = self.0.fetch.lock().unwrap().clone();
        let alive = Alive::new(&self.0);
        Box::pin(async move {
            let _alive = alive;
            match fetch {
                None => answer(Err("no read")),
                Some(Fetch::Give(item)) => answer(item),
                Some(Fetch::After(time, item)) => {
                    sleep(time).await;
                    answer(item)
                }
                Some(Fetch::Panic) => panic!("a fault of the read"),
                Some(Fetch::Hang) => std::future::pending().await,
            }
        })
    }
}

pub(crate) fn instance(id: &str) -> Instance {
    Instance::builder(id, "10.0.0.1:80").build().expect("legal")
}

/// The instances of these ids, one letter each.
pub(crate) fn list(ids: &str) -> Update {
    let instances = ids.chars().map(|id| instance(&id.to_string()));
    Update::instances(instances, Provenance::live("script"))
}

pub(crate) fn gone() -> Update {
    Update::no_such_service(Provenance::live("script"))
}

/// The ids of a snapshot event as one word, or what else it was.
pub(crate) fn show(event: &Event) -> String {
    match event {
        Event::Snapshot(accepted) => {
            let ids = accepted.snapshot.instances().iter();
            ids.map(|i| i.id().as_str()).collect()
        }
        Event::NoSuchService => "no such service".to_owned(),
        Event::Status(_) => "status".to_owned(),
        _ => "unknown".to_owned(),
    }
}

/// The next event that is no status, within a day of paused time.
pub(crate) async fn next_change(supervisor: &mut Supervisor) -> String {
    let next = async {
        loop {
            match supervisor.next().await {
                Event::Status(_) => {}
                event => return show(&event),
            }
        }
    };
    let day = Duration::from_secs(86_400);
    timeout(day, next).await.expect("a change within a day")
}

/// All events within `time`.
pub(crate) async fn during(supervisor: &mut Supervisor, time: Duration) -> Vec<Event> {
    let mut events = Vec::new();
    let end = Instant::now() + time;
    while let Ok(event) = tokio::time::timeout_at(end, supervisor.next()).await {
        events.push(event);
    }
    events
}

/// The changes within `time`, shown.
pub(crate) async fn changes(supervisor: &mut Supervisor, time: Duration) -> Vec<String> {
    let events = during(supervisor, time).await;
    events
        .iter()
        .map(show)
        .filter(|shown| shown != "status")
        .collect()
}

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
