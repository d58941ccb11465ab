//! What is asked of single instances, beside the balancer's task.

use std::{collections::HashMap, fmt, future::pending, sync::Arc, time::Duration};

use ringfence_core::Instance;
use ringfence_discovery::{Probe, ProbeError};
use tokio::{
    task::{AbortHandle, Id, JoinError, JoinSet},
    time::timeout,
};

use crate::node::NodeIdentity;

/// Futures about instances, at most one for each and so many at a time. They run in tasks of their own, so that one that blocks or
/// panics does not stop the balancer's task, and end with this.
#[derive(Debug)]
pub(super) struct Runner<T> {
    running: JoinSet<T>,
    /// Those whose end somebody wants to know.
    wanted: HashMap<Id, NodeIdentity>,
    handles: HashMap<NodeIdentity, AbortHandle>,
    limit: usize,
}

/// One that has ended: what it came to, unless it panicked.
pub(super) type Ended<T> = (NodeIdentity, Result<T, Panicked>);

/// It panicked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Panicked;

impl<T: Send + 'static> Runner<T> {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            running: JoinSet::new(),
            wanted: HashMap::new(),
            handles: HashMap::new(),
            limit,
        }
    }

    /// Whether one more may start. Those that were told to end do not count.
    pub(super) fn has_room(&self) -> bool {
        self.wanted.len() < self.limit
    }

    pub(super) fn runs(&self, identity: &NodeIdentity) -> bool {
        self.handles.contains_key(identity)
    }

    pub(super) fn start<F>(&mut self, identity: NodeIdentity, future: F)
    where
        F: Future<Output = T> + Send + 'static,
    {
        let handle = self.running.spawn(future);
        self.wanted.insert(handle.id(), identity.clone());
        if let Some(earlier) = self.handles.insert(identity, handle) {
            self.forget(&earlier);
        }
    }

    /// Ends those of other instances than these.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&NodeIdentity) -> bool) {
        let (stay, go): (HashMap<_, _>, HashMap<_, _>) = std::mem::take(&mut self.handles)
            .into_iter()
            .partition(|(identity, _)| keep(identity));
        self.handles = stay;
        go.values().for_each(|handle| self.forget(handle));
    }

    fn forget(&mut self, handle: &AbortHandle) {
        self.wanted.remove(&handle.id());
        handle.abort();
    }

    /// The next one that ends; waits for ever while there is none. Cancel safe.
    pub(super) async fn next(&mut self) -> Ended<T> {
        loop {
            match self.running.join_next_with_id().await {
                Some(joined) => {
                    if let Some(ended) = self.ended(joined) {
                        return ended;
                    }
                }
                None => return pending().await,
            }
        }
    }

    /// One that has ended by now.
    pub(super) fn try_next(&mut self) -> Option<Ended<T>> {
        loop {
            let joined = self.running.try_join_next_with_id()?;
            if let Some(ended) = self.ended(joined) {
                return Some(ended);
            }
        }
    }

    fn ended(&mut self, joined: Result<(Id, T), JoinError>) -> Option<Ended<T>> {
        let (id, result) = match joined {
            Ok((id, result)) => (id, Ok(result)),
            Err(error) => (error.id(), Err(Panicked)),
        };
        let identity = self.wanted.remove(&id)?;
        self.handles.remove(&identity);
        Some((identity, result))
    }
}

/// Asks an instance once, within a limit.
pub(super) async fn ask(
    probe: Arc<dyn Probe>,
    instance: Arc<Instance>,
    limit: Duration,
) -> Result<(), ProbeFault> {
    match timeout(limit, probe.probe(&instance)).await {
        Ok(answer) => answer.map_err(ProbeFault::Failed),
        Err(_elapsed) => Err(ProbeFault::TimedOut),
    }
}

/// Why an instance did not pass a probe.
#[derive(Debug)]
pub(super) enum ProbeFault {
    Failed(ProbeError),
    TimedOut,
    Panicked,
}

impl From<Panicked> for ProbeFault {
    fn from(Panicked: Panicked) -> Self {
        Self::Panicked
    }
}

impl fmt::Display for ProbeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::Panicked => f.write_str("the probe panicked"),
        }
    }
}
