//! When a connection ends that nobody has closed.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ringfence_balancer::Presence;
use tokio::time::{Instant, sleep_until};

use super::counted::Tally;
use super::options::Options;
use super::when_woken::WhenWoken;

/// Why it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Nobody used it.
    Idle,
    /// Its instance has left the service, and the limit for what still ran is over.
    Drained,
}

/// Completes when the connection is to end. It is polled by the connection itself, so that there is nothing else to be ended.
pub(super) type Lifetime = WhenWoken<End>;

/// The settings of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    idle_timeout: Option<Duration>,
    drain_limit: Option<Duration>,
}

/// How often an idle connection is looked at in its time.
const LOOKS: u32 = 4;

impl Limits {
    pub(super) fn of(options: &Options) -> Self {
        Self {
            idle_timeout: options.idle_timeout,
            drain_limit: options.drain_limit,
        }
    }

    pub(super) fn lifetime(self, presence: Presence, tally: Arc<Tally>) -> Lifetime {
        let drained = drained(self.drain_limit, presence.clone());
        let idle = idle(self.idle_timeout, presence, tally);
        WhenWoken::new(async move {
            let (mut drained, mut idle) = (pin!(drained), pin!(idle));
            poll_fn(|cx| {
                if drained.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(End::Drained);
                }
                idle.as_mut().poll(cx).map(|()| End::Idle)
            })
            .await
        })
    }
}

async fn drained(limit: Option<Duration>, mut presence: Presence) {
    match limit {
        Some(limit) => presence.away_for(limit).await,
        None => pending().await,
    }
}

/// A timer for each request would cost more than to look from time to time whether there were any.
async fn idle(timeout: Option<Duration>, presence: Presence, tally: Arc<Tally>) {
    let Some(timeout) = timeout else {
        return pending().await;
    };
    let mut uses = tally.uses();
    let mut last_use = Instant::now();
    loop {
        sleep_until(Instant::now() + timeout / LOOKS).await;
        let now = Instant::now();
        let uses_now = tally.uses();
        if uses_now != uses || presence.in_flight() > 0 {
            uses = uses_now;
            last_use = now;
        } else if now - last_use >= timeout {
            return;
        }
    }
}
