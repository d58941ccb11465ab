//! One stream of a service for all who watch it. It has no task: whoever of them is polled moves it on, and all are woken.

mod error;
#[cfg(test)]
mod tests;
mod wakers;

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker},
    time::Duration,
};

use ringfence_discovery::{BoxStream, DiscoveryError, ErrorKind, ServiceKey, Update, unfold};
use tokio::time::Instant;

use self::wakers::{Ticket, Wakers};
use crate::NAME;

pub(crate) type Item = Result<Update, DiscoveryError>;

/// The streams that are watched now, by service.
pub(crate) struct SharedWatches {
    topics: Mutex<HashMap<ServiceKey, Weak<Topic>>>,
    fresh_for: Duration,
}

impl SharedWatches {
    /// `fresh_for`: for how long what a stream gave counts as the current state, for one who joins later.
    pub(crate) fn new(fresh_for: Duration) -> Arc<Self> {
        Arc::new(Self {
            topics: Mutex::default(),
            fresh_for,
        })
    }

    /// A stream of the states of a service: that of the others who watch it, joined at the first poll, or else a new one that
    /// `open` makes. It ends after an error, with those of the others; the next one to watch opens a new one.
    pub(crate) fn watch(
        self: &Arc<Self>,
        service: ServiceKey,
        open: impl Fn() -> BoxStream<'static, Item> + Send + 'static,
    ) -> BoxStream<'static, Item> {
        let home = Arc::clone(self);
        unfold(None, move |seat: Option<Seat>| {
            let seat = seat.unwrap_or_else(|| home.join(&service, &open));
            async move {
                let mut seat = seat;
                let item = std::future::poll_fn(|cx| seat.poll(cx)).await?;
                Some((item, Some(seat)))
            }
        })
    }

    fn join(
        self: &Arc<Self>,
        service: &ServiceKey,
        open: impl Fn() -> BoxStream<'static, Item>,
    ) -> Seat {
        let mut topics = lock(&self.topics);
        let known = topics.get(service).and_then(Weak::upgrade);
        if let Some(topic) = &known
            && let Some(seen) = topic.seen_by_newcomer(self.fresh_for)
        {
            return Seat::new(Arc::clone(topic), seen);
        }
        let topic = Arc::new(Topic {
            home: Arc::downgrade(self),
            service: service.clone(),
            state: Mutex::new(State {
                stream: Some(open()),
                count: 0,
                latest: None,
            }),
            wakers: Arc::default(),
        });
        topics.insert(service.clone(), Arc::downgrade(&topic));
        drop(topics);
        // Here at the latest, since the last one to go takes itself out of the map.
        drop(known);
        Seat::new(topic, 0)
    }
}

/// A stream that is watched, for as long as it has a seat.
struct Topic {
    home: Weak<SharedWatches>,
    service: ServiceKey,
    state: Mutex<State>,
    wakers: Arc<Wakers>,
}

struct State {
    /// `None`: it is over.
    stream: Option<BoxStream<'static, Item>>,
    /// Items that came so far.
    count: u64,
    latest: Option<(Instant, Result<Update, Arc<DiscoveryError>>)>,
}

impl Topic {
    /// How much of it one has seen who is to get the current state at once. `None`: the current state is not known here.
    fn seen_by_newcomer(&self, fresh_for: Duration) -> Option<u64> {
        let state = lock(&self.state);
        state.stream.as_ref()?;
        match &state.latest {
            None => Some(state.count),
            Some((at, _)) => (at.elapsed() <= fresh_for).then(|| state.count.saturating_sub(1)),
        }
    }

    /// What came after the `seen` first items: the newest, if it is there already, else by moving the stream on.
    fn poll(&self, seen: &mut u64, ticket: Ticket, waker: &Waker) -> Poll<Option<Item>> {
        let mut state = lock(&self.state);
        if state.count == *seen {
            self.wakers.keep(ticket, waker);
            let Some(stream) = state.stream.take() else {
                return Poll::Ready(None);
            };
            let Poll::Ready(item) = self.advance(&mut state, stream) else {
                return Poll::Pending;
            };
            state.count += 1;
            state.latest = Some((Instant::now(), item.map_err(Arc::new)));
            self.wakers.forget(ticket);
            self.wakers.wake_all();
        }
        *seen = state.count;
        let latest = state.latest.as_ref().map(|(_, item)| match item {
            Ok(update) => Ok(update.clone()),
            Err(error) => Err(error::told_again(error)),
        });
        Poll::Ready(latest)
    }

    /// Polls the stream, and puts it back unless it is over.
    fn advance(&self, state: &mut State, mut stream: BoxStream<'static, Item>) -> Poll<Item> {
        let waker = Waker::from(Arc::clone(&self.wakers));
        let mut cx = Context::from_waker(&waker);
        // What one watcher's runtime takes with it when it ends must not reach the others as a panic.
        let polled = catch_unwind(AssertUnwindSafe(|| stream.as_mut().poll_next(&mut cx)));
        let item = match polled {
            Ok(Poll::Pending) => {
                state.stream = Some(stream);
                return Poll::Pending;
            }
            Ok(Poll::Ready(Some(item))) => item,
            Ok(Poll::Ready(None)) => Err(over("the watch has ended")),
            Err(_) => Err(over("the watch panicked, or its runtime has ended")),
        };
        if item.is_ok() {
            state.stream = Some(stream);
        }
        Poll::Ready(item)
    }
}

fn over(message: &str) -> DiscoveryError {
    DiscoveryError::new(ErrorKind::Protocol, NAME, message)
}

impl Drop for Topic {
    fn drop(&mut self) {
        let Some(home) = self.home.upgrade() else {
            return;
        };
        let mut topics = lock(&home.topics);
        let own = std::ptr::from_ref(self);
        if topics
            .get(&self.service)
            .is_some_and(|found| std::ptr::eq(found.as_ptr(), own))
        {
            topics.remove(&self.service);
        }
    }
}

/// The place of one who watches.
struct Seat {
    topic: Arc<Topic>,
    ticket: Ticket,
    seen: u64,
}

impl Seat {
    fn new(topic: Arc<Topic>, seen: u64) -> Self {
        let ticket = topic.wakers.ticket();
        Self {
            topic,
            ticket,
            seen,
        }
    }

    fn poll(&mut self, cx: &Context<'_>) -> Poll<Option<Item>> {
        self.topic.poll(&mut self.seen, self.ticket, cx.waker())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.topic.wakers.forget(self.ticket);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whatever can panic under a lock is caught there.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
