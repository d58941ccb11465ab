//! The watch stream of a source: opened, drained to its newest update, and opened anew after a backoff.

use std::{
    mem,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::time::Instant;

use super::{
    Env,
    backoff::Backoff,
    ledger::{Mark, Reading},
};
use crate::{BoxStream, DiscoveryError, ErrorCounts, ErrorKind, Update, WatchConfig};

/// Most items taken from a stream in one go, so that one that is always ready does not starve the reads.
const DRAIN_LIMIT: usize = 1_024;

/// What polling the watch brought.
#[derive(Default)]
pub(crate) struct Drained {
    /// The newest update and how it was made.
    pub(crate) newest: Option<(Update, Reading)>,
    /// Updates before the newest.
    pub(crate) superseded: u64,
    /// Errors yielded.
    pub(crate) errors: ErrorCounts,
    /// Why the watch does not work at the end of this, if it does not.
    pub(crate) failure: Option<Arc<DiscoveryError>>,
    /// The stream was given up.
    pub(crate) closed: bool,
    /// There may be more right now.
    pub(crate) more: bool,
}

impl Drained {
    fn fail(&mut self, error: DiscoveryError) {
        self.errors.count(error.kind());
        self.failure = Some(Arc::new(error));
    }
}

pub(crate) struct Subscription {
    state: State,
    backoff: Backoff,
}

enum State {
    Waiting { until: Option<Instant> },
    Open(Open),
}

struct Open {
    stream: BoxStream<'static, Result<Update, DiscoveryError>>,
    since: Instant,
    mark: Mark,
    delivered: bool,
    last_error: Option<Instant>,
}

impl Subscription {
    pub(crate) fn new(config: &WatchConfig) -> Self {
        Self {
            state: State::Waiting { until: None },
            backoff: Backoff::new(config.backoff_base(), config.backoff_max()),
        }
    }

    /// When the watch is to be opened next, while it is not open.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Waiting { until } => until,
            State::Open(_) => None,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Opens the watch where it is due, and takes all that it has ready.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, mark: Mark, env: &mut Env<'_>) -> Drained {
        let mut drained = Drained::default();
        if let State::Waiting { until } = self.state
            && until.is_none_or(|until| until <= env.now)
        {
            match env.guarded(|| env.source.watch(env.service)) {
                Ok(stream) => {
                    self.state = State::Open(Open {
                        stream,
                        since: env.now,
                        mark,
                        delivered: false,
                        last_error: None,
                    });
                }
                Err(error) => {
                    drained.fail(error);
                    drained.closed = true;
                    self.close(env);
                }
            }
        }
        let State::Open(open) = &mut self.state else {
            return drained;
        };
        if open.drain(cx, env, &mut drained) {
            drained.closed = true;
            self.close(env);
        }
        drained
    }

    /// Drops the stream and waits before the next one.
    pub(crate) fn close(&mut self, env: &mut Env<'_>) {
        if let State::Open(open) = mem::replace(&mut self.state, State::Waiting { until: None })
            // A stream that delivers and dies at once, over and over, is no recovery.
            && open.delivered
            && env.now.duration_since(open.since) >= env.config.backoff_base()
        {
            self.backoff.reset();
        }
        self.state = State::Waiting {
            until: Some(env.now + self.backoff.next_wait(env.rng)),
        };
    }
}

impl Open {
    /// Whether the stream is to be given up.
    fn drain(&mut self, cx: &mut Context<'_>, env: &Env<'_>, drained: &mut Drained) -> bool {
        let starting = !self.delivered;
        for _ in 0..DRAIN_LIMIT {
            let polled = match env.guarded(|| self.stream.as_mut().poll_next(cx)) {
                Ok(polled) => polled,
                Err(error) => {
                    drained.fail(error);
                    return true;
                }
            };
            match polled {
                Poll::Pending => return false,
                Poll::Ready(None) => {
                    drained.failure.get_or_insert_with(|| {
                        Arc::new(DiscoveryError::new(
                            ErrorKind::Unavailable,
                            env.source.name(),
                            "the watch ended",
                        ))
                    });
                    return true;
                }
                Poll::Ready(Some(Ok(update))) => {
                    let reading = if starting {
                        Reading::WatchStart(self.mark)
                    } else {
                        Reading::Watch
                    };
                    self.delivered = true;
                    drained.superseded += u64::from(drained.newest.is_some());
                    drained.newest = Some((update, reading));
                    drained.failure = None;
                }
                Poll::Ready(Some(Err(error))) => {
                    drained.fail(error);
                    let hasty = self.last_error.replace(env.now).is_some_and(|last| {
                        env.now.duration_since(last) < env.config.backoff_base()
                    });
                    if hasty {
                        return true;
                    }
                }
            }
        }
        drained.more = true;
        false
    }
}
