use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use ringfence_discovery::BoxFuture;
use tokio::sync::{Notify, watch};

use crate::failure::Failure;

/// A service as the server knows it, inside the namespace of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    pub(crate) group: Arc<str>,
    pub(crate) service: Arc<str>,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.group, self.service)
    }
}

/// One instance as the server sent it, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) ip: String,
    pub(crate) port: i64,
    pub(crate) weight: f64,
    pub(crate) healthy: bool,
    pub(crate) enabled: bool,
    pub(crate) cluster: String,
    pub(crate) metadata: Vec<(String, String)>,
}

/// Wakes the reader of a service. What an announcement says is never used, only that there was one: announcements come out of
/// order, and the last may hold the oldest list.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    notify: Notify,
    announced: AtomicBool,
}

impl Wake {
    /// The server announced a change. Never blocks.
    pub(crate) fn announce(&self) {
        self.announced.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    /// Somebody wants a fresh list.
    pub(crate) fn nudge(&self) {
        self.notify.notify_one();
    }

    pub(crate) async fn woken(&self) {
        self.notify.notified().await;
    }

    /// Whether a change was announced since the last call.
    pub(crate) fn take_announced(&self) -> bool {
        self.announced.swap(false, Ordering::AcqRel)
    }
}

/// What is used of a naming service: reading only. Each call may hang for ever, so each is made with a time limit.
pub(crate) trait Naming: Send + Sync + 'static {
    /// Tells of every connection to a server that is made or ends from now on; `None` while that cannot be known.
    fn links(&self) -> Option<watch::Receiver<u64>>;

    /// Asks the server, past every cache, for all instances of a service.
    fn list<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Vec<Record>, Failure>>;

    /// Has `wake` called for every change. Doing it again with the same `wake` renews the subscription, and has the library ask
    /// the server what the list is now. That it returns says nothing about the server having agreed.
    fn subscribe<'a>(
        &'a self,
        target: &'a Target,
        wake: &'a Arc<Wake>,
    ) -> BoxFuture<'a, Result<(), Failure>>;

    /// Ends the subscription of the whole service, whoever made it.
    fn unsubscribe<'a>(
        &'a self,
        target: &'a Target,
        wake: &'a Arc<Wake>,
    ) -> BoxFuture<'a, Result<(), Failure>>;
}
