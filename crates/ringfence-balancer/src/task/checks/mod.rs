//! Active health checks: which instances are asked and when, and the checks under way.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    future::pending,
    sync::Arc,
    time::Instant,
};

use ringfence_core::{Absence, CheckRecord, HealthCheckConfig};
use ringfence_discovery::{Probe, ServiceKey};

use super::{
    Task, now,
    runner::{ProbeFault, Runner, ask},
};
use crate::node::{NodeIdentity, Seat};

mod results;

use self::results::Checked;

/// The checks of a service. They run beside the balancer's task, so that one that blocks or panics does not stop it, and end with it.
pub(crate) struct Checks {
    service: ServiceKey,
    probe: Arc<dyn Probe>,
    config: HealthCheckConfig,
    rows: HashMap<NodeIdentity, Row>,
    /// What is known of those that are listed and take no traffic for now.
    resting: HashMap<NodeIdentity, CheckRecord>,
    /// Those whose next check is not under way, by when it is due; the number keeps equal times apart.
    queue: BTreeMap<(Instant, u64), NodeIdentity>,
    turn: u64,
    runner: Runner<Result<(), ProbeFault>>,
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
    UnderWay,
}

impl Checks {
    pub(crate) fn new(
        service: ServiceKey,
        probe: Arc<dyn Probe>,
        config: HealthCheckConfig,
    ) -> Self {
        Self {
            service,
            probe,
            config,
            rows: HashMap::new(),
            resting: HashMap::new(),
            queue: BTreeMap::new(),
            turn: 0,
            runner: Runner::new(config.max_concurrent()),
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
        self.runner
            .retain(|identity| self.rows.contains_key(identity));
        for (identity, row) in before {
            if let Next::Queued(place) = row.next {
                self.queue.remove(&place);
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
        if !self.runner.has_room() {
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
            row.started = now;
            row.next = Next::UnderWay;
            let instance = Arc::clone(&row.seat.instance);
            let check = ask(Arc::clone(&self.probe), instance, self.config.timeout());
            self.runner.start(identity, check);
        }
    }

    /// The next check that ends.
    async fn next(&mut self) -> Checked {
        Checked::from(self.runner.next().await)
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
