use std::{
    future,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use ringfence_discovery::ErrorKind;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::{FAREWELL, Hub, Reading, Signals, Timing, within};
use crate::naming::{Record, Target};

/// Least time between two reads, so that a burst of changes costs a few.
const LEAST_PAUSE: Duration = Duration::from_millis(100);
/// Pause after a read that found a change, or whose subscription is new. The library announces nothing when a push says what it
/// last knew, which may be older than what was read here: a change that is taken back would go unnoticed. Longer than a server
/// gathers changes into one push and than the library takes to read for itself after subscribing, a second each.
const CONFIRM_PAUSE: Duration = Duration::from_secs(2);
/// Pause after a failed read. The library connects anew when it is asked, so asking often shortens an outage.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Pause after a read that the server refused: it will not change its mind at once.
const REFUSED_PAUSE: Duration = Duration::from_secs(5);

/// The task that reads one service for all who watch it.
pub(super) struct Reader {
    pub(super) hub: Arc<Hub>,
    pub(super) target: Target,
    pub(super) topic: u64,
    pub(super) signals: Arc<Signals>,
    pub(super) publish: watch::Sender<Option<Reading>>,
    pub(super) timing: Timing,
}

impl Reader {
    pub(super) async fn run(self) {
        let mut last: Option<Arc<[Record]>> = None;
        let mut links = None;
        loop {
            let cycle = self.cycle(&mut last, &mut links);
            tokio::select! {
                // A stop wins, or a busy service would hold it up.
                biased;
                () = self.signals.stop.notified() => {
                    if self.finish().await {
                        return;
                    }
                }
                () = cycle => {}
            }
        }
    }

    /// One read, published, and the pause after it.
    async fn cycle(
        &self,
        last: &mut Option<Arc<[Record]>>,
        links: &mut Option<watch::Receiver<u64>>,
    ) {
        let started = Instant::now();
        self.signals.reading.store(true, Ordering::Release);
        let announced = self.signals.wake.take_announced();
        let renewed = self.signals.renew.load(Ordering::Acquire);
        let reading = self.attempt().await;
        if links.is_none() {
            *links = self.hub.naming.links();
        }
        let pause = match &reading {
            Ok(records) => {
                let changed = last.as_ref().is_some_and(|last| !same(last, records));
                if changed && !announced && !self.signals.wake.take_announced() {
                    // Found by the periodic read alone. The library takes a subscription for made that was refused, and
                    // nothing tells; making it again costs one call.
                    self.signals.renew.store(true, Ordering::Release);
                }
                *last = Some(records.clone());
                if changed || renewed {
                    self.timing.poll_interval.min(CONFIRM_PAUSE)
                } else {
                    self.timing.poll_interval
                }
            }
            Err(failure) => {
                // What was subscribed may not be any more, on a server that restarted or that refused.
                self.signals.renew.store(true, Ordering::Release);
                match failure.kind() {
                    ErrorKind::Unauthorized => REFUSED_PAUSE,
                    _ => RETRY_PAUSE,
                }
            }
        };
        let healthy = reading.is_ok();
        // Before publishing, so that who joins in between asks for one read too many rather than for one too few.
        self.signals.reading.store(false, Ordering::Release);
        self.publish.send_replace(Some(reading));
        if healthy {
            self.hub.settle_orphan().await;
        }
        let next = Instant::now() + jittered(pause);
        tokio::select! {
            () = sleep_until(next) => {}
            () = self.signals.wake.woken() => {
                sleep_until(started + LEAST_PAUSE).await;
            }
            // An outage between two reads. The server may have forgotten what was subscribed, and the library tells nobody.
            () = relinked(links) => {
                self.signals.renew.store(true, Ordering::Release);
                sleep_until(Instant::now() + LEAST_PAUSE).await;
            }
        }
    }

    async fn attempt(&self) -> Reading {
        within(self.timing.read_timeout, async {
            if self.signals.renew.swap(false, Ordering::AcqRel) {
                let subscribe = self
                    .hub
                    .naming
                    .subscribe(&self.target, &self.signals.wake);
                if let Err(failure) = within(self.timing.read_timeout / 2, subscribe).await {
                    tracing::debug!(service = %self.target, reason = failure.message(), "subscription failed");
                    self.signals.renew.store(true, Ordering::Release);
                }
            }
            // A subscription without a list is worth nothing, a list without a subscription is late at worst.
            self.hub.naming.list(&self.target).await.map(Arc::from)
        })
        .await
    }

    /// Ends the subscription; whether nobody came back meanwhile, and the reader is to end.
    async fn finish(&self) -> bool {
        if self.hub.is_watched(&self.target, self.topic) {
            return false;
        }
        let farewell = self
            .hub
            .naming
            .unsubscribe(&self.target, &self.signals.wake);
        let ended = within(FAREWELL, farewell).await;
        if self.hub.retire(&self.target, self.topic, ended.is_ok()) {
            return true;
        }
        self.signals.renew.store(true, Ordering::Release);
        false
    }
}

/// Waits until the library loses its connection or has a new one.
async fn relinked(links: &mut Option<watch::Receiver<u64>>) {
    if let Some(links) = links
        && links.changed().await.is_ok()
    {
        return;
    }
    future::pending().await
}

/// Whether two lists say the same, in whatever order.
fn same(one: &[Record], other: &[Record]) -> bool {
    one.len() == other.len() && (one == other || one.iter().all(|record| other.contains(record)))
}

/// 80 to 120 % of a pause, so that a fleet does not read in step.
fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(0.8 + 0.4 * fastrand::f64())
}
