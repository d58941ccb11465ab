use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::{Answer, Behaviour, OnConnect, Recorded, end::Connection};

/// What a backend's tasks share.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Bumped on everything that [`super::Backend::until`] may wait for.
    changes: watch::Sender<u64>,
    tls: Option<TlsAcceptor>,
}

/// The script, and what has happened so far.
pub(super) struct State {
    pub(super) script: VecDeque<Behaviour>,
    pub(super) always: Behaviour,
    pub(super) connections: VecDeque<OnConnect>,
    pub(super) on_connect: OnConnect,
    pub(super) requests: Vec<Recorded>,
    pub(super) in_flight: usize,
    pub(super) accepted: u64,
    pub(super) open: Vec<Connection>,
}

impl Shared {
    pub(super) fn new(tls: Option<TlsAcceptor>) -> Self {
        Self {
            state: Mutex::new(State {
                script: VecDeque::new(),
                always: Answer::ok("ok").into(),
                connections: VecDeque::new(),
                on_connect: OnConnect::default(),
                requests: Vec::new(),
                in_flight: 0,
                accepted: 0,
                open: Vec::new(),
            }),
            changes: watch::channel(0).0,
            tls,
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

    pub(super) fn tls(&self) -> Option<&TlsAcceptor> {
        self.tls.as_ref()
    }

    /// Counts a new connection, with the guard that counts its end.
    pub(super) fn connection(self: &Arc<Self>) -> (Connection, OpenConnection) {
        let mut state = self.lock();
        let number = state.accepted;
        state.accepted += 1;
        let connection = Connection::new(number);
        state.open.push(connection.clone());
        drop(state);
        self.changed();
        let open = OpenConnection {
            shared: Arc::clone(self),
            number,
        };
        (connection, open)
    }

    pub(super) fn next_connection(&self) -> OnConnect {
        let mut state = self.lock();
        let scripted = state.connections.pop_front();
        scripted.unwrap_or(state.on_connect)
    }

    /// Records a request; returns its index, what to do with it, and the guard that counts its end.
    pub(super) fn request(self: &Arc<Self>, request: Recorded) -> (usize, Behaviour, InFlight) {
        let mut state = self.lock();
        let index = state.requests.len();
        state.requests.push(request);
        state.in_flight += 1;
        let scripted = state.script.pop_front();
        let behaviour = scripted.unwrap_or_else(|| state.always.clone());
        drop(state);
        self.changed();
        (index, behaviour, InFlight(Arc::clone(self)))
    }

    fn update(&self, index: usize, update: impl FnOnce(&mut Recorded)) {
        if let Some(request) = self.lock().requests.get_mut(index) {
            update(request);
        }
        self.changed();
    }

    pub(super) fn received(&self, index: usize, data: &Bytes) {
        self.update(index, |request| {
            let mut body = BytesMut::from(std::mem::take(&mut request.body));
            body.extend_from_slice(data);
            request.body = body.freeze();
        });
    }

    pub(super) fn trailers(&self, index: usize, trailers: HeaderMap) {
        self.update(index, |request| request.trailers = Some(trailers));
    }

    pub(super) fn complete(&self, index: usize) {
        self.update(index, |request| request.body_complete = true);
    }
}

/// Counts a connection as open.
pub(super) struct OpenConnection {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state
            .open
            .retain(|connection| connection.number() != self.number);
        drop(state);
        self.shared.changed();
    }
}

/// Counts a request as in flight.
pub(super) struct InFlight(Arc<Shared>);

impl fmt::Debug for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InFlight")
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.lock().in_flight -= 1;
        self.0.changed();
    }
}
