//! The subscriptions of one connection: one per service, shared by all who watch it, read by one task each.

mod reader;
#[cfg(test)]
mod tests;
mod watcher;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ringfence_discovery::ErrorKind;
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
    time::timeout,
};

use self::reader::Reader;
pub(crate) use self::watcher::Watcher;
use crate::{
    failure::Failure,
    naming::{Naming, Record, Target, Wake},
};

/// How long the end of a subscription may take before it is put off.
const FAREWELL: Duration = Duration::from_secs(1);

/// What one read of a list gave.
pub(crate) type Reading = Result<Arc<[Record]>, Failure>;

/// How a service is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) read_timeout: Duration,
    pub(crate) poll_interval: Duration,
}

pub(crate) struct Hub {
    naming: Arc<dyn Naming>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    topics: HashMap<Target, Topic>,
    next_id: u64,
    /// Subscriptions that nobody wants any more and that could not be ended yet. Each costs the server a push per change.
    orphans: HashMap<Target, Arc<Wake>>,
}

/// A service that is watched. Its reader owns the other end of `latest`: a closed channel means that the reader is gone, which
/// happens only with its runtime.
struct Topic {
    id: u64,
    watchers: usize,
    latest: watch::Receiver<Option<Reading>>,
    signals: Arc<Signals>,
}

struct Signals {
    wake: Arc<Wake>,
    stop: Notify,
    /// The subscription may be lost or refused: make it anew before the next read.
    renew: AtomicBool,
    /// Whether a read is under way whose result is still to be published.
    reading: AtomicBool,
}

impl Topic {
    fn is_alive(&self) -> bool {
        self.latest.has_changed().is_ok()
    }
}

impl Hub {
    pub(crate) fn new(naming: Arc<dyn Naming>) -> Arc<Self> {
        Arc::new(Self {
            naming,
            state: Mutex::default(),
        })
    }

    /// Reads a list once.
    pub(crate) async fn read(&self, target: &Target, limit: Duration) -> Reading {
        within(limit, self.naming.list(target)).await.map(Arc::from)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock can panic half way, and no await happens under it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a watcher in and returns its end of the topic, starting a reader where there is none.
    fn join(self: &Arc<Self>, target: &Target, timing: Timing) -> Result<Seat, Failure> {
        let mut state = self.lock();
        if let Some(topic) = state.topics.get_mut(target)
            && topic.is_alive()
        {
            topic.watchers += 1;
            let mut latest = topic.latest.clone();
            // Only what is read from now on counts as current.
            latest.mark_unchanged();
            if !topic.signals.reading.load(Ordering::Acquire) {
                topic.signals.wake.nudge();
            }
            return Ok(Seat {
                topic: topic.id,
                latest,
            });
        }
        let runtime = Handle::try_current().map_err(|error| {
            Failure::new(ErrorKind::Config, "a tokio runtime is needed").with_cause(error)
        })?;
        // The client library knows a subscription by its wake, so a dead reader's or an orphan's is used again.
        let dead = state.topics.remove(target);
        let orphan = state.orphans.remove(target);
        let wake = dead
            .map(|topic| topic.signals.wake.clone())
            .or(orphan)
            .unwrap_or_default();
        let id = state.next_id;
        state.next_id += 1;
        let (publish, latest) = watch::channel(None);
        let signals = Arc::new(Signals {
            wake,
            stop: Notify::new(),
            renew: AtomicBool::new(true),
            reading: AtomicBool::new(true),
        });
        state.topics.insert(
            target.clone(),
            Topic {
                id,
                watchers: 1,
                latest: latest.clone(),
                signals: signals.clone(),
            },
        );
        drop(state);
        runtime.spawn(
            Reader {
                hub: self.clone(),
                target: target.clone(),
                topic: id,
                signals,
                publish,
                timing,
            }
            .run(),
        );
        Ok(Seat { topic: id, latest })
    }

    /// Counts a watcher out; with the last one the reader ends the subscription and then itself.
    fn leave(&self, target: &Target, topic: u64) {
        let mut state = self.lock();
        let Some(found) = state.topics.get_mut(target) else {
            return;
        };
        if found.id != topic {
            return;
        }
        found.watchers -= 1;
        if found.watchers > 0 {
            return;
        }
        if found.is_alive() {
            found.signals.stop.notify_one();
        } else if let Some(dead) = state.topics.remove(target) {
            state
                .orphans
                .insert(target.clone(), dead.signals.wake.clone());
        }
    }

    /// Takes an unwatched topic out, for its reader to end. `ended`: whether its subscription is surely gone.
    fn retire(&self, target: &Target, topic: u64, ended: bool) -> bool {
        let mut state = self.lock();
        let unwatched = state
            .topics
            .get(target)
            .is_some_and(|found| found.id == topic && found.watchers == 0);
        if unwatched
            && let Some(gone) = state.topics.remove(target)
            && !ended
        {
            state
                .orphans
                .insert(target.clone(), gone.signals.wake.clone());
        }
        unwatched
    }

    fn is_watched(&self, target: &Target, topic: u64) -> bool {
        self.lock()
            .topics
            .get(target)
            .is_some_and(|found| found.id == topic && found.watchers > 0)
    }

    /// Tries to end one subscription that could not be ended before.
    async fn settle_orphan(&self) {
        let Some((target, wake)) = ({
            let mut state = self.lock();
            let target = state.orphans.keys().next().cloned();
            target.and_then(|target| state.orphans.remove_entry(&target))
        }) else {
            return;
        };
        let ended = within(FAREWELL, self.naming.unsubscribe(&target, &wake)).await;
        let mut state = self.lock();
        if let Some(topic) = state.topics.get(&target) {
            // It is watched again, and this has just deafened it.
            topic.signals.renew.store(true, Ordering::Release);
            topic.signals.wake.nudge();
        } else if ended.is_err() {
            state.orphans.insert(target, wake);
        }
    }
}

/// A watcher's place at a topic.
struct Seat {
    topic: u64,
    latest: watch::Receiver<Option<Reading>>,
}

async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    match timeout(limit, call).await {
        Ok(outcome) => outcome,
        Err(elapsed) => {
            let message = format!("no server answers within {limit:.1?}");
            Err(Failure::new(ErrorKind::Unavailable, message).with_cause(elapsed))
        }
    }
}
