//! Reading the copy at the start, beside the watch.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::Instant,
};

use super::super::ledger::Reading;
use crate::{
    DiskSnapshots, Update,
    disk::{DiskCopy, Store, Unfit},
};

/// How long a first live state without instances waits for the copy to be read, which may say that this is a loss.
const EMPTY_WAITS: Duration = Duration::from_secs(1);

pub(super) struct Bridge {
    copy: Copy,
    use_at: Instant,
    empty_waits_until: Instant,
    /// The newest live state, while it has no instances and waits for the copy.
    empty: Option<(Update, Reading)>,
}

enum Copy {
    BeingRead(JoinHandle<Result<Option<DiskCopy>, Unfit>>),
    Ready(DiskCopy, Instant),
    None,
}

/// What is to be done with a live state while nothing is in use.
pub(super) enum Advice {
    /// Judge it.
    Judge,
    /// Judge it with the copy as what was in use before.
    JudgeAgainst(DiskCopy),
    /// It is put off until the copy is read.
    Wait,
}

impl Bridge {
    pub(super) fn new(store: Arc<Store>, config: &DiskSnapshots, now: Instant) -> Self {
        Self {
            copy: Copy::BeingRead(spawn_blocking(move || store.read(SystemTime::now()))),
            use_at: now + config.use_after(),
            empty_waits_until: now + EMPTY_WAITS,
            empty: None,
        }
    }

    /// Carries on with reading the file; an error when there is one that is not used.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, now: Instant) -> Result<(), Unfit> {
        let Copy::BeingRead(read) = &mut self.copy else {
            return Ok(());
        };
        let Poll::Ready(read) = Pin::new(read).poll(cx) else {
            return Ok(());
        };
        self.copy = Copy::None;
        let copy = read.unwrap_or_else(|error| Err(Unfit::Io(std::io::Error::other(error))))?;
        // One without instances bridges nothing: callers would fail at once instead of waiting for the registry.
        if let Some(copy) = copy.filter(|copy| !copy.snapshot.is_empty()) {
            self.copy = Copy::Ready(copy, now);
        }
        Ok(())
    }

    /// A live state came and nothing is in use.
    pub(super) fn on_live(&mut self, update: &Update, reading: Reading, now: Instant) -> Advice {
        self.empty = None;
        if update.state.instance_count() > 0 {
            return Advice::Judge;
        }
        if matches!(self.copy, Copy::BeingRead(_)) && now < self.empty_waits_until {
            self.empty = Some((update.clone(), reading));
            return Advice::Wait;
        }
        self.take(now).map_or(Advice::Judge, Advice::JudgeAgainst)
    }

    /// The state that was put off, once it need not wait any more.
    pub(super) fn take_empty(&mut self, now: Instant) -> Option<(Update, Reading)> {
        let waits = matches!(self.copy, Copy::BeingRead(_)) && now < self.empty_waits_until;
        if waits { None } else { self.empty.take() }
    }

    /// The copy, when it is time to use it: after the wait for the registry, or at once if that `failed`.
    pub(super) fn take_due(&mut self, failed: bool, now: Instant) -> Option<DiskCopy> {
        if failed || self.use_at <= now {
            self.take(now)
        } else {
            None
        }
    }

    fn take(&mut self, now: Instant) -> Option<DiskCopy> {
        match std::mem::replace(&mut self.copy, Copy::None) {
            Copy::Ready(mut copy, read_at) => {
                copy.age += now.saturating_duration_since(read_at);
                Some(copy)
            }
            other => {
                self.copy = other;
                None
            }
        }
    }

    /// Live data is in use. A file that is still being read is only looked at to tell what is wrong with it.
    pub(super) fn retire(&mut self) {
        self.empty = None;
        if matches!(self.copy, Copy::Ready(..)) {
            self.copy = Copy::None;
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.copy {
            Copy::BeingRead(_) => self.empty.as_ref().map(|_| self.empty_waits_until),
            Copy::Ready(..) => Some(self.use_at),
            Copy::None => None,
        }
    }
}

#[cfg(test)]
mod tests;
