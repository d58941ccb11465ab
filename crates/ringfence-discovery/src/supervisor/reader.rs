//! Reads beside the watch: when the next one is due, and the one under way.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    Env,
    backoff::{Backoff, between, jittered},
    ledger::Mark,
};
use crate::{BoxFuture, DiscoveryError, ErrorKind, Update, WatchConfig};

/// A watch that has said nothing for so long after the start is helped by a read.
const FIRST_READ_AFTER: Duration = Duration::from_secs(1);
/// Least time between two things settled by a read.
const SETTLE_SPACING: Duration = Duration::from_secs(1);

pub(crate) struct Reader {
    under_way: Option<UnderWay>,
    backoff: Backoff,
    /// Next read for the sake of regularity.
    resync_at: Option<Instant>,
    /// Next read because nothing was heard.
    probe_at: Option<Instant>,
    /// Next read because something must be settled: a hold or a contradiction.
    settle_at: Option<Instant>,
    /// When something was settled last.
    settled_at: Option<Instant>,
    /// The end of a hold, when one more read settles it.
    hold_ends_at: Option<Instant>,
}

struct UnderWay {
    read: BoxFuture<'static, Result<Update, DiscoveryError>>,
    sent: Mark,
    times_out_at: Instant,
}

impl Reader {
    pub(crate) fn new(config: &WatchConfig) -> Self {
        Self {
            under_way: None,
            backoff: Backoff::new(config.backoff_base(), config.backoff_max()),
            resync_at: None,
            probe_at: None,
            settle_at: None,
            settled_at: None,
            hold_ends_at: None,
        }
    }

    pub(crate) fn start(&mut self, env: &mut Env<'_>) {
        self.plan_resync(env);
        self.probe_at = Some(env.now + FIRST_READ_AFTER);
    }

    /// The next time at which [`poll`](Self::poll) has something to do of itself.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        if let Some(under_way) = &self.under_way {
            return Some(under_way.times_out_at);
        }
        [
            self.resync_at,
            self.probe_at,
            self.settle_at,
            self.hold_ends_at,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The registry was heard: it need not be probed for a while.
    pub(crate) fn on_contact(&mut self, env: &mut Env<'_>) {
        self.probe_at = env
            .config
            .stale_after()
            .map(|after| env.now + between(env.rng, after / 2, after / 4 * 3));
    }

    /// A hold began: read at once and again at its end. What a read sent earlier will say does not count.
    pub(crate) fn on_hold(&mut self, now: Instant, until: Instant) {
        self.under_way = None;
        self.settle_at = Some(self.settle_time(now));
        self.hold_ends_at = Some(until);
    }

    /// The hold lasts longer than it was to.
    pub(crate) fn on_hold_extended(&mut self, until: Instant) {
        self.hold_ends_at = Some(until);
    }

    /// The hold ended by a reading.
    pub(crate) fn on_hold_ended(&mut self, now: Instant) {
        self.settled_at = Some(now);
        self.settle_at = None;
        self.hold_ends_at = None;
    }

    /// The watch contradicts itself: read to settle it. What a read sent earlier will say does not count.
    pub(crate) fn on_contradiction(&mut self, now: Instant) {
        if self.settle_at.is_none() {
            self.under_way = None;
            self.settle_at = Some(self.settle_time(now));
        }
    }

    /// At once, but a source that flaps does not turn into a storm of reads.
    fn settle_time(&self, now: Instant) -> Instant {
        self.settled_at
            .map_or(now, |last| now.max(last + SETTLE_SPACING))
    }

    /// A read succeeded, and `settled` says whether what it said was used.
    pub(crate) fn on_success(&mut self, settled: bool, env: &mut Env<'_>) {
        self.plan_resync(env);
        if settled {
            self.backoff.reset();
            if self.settle_at.take().is_some() {
                self.settled_at = Some(env.now);
            }
        } else if self.settle_at.is_some() {
            self.settle_at = Some(env.now + self.backoff.next_wait(env.rng));
        }
    }

    fn on_failure(&mut self, env: &mut Env<'_>) {
        let again = env.now + self.backoff.next_wait(env.rng);
        // What only regularity asked for waits for its next turn.
        if self.resync_at.is_some_and(|at| at <= env.now) {
            self.plan_resync(env);
        }
        for at in [&mut self.probe_at, &mut self.settle_at] {
            if at.is_some_and(|at| at <= again) {
                *at = Some(again);
            }
        }
    }

    fn plan_resync(&mut self, env: &mut Env<'_>) {
        self.resync_at = env.config.resync_interval().map(|interval| {
            env.now + jittered(env.rng, interval, env.config.resync_jitter_percent())
        });
    }

    /// Sends a read where one is due and polls the one under way. `Pending` means that there is nothing to do before
    /// [`deadline`](Self::deadline) unless the read wakes the task.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mark: Mark,
        env: &mut Env<'_>,
    ) -> Poll<Result<(Update, Mark), Arc<DiscoveryError>>> {
        if self.hold_ends_at.is_some_and(|at| at <= env.now) {
            self.hold_ends_at = None;
            self.settle_at = Some(env.now);
        }
        if self.under_way.is_none() && self.deadline().is_some_and(|at| at <= env.now) {
            match env.guarded(|| env.source.fetch(env.service)) {
                Ok(read) => {
                    self.under_way = Some(UnderWay {
                        read,
                        sent: mark,
                        times_out_at: env.now + env.config.fetch_timeout(),
                    });
                }
                Err(error) => {
                    self.on_failure(env);
                    return Poll::Ready(Err(Arc::new(error)));
                }
            }
        }
        let Some(under_way) = &mut self.under_way else {
            return Poll::Pending;
        };
        let outcome = match env.guarded(|| under_way.read.as_mut().poll(cx)) {
            Ok(Poll::Ready(Ok(update))) => Ok((update, under_way.sent)),
            Ok(Poll::Ready(Err(error))) | Err(error) => Err(Arc::new(error)),
            Ok(Poll::Pending) if under_way.times_out_at <= env.now => {
                Err(Arc::new(DiscoveryError::new(
                    ErrorKind::Unavailable,
                    env.source.name(),
                    format!("no answer within {:?}", env.config.fetch_timeout()),
                )))
            }
            Ok(Poll::Pending) => return Poll::Pending,
        };
        self.under_way = None;
        if outcome.is_err() {
            self.on_failure(env);
        }
        Poll::Ready(outcome)
    }
}
