//! Watching one service for as long as its owner cares.

mod backoff;
mod guard;
mod ledger;
mod reader;
mod subscription;

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::time::{Instant, Sleep};

use self::{
    ledger::{Ended, Ledger, Reading, Verdict},
    reader::Reader,
    subscription::Subscription,
};
use crate::{
    Accepted, Discovery, DiscoveryError, Event, HoldReason, HoldStatus, ServiceKey, ServiceState,
    Update, WatchConfig, WatchStatus,
};

/// Rounds of work in one poll before other tasks get their turn.
const POLL_BUDGET: usize = 32;

/// Watches one service and reports only what is new and trustworthy.
///
/// It sits between a [`Discovery`] source and whoever uses the instances. A source may fail, end, fall silent, repeat itself,
/// deliver old data or claim that all instances are gone; the supervisor turns that into a sequence of [`Event`]s:
///
/// - A watch that fails or ends is opened anew after an exponential backoff with full jitter. What was reported stays valid:
///   an error is never a list.
/// - Beside the watch the service is read in full from time to time, so that a dead watch is noticed.
/// - A state equal to the last one is no event, and of several updates that are ready only the newest counts; the source is
///   never held up and nothing queues.
/// - A revision lower than a known one is old data and read again; when the fresh read says the same, the registry was reset
///   and it is used.
/// - A loss of all instances or of more than [`WatchConfig::max_loss_percent`] is held for [`WatchConfig::empty_hold`]. The
///   registry is read at once and at the end of the hold: instances shown meanwhile end the hold, a reading of the same kind
///   after its end is believed. Where no reading succeeds, the hold lasts. The very first state is believed at once.
/// - Without contact for [`WatchConfig::stale_after`] the data counts as stale, and stays in use.
///
/// It is one object without tasks: everything happens while [`next`](Self::next) is polled, and dropping it ends the watch, the
/// reads and the timers.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use ringfence_core::Instance;
/// use ringfence_discovery::{Event, MemoryRegistry, ServiceKey, Supervisor, WatchConfig};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (registry, order) = (MemoryRegistry::new(), ServiceKey::new("order"));
/// registry.register(&order, Instance::builder("a", "10.0.0.1:80").build()?);
///
/// let mut supervisor = Supervisor::new(Arc::new(registry), order, WatchConfig::default());
/// let Event::Snapshot(accepted) = supervisor.next().await else { panic!("the service exists") };
/// assert_eq!(accepted.snapshot.len(), 1);
/// # Ok(())
/// # }
/// ```
#[must_use = "it does nothing unless `next` is awaited"]
pub struct Supervisor {
    source: Arc<dyn Discovery>,
    service: ServiceKey,
    config: WatchConfig,
    rng: fastrand::Rng,
    subscription: Subscription,
    reader: Reader,
    ledger: Ledger,
    status: WatchStatus,
    /// Reads in a row that found what the watch had not announced.
    missed_by_watch: u8,
    /// Start of the wait for the first contact.
    started: Option<Instant>,
    change: Option<Event>,
    status_changed: bool,
    timer: Option<Pin<Box<Sleep>>>,
}

/// What the parts of a supervisor share during one round of work.
struct Env<'a> {
    now: Instant,
    source: &'a dyn Discovery,
    service: &'a ServiceKey,
    config: &'a WatchConfig,
    rng: &'a mut fastrand::Rng,
}

macro_rules! round {
    ($this:ident, $now:expr) => {
        &mut Env {
            now: $now,
            source: &*$this.source,
            service: &$this.service,
            config: &$this.config,
            rng: &mut $this.rng,
        }
    };
}

impl Supervisor {
    /// Sets up the supervision of `service`; nothing is asked before the first [`next`](Self::next).
    pub fn new(source: Arc<dyn Discovery>, service: ServiceKey, config: WatchConfig) -> Self {
        Self {
            subscription: Subscription::new(&config),
            reader: Reader::new(&config),
            ledger: Ledger::new(&config),
            rng: config
                .seed()
                .map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed),
            source,
            service,
            config,
            status: WatchStatus::default(),
            missed_by_watch: 0,
            started: None,
            change: None,
            status_changed: false,
            timer: None,
        }
    }

    /// The service that is watched.
    #[must_use]
    pub fn service(&self) -> &ServiceKey {
        &self.service
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &WatchConfig {
        &self.config
    }

    /// Condition and counters as of the last poll.
    #[must_use]
    pub fn status(&self) -> &WatchStatus {
        &self.status
    }

    /// Waits for the next event. There is always a next one to wait for: it never ends, and never spins.
    ///
    /// # Cancel safety
    /// Cancel safe: a dropped future loses neither an event nor work under way. Time only passes for the supervisor while it is
    /// polled; a hold or a resync that came due meanwhile is caught up with at the next poll.
    ///
    /// # Panics
    /// Outside a tokio runtime with time enabled.
    pub async fn next(&mut self) -> Event {
        poll_fn(|cx| self.poll_next_event(cx)).await
    }

    /// [`next`](Self::next) as a poll function.
    ///
    /// # Panics
    /// Outside a tokio runtime with time enabled.
    pub fn poll_next_event(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        for _ in 0..POLL_BUDGET {
            if let Some(event) = self.take_event() {
                return Poll::Ready(event);
            }
            let now = Instant::now();
            if self.started.is_none() {
                self.started = Some(now);
                self.reader.start(round!(self, now));
            }
            let busy = self.poll_watch(cx, now) | self.poll_reader(cx, now);
            self.check_staleness(now);
            if !busy && !self.has_event() && self.poll_timer(cx).is_pending() {
                return Poll::Pending;
            }
        }
        if let Some(event) = self.take_event() {
            return Poll::Ready(event);
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn has_event(&self) -> bool {
        self.status_changed || self.change.is_some()
    }

    fn take_event(&mut self) -> Option<Event> {
        if let Some(change) = self.change.take() {
            return Some(change);
        }
        if self.status_changed {
            self.status_changed = false;
            return Some(Event::Status(self.status.clone()));
        }
        None
    }

    fn poll_watch(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        let mark = self.ledger.mark();
        let drained = self.subscription.poll(cx, mark, round!(self, now));
        let counters = &mut self.status.counters;
        counters.superseded += drained.superseded;
        counters.watch_errors += drained.errors;
        counters.watch_restarts += u64::from(drained.closed);
        let heard = drained.newest.is_some();
        if heard {
            self.missed_by_watch = 0;
        }
        if let Some(failure) = drained.failure {
            self.on_watch_failure(failure);
        } else if heard && self.status.watch_error.take().is_some() {
            tracing::info!(service = %self.service, source = self.source.name(), "watch recovered");
            self.status_changed = true;
        }
        if let Some((update, reading)) = drained.newest {
            self.on_contact(now);
            if self.take_reading(update, reading, now) == Verdict::Outdated {
                self.reader.on_contradiction(now);
            }
        }
        heard || drained.closed || drained.more
    }

    fn on_watch_failure(&mut self, failure: Arc<DiscoveryError>) {
        let known = self.status.watch_error.as_ref();
        let news = known.is_none_or(|known| {
            (known.kind(), known.message()) != (failure.kind(), failure.message())
        });
        if news {
            tracing::warn!(
                service = %self.service,
                kind = %failure.kind(),
                error = %failure,
                "watch failed; the last good state stays in use"
            );
            self.status.watch_error = Some(failure);
            self.status_changed = true;
        }
    }

    fn poll_reader(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        let mark = self.ledger.mark();
        match self.reader.poll(cx, mark, round!(self, now)) {
            Poll::Pending => false,
            Poll::Ready(Err(error)) => {
                tracing::debug!(service = %self.service, error = %error, "read failed");
                self.status.counters.fetch_errors += 1;
                self.status.fetch_error = Some(error);
                true
            }
            Poll::Ready(Ok((update, sent))) => {
                self.status.counters.resyncs += 1;
                self.status.fetch_error = None;
                self.on_contact(now);
                let verdict = self.take_reading(update, Reading::Fetch(sent), now);
                let settled = verdict != Verdict::Outdated;
                self.reader.on_success(settled, round!(self, now));
                if matches!(verdict, Verdict::Accepted { changed: true, .. }) {
                    self.on_unannounced_change(now);
                }
                true
            }
        }
    }

    /// A watch that misses a change may only be late; one that misses two is dead.
    fn on_unannounced_change(&mut self, now: Instant) {
        if !self.subscription.is_open() {
            return;
        }
        self.missed_by_watch += 1;
        if self.missed_by_watch >= 2 {
            tracing::warn!(service = %self.service, source = self.source.name(), "the watch is silent; watching anew");
            self.missed_by_watch = 0;
            self.status.counters.watch_restarts += 1;
            self.subscription.close(round!(self, now));
        }
    }

    fn take_reading(&mut self, update: Update, reading: Reading, now: Instant) -> Verdict {
        let verdict = self.ledger.offer(&update, reading, now);
        let counters = &mut self.status.counters;
        if verdict == Verdict::Outdated {
            counters.outdated += 1;
            return verdict;
        }
        self.status.revision = self.ledger.revision();
        if *self.status.rejected != *update.rejected {
            counters.rejected_records += update.rejected.len() as u64;
            self.status.rejected = update.rejected.into();
        }
        match verdict {
            Verdict::Held { reason, until } => {
                tracing::warn!(service = %self.service, %reason, "suspicious state held back");
                counters.held += 1;
                self.reader.on_hold(now, until);
            }
            Verdict::Accepted { changed, ended } => {
                if let Some(ended) = ended {
                    self.on_hold_ended(ended, now);
                }
                if changed {
                    let confirmed = match ended {
                        Some(Ended::Confirmed(reason)) => Some(reason),
                        Some(Ended::Released(_)) | None => None,
                    };
                    self.accept(update.state, update.provenance, confirmed);
                } else {
                    self.status.counters.unchanged += 1;
                    self.status.provenance = Some(update.provenance);
                }
            }
            Verdict::StillHeld | Verdict::Outdated => {}
        }
        self.show_hold();
        verdict
    }

    fn on_hold_ended(&mut self, ended: Ended, now: Instant) {
        self.reader.on_hold_ended(now);
        match ended {
            Ended::Confirmed(reason) => {
                tracing::warn!(service = %self.service, %reason, "loss confirmed");
                self.status.counters.confirmed += 1;
            }
            Ended::Released(reason) => {
                tracing::info!(service = %self.service, %reason, "false loss dropped");
                self.status.counters.released += 1;
            }
        }
    }

    fn accept(
        &mut self,
        state: ServiceState,
        provenance: crate::Provenance,
        confirmed_loss: Option<HoldReason>,
    ) {
        self.status.counters.accepted += 1;
        self.status.provenance = Some(provenance.clone());
        self.status.duplicates = state.as_snapshot().map_or(0, |s| s.duplicates());
        self.change = Some(match state {
            ServiceState::NoSuchService => Event::NoSuchService,
            ServiceState::Instances(snapshot) => Event::Snapshot(Accepted {
                snapshot,
                revision: self.status.revision,
                provenance,
                confirmed_loss,
            }),
        });
    }

    /// A hold that begins or ends is an event; one whose reason changes on the way is not.
    fn show_hold(&mut self) {
        let held = self.ledger.hold().map(|hold| HoldStatus {
            reason: hold.reason,
            since: hold.since,
            until: hold.until,
        });
        self.status_changed |= held.is_some() != self.status.held.is_some();
        self.status.held = held;
    }

    fn on_contact(&mut self, now: Instant) {
        self.status.last_contact = Some(now);
        self.reader.on_contact(round!(self, now));
        if self.status.stale_since.take().is_some() {
            tracing::info!(service = %self.service, source = self.source.name(), "registry is back; data is fresh");
            self.status_changed = true;
        }
    }

    fn stale_at(&self) -> Option<Instant> {
        if self.status.is_stale() {
            return None;
        }
        let since = self.status.last_contact.or(self.started)?;
        Some(since + self.config.stale_after()?)
    }

    fn check_staleness(&mut self, now: Instant) {
        if self.stale_at().is_some_and(|at| at <= now) {
            tracing::warn!(service = %self.service, source = self.source.name(), "no contact with the registry; data is stale and stays in use");
            self.status.stale_since = Some(now);
            self.status.counters.stale += 1;
            self.status_changed = true;
        }
    }

    /// Sleeps until the next thing that time alone brings; ready when that is now.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let due = [
            self.subscription.deadline(),
            self.reader.deadline(),
            self.stale_at(),
        ];
        let Some(at) = due.into_iter().flatten().min() else {
            return Poll::Pending;
        };
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        if timer.deadline() != at {
            timer.as_mut().reset(at);
        }
        timer.as_mut().poll(cx)
    }
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervisor")
            .field("source", &self.source)
            .field("service", &self.service)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}
