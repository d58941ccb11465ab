use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use futures_core::Stream;
use ringfence_discovery::{DiscoveryError, ErrorKind, ServiceKey, Update};
use tokio::sync::{mpsc, watch};

use super::ScriptedDiscovery;

/// What the clones of a source share.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Bumped on everything that [`ScriptedDiscovery::until`] may wait for.
    changes: watch::Sender<u64>,
}

/// What the source says next, and what it has been asked.
#[derive(Default)]
pub(super) struct State {
    pub(super) current: Option<Update>,
    pub(super) down: Option<ErrorKind>,
    pub(super) streams: Vec<mpsc::UnboundedSender<Said>>,
    pub(super) fetch_script: VecDeque<FetchAnswer>,
    pub(super) watched: Vec<ServiceKey>,
    pub(super) live_streams: usize,
    pub(super) fetches: usize,
    pub(super) live_fetches: usize,
}

/// An item of a stream, or what a fetch gives.
pub(super) type Said = Result<Update, DiscoveryError>;

/// What becomes of a fetch.
pub(super) enum FetchAnswer {
    Update(Update),
    Fail(ErrorKind),
    Hang,
}

pub(super) fn error(kind: ErrorKind) -> DiscoveryError {
    DiscoveryError::new(kind, ScriptedDiscovery::NAME, "the test says so")
}

impl Shared {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::default(),
            changes: watch::channel(0).0,
        }
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    fn watch(&self, service: &ServiceKey) -> mpsc::UnboundedReceiver<Said> {
        let (stream, said) = mpsc::unbounded_channel();
        let mut state = self.lock();
        state.watched.push(service.clone());
        state.live_streams += 1;
        if let Some(kind) = state.down {
            // The sender goes with this scope, so the stream ends behind the error.
            let _ = stream.send(Err(error(kind)));
        } else {
            if let Some(current) = &state.current {
                let _ = stream.send(Ok(current.clone()));
            }
            state.streams.push(stream);
        }
        drop(state);
        self.changed();
        said
    }

    pub(super) fn fetch(self: &Arc<Self>) -> (FetchAnswer, LiveFetch) {
        let mut state = self.lock();
        state.fetches += 1;
        state.live_fetches += 1;
        let scripted = state.fetch_script.pop_front();
        let answer = scripted.unwrap_or_else(|| match (state.down, &state.current) {
            (Some(kind), _) => FetchAnswer::Fail(kind),
            (None, Some(current)) => FetchAnswer::Update(current.clone()),
            (None, None) => FetchAnswer::Fail(ErrorKind::Unavailable),
        });
        drop(state);
        self.changed();
        (answer, LiveFetch(Arc::clone(self)))
    }
}

/// Counts a fetch as running.
pub(super) struct LiveFetch(Arc<Shared>);

impl Drop for LiveFetch {
    fn drop(&mut self) {
        self.0.lock().live_fetches -= 1;
        self.0.changed();
    }
}

/// A stream that registers itself when it is first polled.
pub(super) struct Watch {
    service: ServiceKey,
    shared: Arc<Shared>,
    said: Option<mpsc::UnboundedReceiver<Said>>,
}

impl Watch {
    pub(super) fn new(service: ServiceKey, shared: Arc<Shared>) -> Self {
        Self {
            service,
            shared,
            said: None,
        }
    }
}

impl Stream for Watch {
    type Item = Said;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Said>> {
        let this = self.get_mut();
        let said = this
            .said
            .get_or_insert_with(|| this.shared.watch(&this.service));
        said.poll_recv(cx)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.said.take().is_some() {
            let mut state = self.shared.lock();
            state.live_streams -= 1;
            state.streams.retain(|stream| !stream.is_closed());
            drop(state);
            self.shared.changed();
        }
    }
}
