use std::{
    collections::VecDeque,
    sync::{
        Mutex, PoisonError,
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
}

/// Between two calls that are looked at.
const INTERVAL: Duration = Duration::from_millis(10);

/// Looks at few calls, and at none before somebody has asked.
#[derive(Debug)]
pub(super) struct Samples {
    is_on: AtomicBool,
    since: Instant,
    /// When the next one is due, in milliseconds.
    next: AtomicU64,
    ended: ArrayQueue<DecisionSample>,
    kept: Mutex<VecDeque<DecisionSample>>,
}

impl Samples {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            is_on: AtomicBool::new(false),
            since: now,
            next: AtomicU64::new(0),
            ended: ArrayQueue::new(DecisionSample::KEPT),
            kept: Mutex::default(),
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Whether the call that begins now is looked at.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        if !self.is_on() {
            return false;
        }
        let past = now.saturating_duration_since(self.since);
        let past = u64::try_from(past.as_millis()).unwrap_or(u64::MAX);
        let next = self.next.load(Ordering::Relaxed);
        let interval = u64::try_from(INTERVAL.as_millis()).unwrap_or(u64::MAX);
        let order = Ordering::Relaxed;
        past >= next
            && self
                .next
                .compare_exchange(next, past.saturating_add(interval), order, order)
                .is_ok()
    }

    /// Never waits: where nobody has read those before it, it is left out.
    pub(super) fn push(&self, sample: DecisionSample) {
        let _ = self.ended.push(sample);
    }

    /// Keeps the newest of what came since the last time.
    pub(super) fn fold(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// The newest, the oldest of them first. From now on there will be some.
    pub(super) fn newest(&self) -> Vec<DecisionSample> {
        self.is_on.store(true, Ordering::Relaxed);
        self.fold();
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().cloned().collect()
    }
}
