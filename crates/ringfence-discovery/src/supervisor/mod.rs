//! Watching one service for as long as its owner cares.

mod absorb;
pub(crate) mod backoff;
#[cfg(feature = "disk")]
mod disk;
mod guard;
pub(crate) mod guarded;
mod inquiry;
mod ledger;
mod reader;
mod rejects;
mod subscription;

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::time::{Instant, Sleep};

use self::{inquiry::Inquiry, ledger::Ledger, reader::Reader, subscription::Subscription};
use crate::{Discovery, Event, ServiceKey, WatchConfig, WatchStatus};

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
///   With a [probe](Self::with_loss_probe) the lost instances are asked, too, which makes the hold longer or shorter.
/// - Without contact for [`WatchConfig::stale_after`] the data counts as stale, and stays in use.
/// - A panic of the source counts as an error of kind [`ErrorKind::Protocol`](crate::ErrorKind::Protocol).
///
/// - With `WatchConfig::with_disk_snapshots` a copy of the last confirmed list bridges a start without the registry.
///
/// It is one object without tasks: everything happens while [`next`](Self::next) is polled, and dropping it ends the watch, the
/// reads and the timers. Only the file jobs of such a copy run on tokio's threads for blocking work, one read and one write at
/// a time; one that is under way when the supervisor is dropped comes to its end.
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
    inquiry: Option<Inquiry>,
    status: WatchStatus,
    /// Reads in a row that found what the watch had not announced.
    missed_by_watch: u8,
    /// Start of the wait for the first contact.
    started: Option<Instant>,
    change: Option<Event>,
    status_changed: bool,
    #[cfg(feature = "disk")]
    disk: Option<disk::Disk>,
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

use round;

impl Supervisor {
    /// Sets up the supervision of `service`; nothing is asked before the first [`next`](Self::next).
    pub fn new(source: Arc<dyn Discovery>, service: ServiceKey, config: WatchConfig) -> Self {
        Self {
            subscription: Subscription::new(&config),
            reader: Reader::new(&config),
            ledger: Ledger::new(&config),
            inquiry: None,
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
            #[cfg(feature = "disk")]
            disk: None,
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
                #[cfg(feature = "disk")]
                self.start_disk(now);
            }
            let busy =
                self.poll_watch(cx, now) | self.poll_reader(cx, now) | self.poll_inquiry(cx, now);
            #[cfg(feature = "disk")]
            let busy = busy | self.poll_disk(cx, now);
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

    /// Sleeps until the next thing that time alone brings; ready when that is now.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let due = [
            self.subscription.deadline(),
            self.reader.deadline(),
            self.stale_at(),
            self.inquiry_deadline(),
            #[cfg(feature = "disk")]
            self.disk_deadline(),
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
