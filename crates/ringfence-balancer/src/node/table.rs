use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use ringfence_core::Snapshot;

use super::{Node, NodeIdentity, NodeTotals, ReportSender, Seat};

/// The nodes of a service, those of departed instances with running attempts included, for whoever has to reach all of them: the
/// balancer's task, a shutdown, and who asks for a status. No request takes the lock.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeIndex(Arc<Mutex<HashMap<NodeIdentity, Weak<Node>>>>);

impl NodeIndex {
    fn lock(&self) -> MutexGuard<'_, HashMap<NodeIdentity, Weak<Node>>> {
        // Nothing that panics is done under it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that are in memory.
    pub(crate) fn alive(&self) -> Vec<Arc<Node>> {
        self.lock().values().filter_map(Weak::upgrade).collect()
    }
}

/// The nodes of a service by identity.
///
/// It holds them weakly: the published state keeps those of the snapshot alive, running attempts
/// those that left. One that comes back while an attempt is still running gets its old
/// node again, with its connections and its count.
#[derive(Debug)]
pub(crate) struct NodeTable {
    nodes: NodeIndex,
    totals: Arc<NodeTotals>,
    reports: ReportSender,
}

impl NodeTable {
    pub(crate) fn new(reports: ReportSender, totals: Arc<NodeTotals>, nodes: NodeIndex) -> Self {
        Self {
            nodes,
            totals,
            reports,
        }
    }

    /// Seats for all instances of a snapshot, in its order. What did not change since
    /// `previous` is reused.
    pub(crate) fn seat(&mut self, snapshot: &Snapshot, previous: &[Arc<Seat>]) -> Box<[Arc<Seat>]> {
        let mut previous = previous.iter().peekable();
        let seats = snapshot
            .instances()
            .iter()
            .map(|instance| {
                // Both lists are in id order.
                while previous
                    .next_if(|seat| seat.instance.id() < instance.id())
                    .is_some()
                {}
                if let Some(seat) = previous.peek().filter(|seat| seat.instance == *instance) {
                    return Arc::clone(seat);
                }
                Arc::new(Seat {
                    node: self.node(NodeIdentity::of(instance)),
                    instance: Arc::clone(instance),
                })
            })
            .collect();
        self.nodes.lock().retain(|_, node| node.strong_count() > 0);
        seats
    }

    pub(crate) fn get(&self, identity: &NodeIdentity) -> Option<Arc<Node>> {
        self.nodes.lock().get(identity).and_then(Weak::upgrade)
    }

    fn node(&mut self, identity: NodeIdentity) -> Arc<Node> {
        if let Some(node) = self.get(&identity) {
            return node;
        }
        let node = Arc::new(Node::new(
            identity.clone(),
            self.reports.clone(),
            Arc::clone(&self.totals),
        ));
        self.nodes.lock().insert(identity, Arc::downgrade(&node));
        node
    }
}
