use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use crossbeam_queue::ArrayQueue;
use ringfence_core::{InstanceId, KeyHash};

use super::{CallOutcome, PoolLabel};

/// A call that was looked at: one of a small number, for people who want to see what happens.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DecisionSample {
    /// When it ended.
    pub at: SystemTime,
    /// The view that it was decided by; 0 where there was none.
    pub epoch: u64,
    /// The pool that it went to.
    pub pool: PoolLabel,
    /// Hash of its key, if it had one: the key itself is kept nowhere.
    pub key_hash: Option<KeyHash>,
    /// Where the key came from, such as `header x-user`; `None` without a key.
    pub key_source: Option<String>,
    /// The instance of the last attempt.
    pub instance: Option<InstanceId>,
    /// Attempts that were begun.
    pub attempts: u32,
    /// How it ended.
    pub outcome: CallOutcome,
    /// From its begin to its end.
    pub took: Duration,
}

impl DecisionSample {
    /// The most that a balancer keeps.
    pub const KEPT: usize = 64;
    /// How long a balancer goes on looking at calls when nobody asks for them any more: a minute.
    pub const LOOKED_AT_FOR: Duration = Duration::from_secs(60);
}

/// Between two calls that are looked at.
const INTERVAL: Duration = Duration::from_millis(10);

/// Looks at few calls, and at none unless somebody has asked lately.
#[derive(Debug)]
pub(super) struct Samples {
    is_on: AtomicBool,
    since: Instant,
    /// When the next one is due, in milliseconds.
    next: AtomicU64,
    /// When somebody asked last, in milliseconds.
    asked: AtomicU64,
    ended: ArrayQueue<DecisionSample>,
    kept: Mutex<VecDeque<DecisionSample>>,
}

impl Samples {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            is_on: AtomicBool::new(false),
            since: now,
            next: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            ended: ArrayQueue::new(DecisionSample::KEPT),
            kept: Mutex::default(),
        }
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Whether the call that begins now is looked at.
    #[inline]
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.is_on() && self.takes_turn(now)
    }

    #[cold]
    fn takes_turn(&self, now: Instant) -> bool {
        let past = self.past(now);
        let next = self.next.load(Ordering::Relaxed);
        let interval = ms(INTERVAL);
        let order = Ordering::Relaxed;
        past >= next
            && self
                .next
                .compare_exchange(next, past.saturating_add(interval), order, order)
                .is_ok()
    }

    fn past(&self, now: Instant) -> u64 {
        ms(now.saturating_duration_since(self.since))
    }

    /// Never waits: where nobody has read those before it, it is left out.
    pub(super) fn push(&self, sample: DecisionSample) {
        let _ = self.ended.push(sample);
    }

    /// Keeps the newest of what came since the last time, and nothing once nobody has asked for long.
    pub(super) fn fold(&self, now: Instant) {
        if !self.is_on() {
            return;
        }
        let idle = self
            .past(now)
            .saturating_sub(self.asked.load(Ordering::Relaxed));
        if idle >= ms(DecisionSample::LOOKED_AT_FOR) {
            self.is_on.store(false, Ordering::Relaxed);
        }
        self.gather();
        if !self.is_on() {
            self.kept().clear();
        }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<DecisionSample>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gather(&self) {
        let mut kept = self.kept();
        for _ in 0..DecisionSample::KEPT {
            let Some(sample) = self.ended.pop() else {
                break;
            };
            if kept.len() == DecisionSample::KEPT {
                kept.pop_front();
            }
            kept.push_back(sample);
        }
    }

    /// The newest, the oldest of them first. From now on there will be some, for a while.
    pub(super) fn newest(&self, now: Instant) -> Vec<DecisionSample> {
        self.asked.store(self.past(now), Ordering::Relaxed);
        self.is_on.store(true, Ordering::Relaxed);
        self.gather();
        self.kept().iter().cloned().collect()
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
