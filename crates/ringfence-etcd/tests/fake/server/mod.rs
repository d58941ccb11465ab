//! An etcd that does as it is told.

mod auth;
mod services;

use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use etcd_client::proto::{
    PbEvent, PbKeyValue, PbKvServer, PbLeaseServer, PbResponseHeader, PbWatchResponse,
    PbWatchServer,
};
use tokio::{net::TcpListener, sync::mpsc, task::JoinHandle};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Code, Status, transport::Server};

/// What a new watch does.
#[derive(Clone, Debug)]
pub(crate) enum OnWatch {
    /// Works.
    Live,
    /// Is told in the message of its creation that its start is compacted.
    Compacted,
    /// Is told in the message of its creation that it is over.
    Cancelled(&'static str),
    /// Is created, and then nothing more comes, not even an answer.
    Silent,
    /// Nothing comes at all, not even headers.
    Hang,
    /// The call itself fails.
    Fail(Code, &'static str),
}

/// What a call does that is no watch.
#[derive(Clone, Debug)]
pub(crate) enum OnCall {
    Fail(Code, &'static str),
    Hang,
}

type Sink = mpsc::UnboundedSender<Result<PbWatchResponse, Status>>;

#[derive(Default)]
pub(crate) struct State {
    pub(crate) kvs: BTreeMap<Vec<u8>, PbKeyValue>,
    pub(crate) revision: i64,
    /// What the next reads of a list do; then they work.
    pub(crate) on_range: VecDeque<OnCall>,
    /// What the next watches do; then they work.
    pub(crate) on_watch: VecDeque<OnWatch>,
    /// What all watches do.
    pub(crate) on_every_watch: Option<OnWatch>,
    /// User and password, when a login is needed.
    pub(crate) user: Option<(String, String)>,
    /// The token that is good now.
    pub(crate) token: u64,
    /// No token is ever good.
    pub(crate) distrust: bool,
    pub(crate) logins: Vec<(String, String)>,
    /// Limits of the pages asked for.
    pub(crate) ranges: Vec<i64>,
    /// Start revisions of the watches.
    pub(crate) watches: Vec<i64>,
    pub(crate) progress_requests: usize,
    pub(crate) leader_required: bool,
    /// Keepalive calls.
    pub(crate) keep_alives: usize,
    pub(crate) leases: BTreeMap<i64, i64>,
    /// All changes since the store was made or reset, which a watch is told from its start on.
    pub(super) history: Vec<PbEvent>,
    sinks: Vec<(Sink, Vec<u8>)>,
}

impl State {
    pub(crate) fn header(&self) -> Option<PbResponseHeader> {
        let mut header = PbResponseHeader::default();
        header.revision = self.revision;
        Some(header)
    }

    fn set(&mut self, key: &[u8], value: Option<&[u8]>, lease: i64) -> PbEvent {
        let mut kv = PbKeyValue::default();
        kv.key = key.to_vec();
        kv.mod_revision = self.revision;
        kv.lease = lease;
        let mut event = PbEvent::default();
        if let Some(value) = value {
            kv.value = value.to_vec();
            kv.version = 1;
            kv.create_revision = self.revision;
            self.kvs.insert(key.to_vec(), kv.clone());
        } else {
            self.kvs.remove(key);
            event.r#type = 1;
        }
        event.kv = Some(kv);
        event
    }

    pub(crate) fn transact(&mut self, changes: &[(&[u8], Option<&[u8]>)], lease: i64) {
        self.revision += 1;
        let mut message = PbWatchResponse::default();
        message.events = changes
            .iter()
            .map(|(key, value)| self.set(key, *value, lease))
            .collect();
        self.history.extend(message.events.iter().cloned());
        message.header = self.header();
        self.sinks
            .retain(|(sink, _)| sink.send(Ok(message.clone())).is_ok());
    }
}

impl State {
    /// The store loses everything, and counts from `revision` again.
    pub(crate) fn reset(&mut self, revision: i64) {
        self.revision = revision;
        self.kvs.clear();
        self.history.clear();
    }

    /// Changes without telling the watches.
    pub(crate) fn mute(&mut self, change: impl FnOnce(&mut Self)) {
        let sinks = std::mem::take(&mut self.sinks);
        change(self);
        self.sinks = sinks;
    }
}

#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<State>>);

impl Shared {
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.lock().expect("not poisoned"))
    }
}

pub(crate) struct FakeEtcd {
    pub(crate) shared: Shared,
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl FakeEtcd {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let state = State {
            revision: 10,
            ..State::default()
        };
        let shared = Shared(Arc::new(Mutex::new(state)));
        let router = Server::builder()
            .add_service(PbKvServer::new(shared.clone()).max_encoding_message_size(usize::MAX))
            .add_service(PbWatchServer::new(shared.clone()))
            .add_service(PbLeaseServer::new(shared.clone()))
            .add_service(auth::Auth(shared.clone()));
        let task = tokio::spawn(async move {
            let _ = router
                .serve_with_incoming(TcpListenerStream::new(listener))
                .await;
        });
        Self {
            shared,
            address,
            task,
        }
    }

    pub(crate) fn endpoint(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        self.shared.with(act)
    }

    pub(crate) fn put(&self, key: &str, value: impl AsRef<[u8]>) {
        self.with(|state| state.transact(&[(key.as_bytes(), Some(value.as_ref()))], 0));
    }

    pub(crate) fn delete(&self, key: &str) {
        self.with(|state| state.transact(&[(key.as_bytes(), None)], 0));
    }

    pub(crate) fn send(&self, message: &PbWatchResponse) {
        self.with(|state| {
            state
                .sinks
                .retain(|(sink, _)| sink.send(Ok(message.clone())).is_ok());
        });
    }

    /// Ends all watches with an error.
    pub(crate) fn break_watches(&self) {
        self.with(|state| {
            for (sink, _) in state.sinks.drain(..) {
                let _ = sink.send(Err(Status::unknown(
                    "h2 protocol error: error reading a body",
                )));
            }
        });
    }

    /// Watches that are open.
    pub(crate) fn open_watches(&self) -> usize {
        self.with(|state| {
            state.sinks.retain(|(sink, _)| !sink.is_closed());
            state.sinks.len()
        })
    }
}

impl Drop for FakeEtcd {
    fn drop(&mut self) {
        self.task.abort();
    }
}
