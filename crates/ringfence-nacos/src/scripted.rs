//! A naming service that does what a test tells it to.

use std::{
    collections::{HashMap, VecDeque},
    future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ringfence_discovery::{BoxFuture, ErrorKind};
use tokio::{sync::watch, time::sleep};

use crate::{
    failure::Failure,
    naming::{Naming, Record, Target, Wake},
};

/// How a call is answered.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    List(Vec<Record>),
    Late(Duration, Vec<Record>),
    Fail(ErrorKind),
    Hang,
}

#[derive(Default)]
pub(crate) struct Scripted {
    state: Mutex<State>,
    links: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    next: VecDeque<Answer>,
    standing: Option<Answer>,
    deaf_unsubscribe: bool,
    /// Subscriptions that still fail.
    failing_subscribes: usize,
    subscribed: HashMap<Target, Arc<Wake>>,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) lists: usize,
    pub(crate) subscribes: usize,
    pub(crate) unsubscribes: usize,
}

impl Scripted {
    pub(crate) fn new(standing: Answer) -> Arc<Self> {
        let scripted = Self::default();
        scripted.lock().standing = Some(standing);
        Arc::new(scripted)
    }

    /// What every read gives from now on.
    pub(crate) fn stand(&self, answer: Answer) {
        self.lock().standing = Some(answer);
    }

    /// What the next read gives, after those given before.
    pub(crate) fn then(&self, answer: Answer) {
        self.lock().next.push_back(answer);
    }

    /// Announces a change to all who subscribed, as often as said.
    pub(crate) fn announce(&self, times: usize) {
        for wake in self.lock().subscribed.values() {
            for _ in 0..times {
                wake.announce();
            }
        }
    }

    /// The server forgets all subscriptions, as one that was restarted does.
    pub(crate) fn forget(&self) {
        self.lock().subscribed.clear();
    }

    /// The next subscriptions fail, so many of them.
    pub(crate) fn fail_subscribes(&self, times: usize) {
        self.lock().failing_subscribes = times;
    }

    /// The connection was cut and made anew, and no read failed.
    pub(crate) fn relink(&self) {
        self.links.send_modify(|links| *links += 1);
    }

    pub(crate) fn hang_unsubscribes(&self, hang: bool) {
        self.lock().deaf_unsubscribe = hang;
    }

    pub(crate) fn counts(&self) -> Counts {
        self.lock().counts
    }

    pub(crate) fn subscriptions(&self) -> usize {
        self.lock().subscribed.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Naming for Scripted {
    fn links(&self) -> Option<watch::Receiver<u64>> {
        Some(self.links.subscribe())
    }

    fn list<'a>(&'a self, _: &'a Target) -> BoxFuture<'a, Result<Vec<Record>, Failure>> {
        let answer = {
            let mut state = self.lock();
            state.counts.lists += 1;
            let next = state.next.pop_front();
            next.or_else(|| state.standing.clone())
        };
        Box::pin(async move {
            match answer {
                Some(Answer::List(list)) => Ok(list),
                Some(Answer::Late(after, list)) => {
                    sleep(after).await;
                    Ok(list)
                }
                Some(Answer::Fail(kind)) => Err(Failure::new(kind, "as told")),
                Some(Answer::Hang) | None => future::pending().await,
            }
        })
    }

    fn subscribe<'a>(
        &'a self,
        target: &'a Target,
        wake: &'a Arc<Wake>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        let mut state = self.lock();
        state.counts.subscribes += 1;
        if state.failing_subscribes > 0 {
            state.failing_subscribes -= 1;
            let failure = Failure::new(ErrorKind::Unavailable, "as told");
            return Box::pin(future::ready(Err(failure)));
        }
        state.subscribed.insert(target.clone(), wake.clone());
        Box::pin(future::ready(Ok(())))
    }

    fn unsubscribe<'a>(
        &'a self,
        target: &'a Target,
        _: &'a Arc<Wake>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        let mut state = self.lock();
        state.counts.unsubscribes += 1;
        if state.deaf_unsubscribe {
            return Box::pin(future::pending());
        }
        state.subscribed.remove(target);
        Box::pin(future::ready(Ok(())))
    }
}

/// A healthy instance at this port.
pub(crate) fn record(port: i64) -> Record {
    Record {
        ip: "10.0.0.1".to_owned(),
        port,
        weight: 1.0,
        healthy: true,
        enabled: true,
        cluster: "DEFAULT".to_owned(),
        metadata: Vec::new(),
    }
}

pub(crate) fn records(ports: impl IntoIterator<Item = i64>) -> Vec<Record> {
    ports.into_iter().map(record).collect()
}
