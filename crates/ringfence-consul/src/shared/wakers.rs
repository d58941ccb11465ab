//! The tasks that wait for a shared stream, woken together.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Wake, Waker},
};

/// Tells apart those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

#[derive(Default)]
pub(super) struct Wakers(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    next: u64,
    by_ticket: BTreeMap<Ticket, Waker>,
}

impl Wakers {
    pub(super) fn ticket(&self) -> Ticket {
        let mut waiting = self.lock();
        waiting.next += 1;
        Ticket(waiting.next)
    }

    /// Wakes this task with the next call.
    pub(super) fn keep(&self, ticket: Ticket, waker: &Waker) {
        let mut waiting = self.lock();
        let kept = waiting.by_ticket.get(&ticket);
        if kept.is_some_and(|kept| kept.will_wake(waker)) {
            return;
        }
        let outdated = waiting.by_ticket.insert(ticket, waker.clone());
        drop(waiting);
        drop(outdated);
    }

    pub(super) fn forget(&self, ticket: Ticket) {
        let gone = self.lock().by_ticket.remove(&ticket);
        drop(gone);
    }

    pub(super) fn wake_all(&self) {
        // Each keeps its waker anew when it is polled. As everywhere here, the lock is free before a waker is used or dropped, since
        // both may run what others wrote.
        let waiting = mem::take(&mut self.lock().by_ticket);
        waiting.into_values().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Wakers {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_all();
    }
}
