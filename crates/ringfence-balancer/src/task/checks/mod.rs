//! Active health checks: which instances are asked and when, and the checks under way.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    future::pending,
    sync::Arc,
    time::Instant,
};

use ringfence_core::{Absence, CheckRecord, HealthCheckConfig};
use ringfence_discovery::{Probe, ProbeError};
use tokio::{
    task::{AbortHandle, Id, JoinSet},
    time::timeout,
};
use tracing::Instrument;

use super::{Task, now};
use crate::node::{NodeIdentity, Seat};

mod results;

use self::results::Checked;

/// The checks of a service. They run beside the balancer's task, so that one that blocks or panics does not stop it, and end with it.
pub(crate) struct Checks {
    probe: Arc<dyn Probe>,
    config: HealthCheckConfig,
    rows: HashMap<NodeIdentity, Row>,
    /// What is known of those that are listed and take no traffic for now.
    resting: HashMap<NodeIdentity, CheckRecord>,
    /// Those whose next check is not under way, by when it is due; the number keeps equal times apart.
    queue: BTreeMap<(Instant, u64), NodeIdentity>,
    turn: u64,
    running: JoinSet<Result<(), CheckFault>>,
    under_way: HashMap<Id, NodeIdentity>,
}

/// An instance that is checked.
struct Row {
    seat: Arc<Seat>,
    record: CheckRecord,
    /// Start of the last check.
    started: Instant,
    next: Next,
}

enum Next {
    Queued((Instant, u64)),
    UnderWay(AbortHandle),
}

/// How a check came out, where it was not passed.
enum CheckFault {
    Failed(ProbeError),
    TimedOut,
}

impl Checks {
    pub(crate) fn new(probe: Arc<dyn Probe>, config: HealthCheckConfig) -> Self {
        Self {
            probe,
            config,
            rows: HashMap::new(),
            resting: HashMap::new(),
            queue: BTreeMap::new(),
            turn: 0,
            running: JoinSet::new(),
            under_way: HashMap::new(),
        }
    }

    /// How many instances are checked.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Checks these from now on, as far as they take traffic, and nobody else.
    pub(super) fn follow(&mut self, seats: &[Arc<Seat>], now: Instant) {
        let takers = seats.iter().filter(|seat| seat.instance.takes_traffic());
        let mut before = std::mem::take(&mut self.rows);
        for seat in takers {
            let identity = NodeIdentity::of(&seat.instance);
            let row = match before.remove(&identity) {
                Some(mut row) => {
                    row.seat = Arc::clone(seat);
                    row
                }
                None => self.row(seat, &identity, now),
            };
            mark(seat, &row.record);
            self.rows.insert(identity, row);
        }
        let listed: HashSet<_> = seats
            .iter()
            .map(|seat| NodeIdentity::of(&seat.instance))
            .collect();
        self.resting.retain(|identity, _| listed.contains(identity));
        for (identity, row) in before {
            match row.next {
                Next::Queued(place) => {
                    self.queue.remove(&place);
                }
                Next::UnderWay(check) => {
                    self.under_way.remove(&check.id());
                    check.abort();
                }
            }
            // A drained instance may come back, and is then what it was.
            if listed.contains(&identity) {
                self.resting.insert(identity, row.record);
            } else {
                row.seat.node.withhold(Absence::FailsChecks, false);
                row.seat.node.withhold(Absence::Unchecked, false);
            }
        }
    }

    fn row(&mut self, seat: &Arc<Seat>, identity: &NodeIdentity, now: Instant) -> Row {
        let at = now + self.config.first_wait(fastrand::f64());
        let known = self.resting.remove(identity);
        Row {
            seat: Arc::clone(seat),
            record: known.unwrap_or_else(|| CheckRecord::new(&self.config)),
            started: now,
            next: self.enqueue(identity.clone(), at),
        }
    }

    fn enqueue(&mut self, identity: NodeIdentity, at: Instant) -> Next {
        self.turn += 1;
        let place = (at, self.turn);
        self.queue.insert(place, identity);
        Next::Queued(place)
    }

    /// When [`start_due`](Self::start_due) has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.under_way.len() >= self.config.max_concurrent() {
            return None;
        }
        self.queue.first_key_value().map(|((at, _), _)| *at)
    }

    /// Begins the checks that are due, as many as may run.
    pub(super) fn start_due(&mut self, now: Instant) {
        while self.deadline().is_some_and(|at| at <= now) {
            let Some((_, identity)) = self.queue.pop_first() else {
                return;
            };
            let Some(row) = self.rows.get_mut(&identity) else {
                continue;
            };
            let (probe, limit) = (Arc::clone(&self.probe), self.config.timeout());
            let instance = Arc::clone(&row.seat.instance);
            let check = async move {
                match timeout(limit, probe.probe(&instance)).await {
                    Ok(Ok(())) => Ok(()),
                    Ok(Err(error)) => Err(CheckFault::Failed(error)),
                    Err(_elapsed) => Err(CheckFault::TimedOut),
                }
            };
            let check = self.running.spawn(check.in_current_span());
            self.under_way.insert(check.id(), identity);
            row.started = now;
            row.next = Next::UnderWay(check);
        }
    }

    /// The next check that ends.
    async fn next(&mut self) -> Checked {
        loop {
            let Some(ended) = self.running.join_next_with_id().await else {
                // The caller asks again when it has started some.
                pending::<()>().await;
                continue;
            };
            if let Some(checked) = self.ended(ended) {
                return checked;
            }
        }
    }
}

/// Waits for ever where there are no checks.
pub(super) async fn next_check(checks: &mut Option<Checks>) -> Checked {
    match checks {
        Some(checks) => checks.next().await,
        None => pending().await,
    }
}

impl Task {
    pub(super) fn start_checks(&mut self) {
        if let Some(checks) = &mut self.checks {
            checks.start_due(now());
        }
    }
}

/// Withholds requests as the checks want it.
fn mark(seat: &Seat, record: &CheckRecord) {
    let (is_down, is_awaited) = (!record.is_up(), record.is_awaited());
    seat.node
        .withhold(Absence::FailsChecks, is_down && !is_awaited);
    seat.node.withhold(Absence::Unchecked, is_awaited);
}
