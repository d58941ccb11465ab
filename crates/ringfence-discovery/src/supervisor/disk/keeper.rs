//! Writing what the registry confirmed: one file job at a time, and of several states the newest.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

use ringfence_core::Snapshot;
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::Instant,
};

use crate::{DiskSnapshots, ServiceKey, ServiceState, WatchCounters, disk::Store};

/// Least time between two jobs, so that a service that flaps does not keep the disk busy.
const SPACING: Duration = Duration::from_secs(1);
/// Least time between two tries that are only made because the first one failed.
const RETRY_AFTER: Duration = Duration::from_secs(60);

pub(super) struct Keeper {
    service: ServiceKey,
    store: Arc<Store>,
    /// How long a written state may go without being written anew.
    refresh: Duration,
    /// From when on a confirmation of the state in use is worth writing; at first, any is.
    confirm_at: Option<Instant>,
    under_way: Option<JoinHandle<io::Result<()>>>,
    next: Option<Job>,
    /// From when on the next job may begin.
    next_at: Option<Instant>,
    /// Why the last write failed.
    failure: Option<String>,
}

enum Job {
    Write(Arc<Snapshot>, SystemTime),
    Remove,
}

impl Job {
    fn run(self, store: &Store) -> io::Result<()> {
        match self {
            Self::Write(snapshot, confirmed) => store.write(&snapshot, confirmed),
            Self::Remove => store.remove(),
        }
    }
}

impl Keeper {
    pub(super) fn new(service: ServiceKey, store: Arc<Store>, config: &DiskSnapshots) -> Self {
        Self {
            service,
            store,
            refresh: config.max_age() / 8,
            confirm_at: None,
            under_way: None,
            next: None,
            next_at: None,
            failure: None,
        }
    }

    /// The registry just confirmed this state.
    pub(super) fn confirmed(&mut self, state: &ServiceState, changed: bool, now: Instant) {
        if !changed && self.confirm_at.is_some_and(|at| at > now) {
            return;
        }
        self.confirm_at = Some(now + self.refresh);
        self.next = Some(match state {
            ServiceState::Instances(snapshot) => {
                Job::Write(Arc::clone(snapshot), SystemTime::now())
            }
            ServiceState::NoSuchService => Job::Remove,
        });
    }

    /// When the next job may begin, if there is one.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match (&self.under_way, &self.next) {
            (None, Some(_)) => self.next_at,
            _ => None,
        }
    }

    /// Carries on with the jobs. Nothing follows from how they end.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        now: Instant,
        counters: &mut WatchCounters,
    ) {
        loop {
            if let Some(job) = &mut self.under_way {
                let Poll::Ready(ended) = Pin::new(job).poll(cx) else {
                    return;
                };
                self.under_way = None;
                let ended = ended.unwrap_or_else(|error| Err(io::Error::other(error)));
                self.on_end(ended, now, counters);
            }
            if self.next_at.is_some_and(|at| at > now) {
                return;
            }
            let Some(job) = self.next.take() else { return };
            self.next_at = Some(now + SPACING);
            let store = Arc::clone(&self.store);
            self.under_way = Some(spawn_blocking(move || job.run(&store)));
        }
    }

    fn on_end(&mut self, ended: io::Result<()>, now: Instant, counters: &mut WatchCounters) {
        let file = self.store.file().display();
        let Err(error) = ended else {
            counters.disk_writes += 1;
            if self.failure.take().is_some() {
                tracing::info!(service = %self.service, %file, "copy on disk written again");
            }
            return;
        };
        counters.disk_write_errors += 1;
        self.confirm_at = Some(now + self.refresh.min(RETRY_AFTER));
        let reason = error.to_string();
        if self.failure.as_ref() != Some(&reason) {
            tracing::warn!(service = %self.service, %file, reason, "copy on disk not written");
            self.failure = Some(reason);
        }
    }
}
